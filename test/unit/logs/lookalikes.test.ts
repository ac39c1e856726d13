/** Logs that look like those of a library in part: what they say is read all the same, with who said it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askedIn, saidIn, wholeLog } from './wholeLog.ts';

const json = (value: unknown): string => JSON.stringify(value);
const USER = { role: 'user', content: 'Q' };
const CHAT = [USER, { role: 'assistant', content: 'A' }];
const reads = (value: unknown, asked: readonly string[], said: readonly string[]): void => {
  const log = json(value);
  assert.deepEqual([askedIn(log), saidIn(log)], [asked, said], log);
};
const counts = (value: unknown): readonly (readonly [string, number])[] => [...wholeLog(json(value)).leftOut];

describe('an entry that holds messages is no message:', () => {
  it('with the keys of a task of CrewAI', () => {
    const task = { agent: 'A', task: 'Fix', status: 'done' };
    reads({ ...task, trajectory: [USER, { role: 'assistant', content: 'Yes' }] }, ['user: Q'], ['assistant > Yes']);
    reads({ messages: [{ ...task, from: 'gpt', value: 'hi' }] }, [], ['A > hi']);
    reads([USER, { ...task, type: 'assistant', content: 'hi' }], ['user: Q'], ['A > hi']);
  });

  it('but a line of its log is, also where only the end of a task is there', () => {
    const line = (task: string, more: object = {}) => ({ task, agent: 'A', status: 'completed', ...more });
    const lines = [line('Fix', { output: 'Yes' }), line('Test', { status: 'started' }), line('Test', { output: 'No' })];
    const said = ['A > Yes', '[user] Test', 'A > No'];
    for (const log of [json(lines), lines.map(json).join('\n'), json({ messages: lines })]) {
      assert.deepEqual([askedIn(log), saidIn(log)], [['user: Fix', 'assistant: Yes', 'user: Test'], said]);
    }
  });

  it('with a source, which is that of a data set', () => {
    const conversations = [
      { from: 'human', value: 'Q' },
      { from: 'gpt', value: 'A' },
    ];
    for (const more of [{ thoughts: 'n/a' }, { tool_plan: 'n/a' }, { blocks: [] }, { items: [] }, { text: 'n/a' }]) {
      reads({ source: 'sharegpt', ...more, conversations }, ['user: Q'], ['assistant > A']);
    }
  });

  it('but one with a role, whatever it holds', () => {
    for (const who of [{ role: 'assistant' }, { type: 'assistant' }, { source: 'assistant' }]) {
      reads([USER, { ...who, content: 'B', history: CHAT, events: CHAT }], ['user: Q'], ['assistant > B']);
    }
  });
});

describe('an answer is the text that it is', () => {
  it('where it looks like a value of Python or of JSON', () => {
    for (const completion of ["['a', 'b']", "{'a': 1}", '[1 2 3]', '{"a":1}', '[1,2]', "{'answer': 'a'}"]) {
      reads({ prompt: 'Q', completion }, ['user: Q'], [`assistant > ${completion}`]);
      assert.deepEqual(counts({ prompt: 'Q', completion }), []);
      const asked = ['user: Q', 'assistant: A', 'user: Q'];
      reads({ messages: [...CHAT, USER], output: completion }, asked, [
        'assistant > A',
        '[user] Q',
        `assistant > ${completion}`,
      ]);
    }
  });

  it('unless it holds messages, or several answers in JSON', () => {
    const several = { prompt: 'Q', completion: '["a","b"]' };
    reads(several, ['user: Q'], ['assistant > a']);
    assert.deepEqual(counts(several), [['further answers to one call (n > 1)', 1]]);
    const server = "{'choices': [{'index': 0, 'message': {'role': 'assistant', 'content': 'a'}}]}";
    for (const completion of [
      server,
      "[{'role': 'assistant', 'content': 'a'}]",
      "{'role': 'assistant', 'content': 'a'}",
    ]) {
      reads({ prompt: 'Q', completion }, ['user: Q'], ['assistant > a']);
    }
  });

  it('under the first key that says something', () => {
    reads({ messages: [USER], outputs: [], output: 'A' }, ['user: Q'], ['assistant > A']);
    reads({ messages: [USER], outputs: 'B', output: 'A' }, ['user: Q'], ['assistant > A']);
    reads({ prompt: 'Q', outputs: { loss: 1 }, output: 'A' }, ['user: Q'], ['assistant > A']);
  });
});

describe('a row says what was asked', () => {
  const added = { role: 'assistant', content: 'add' };

  it('beside its steps or events', () => {
    for (const key of ['steps', 'events', 'chat_messages']) {
      const said = ['assistant > add', 'assistant > 4'];
      reads({ input: '2+2?', output: '4', [key]: [added] }, ['user: 2+2?', 'assistant: add'], said);
      const steps = [{ role: 'user', content: 'Say: 2+2?' }, added];
      reads({ input: '2+2?', output: '4', [key]: steps }, ['user: Say: 2+2?', 'assistant: add'], said);
    }
  });

  it('before its steps, which are counted', () => {
    const row = { prompt: [USER], completion: 'A', steps: [{ role: 'tool', content: 'x' }] };
    reads(row, ['user: Q'], ['assistant > A']);
    assert.deepEqual(counts(row), [['messages under a second key of their conversation (steps)', 1]]);
  });

  it('in pairs of texts', () => {
    const input = "[['a','b'],['b','c']]";
    for (const asked of [input, input.replaceAll("'", '"')]) {
      reads({ input: asked, output: 'ok' }, [`user: ${asked}`], ['assistant > ok']);
      reads({ prompt: asked, completion: 'ok' }, [`user: ${asked}`], ['assistant > ok']);
    }
    const pairs = [['a', 'b']];
    reads({ messages: CHAT, input: pairs, steps: pairs, events: pairs }, ['user: Q'], ['assistant > A']);
    assert.deepEqual(counts({ messages: CHAT, input: pairs, steps: pairs, events: pairs }), []);
  });

  it('once', () => {
    reads({ prompt: 'Q: 2+2? A:', question: '2+2?', completion: '4' }, ['user: Q: 2+2? A:'], ['assistant > 4']);
    reads({ input: 'Q: 2+2? A:', question: '2+2?', output: '4' }, ['user: Q: 2+2? A:'], ['assistant > 4']);
    reads(
      { instruction: 'Count words.', input: 'words', output: '1' },
      ['user: Count words.\n\nwords'],
      ['assistant > 1'],
    );
  });

  it('with its system prompt once', () => {
    const system = { role: 'system', content: 'S' };
    reads({ system_prompt: 'S', messages: [system, ...CHAT] }, ['system: S', 'user: Q'], ['assistant > A']);
    reads(
      { system_prompt: 'T', messages: [system, ...CHAT] },
      ['system: T', 'system: S', 'user: Q'],
      ['assistant > A'],
    );
  });
});
