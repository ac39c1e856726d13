/** Messages that look like those of a library in part: what they say is read all the same, and nothing else. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LogReader } from '../../../src/logs/source.ts';
import { askedIn, saidIn, sourceOf } from './wholeLog.ts';

const json = (value: unknown): string => JSON.stringify(value);
const USER = { role: 'user', content: 'Q' };
const reads = (value: unknown, asked: readonly string[], said: readonly string[]): void => {
  const log = json(value);
  assert.deepEqual([askedIn(log), saidIn(log)], [asked, said], log);
};

describe('parts say all that they have:', () => {
  const says = (part: unknown, text: string): void =>
    reads([USER, { role: 'assistant', content: [part] }], ['user: Q'], [`assistant > ${text}`]);

  it('a text beside a call', () => says({ type: 'text', text: 'I look.', tool_call: { name: 'f' } }, 'I look.\nf'));

  it('a text of a file', () => {
    for (const kind of ['file', 'image', 'audio']) {
      says({ content_type: kind, text: 'x' }, 'x');
    }
    says({ type: 'image', text: 'x', url: 'https://a.org' }, '[image] https://a.org\nx');
  });

  it('a value with its unit', () =>
    says({ type: 'data', content: { value: '42', unit: 'km' } }, '{"value":"42","unit":"km"}'));
});

describe('fields next to a message are not part of its text:', () => {
  const says = (more: object): void =>
    reads({ messages: [USER, { role: 'assistant', content: 'Here.', ...more }] }, ['user: Q'], ['assistant > Here.']);

  it('items of a shop, and the blocks of Slack', () => {
    says({ items: [{ id: 1, price: 3 }] });
    says({ blocks: [{ type: 'section', text: { type: 'mrkdwn', text: '*Here.*' } }] });
  });

  it('notes of a reviewer', () => says({ annotations: [{ quote: 'Here', note: 'Wrong.' }] }));
});

describe('results and turns are read as before:', () => {
  it('long texts beside each other, in linear time', { timeout: 20_000 }, () => {
    const half = 'a'.repeat(500_000);
    const log = json([USER, { role: 'assistant', content: half.repeat(4), thought: `${half}b${half}` }]);
    assert.equal(saidIn(log).length, 1);
  });

  it('a result names its call first', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{}' } };
    const result = { role: 'tool', id: 'c1', tool_id: 't9', content: 'x' };
    const parts = { role: 'user', content: [{ type: 'tool_result', id: 'c1', tool_id: 't9', content: 'x' }] };
    for (const one of [result, parts]) {
      const log = json([USER, { role: 'assistant', content: '', tool_calls: [call] }, one]);
      assert.deepEqual(saidIn(log), ['assistant > find {}', '[find] x']);
    }
  });

  it('a turn of Llama Stack says its answer once, also in parts', () => {
    const said = { role: 'assistant', content: [{ type: 'text', text: 'A' }] };
    const turn = {
      input_messages: [USER],
      steps: [{ step_type: 'inference', model_response: said }],
      output_message: said,
    };
    assert.deepEqual(saidIn(json({ turns: [turn] })), ['assistant > A']);
  });

  it('numbers that only Python has are counted', () => {
    for (const number of ['nan', '-inf']) {
      const text = `{'reward': ${number}}`;
      const read = new LogReader(sourceOf(text), false).value({ start: 0, end: text.length, line: 1 });
      assert.ok(!(read instanceof Error));
      assert.deepEqual([read.value, read.repaired], [{ reward: null }, ['nan']]);
    }
  });
});
