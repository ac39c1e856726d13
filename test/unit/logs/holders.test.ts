/** Objects that hold several conversations or entries: each is read once, and what is none is counted. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { saidIn, wholeLog } from './wholeLog.ts';

const chat = (question: string, answer: string) => [
  { role: 'user', content: question },
  { role: 'assistant', content: answer },
];
const json = JSON.stringify;
const lines = (...values: readonly unknown[]): string => values.map((value) => json(value)).join('\n');
const leftOut = (log: string) => Object.fromEntries(wholeLog(log).leftOut);

describe('an object with a list under a key of lists', () => {
  it('is an entry itself where the list has texts, or nothing that says anything', () => {
    const row = { input: 'Q', output: 'A', agents: ['geo'] };
    assert.deepEqual(saidIn(json(row)), ['assistant > A']);
    assert.deepEqual(saidIn(lines({ messages: chat('Q', 'B') }, row)), ['assistant > B', 'assistant > A']);
    assert.deepEqual(saidIn(json({ agents: [{ name: 'A' }], chat: chat('Q', 'A') })), ['assistant > A']);
    assert.deepEqual(leftOut(json({ agents: [{ name: 'A' }], chat: chat('Q', 'A') })), {});
  });

  it('is none where its entries were found and it says nothing beside them', () => {
    const log = json({ episodes: [{ messages: chat('Q', 'A') }, { messages: chat('R', 'B') }], steps: 200 });
    assert.deepEqual(saidIn(log), ['assistant > A', 'assistant > B']);
    assert.deepEqual(leftOut(log), {});
    const named = json({ episodes: [{ messages: chat('Q', 'A') }, { messages: chat('R', 'B') }], steps: ['x'] });
    assert.deepEqual(saidIn(named), ['assistant > A', 'assistant > B']);
  });
});

describe('lines with a custom_id', () => {
  it('are a batch only where they ask or answer', () => {
    const two = ['A', 'B'].map((answer) => ({ custom_id: 'q', params: {}, messages: chat('Q', answer) }));
    assert.deepEqual(saidIn(lines(...two)), ['assistant > A', 'assistant > B']);
    const scored = ['A', 'B'].map((answer) => ({ custom_id: 'q', result: { score: 1 }, messages: chat('Q', answer) }));
    assert.deepEqual(saidIn(lines(...scored)), ['assistant > A', 'assistant > B']);
  });

  it('are counted where a batch has several requests of one id', () => {
    const request = { custom_id: 'q', params: { messages: [{ role: 'user', content: 'Q' }] } };
    const answer = {
      custom_id: 'q',
      result: { type: 'succeeded', message: { role: 'assistant', content: [{ type: 'text', text: 'A' }] } },
    };
    const log = lines(request, answer, request);
    assert.deepEqual(saidIn(log), ['assistant > A']);
    assert.equal(
      Object.values(leftOut(log)).reduce((sum, count) => sum + count, 0),
      1,
    );
  });
});

describe('a table', () => {
  it('takes a time that grows with its cells, not with its columns times its rows', () => {
    const columns = Array.from({ length: 30_000 }, (_, at) => `c${at}`);
    const data = columns.map(() => []);
    const begun = performance.now();
    const log = lines({ messages: { columns, data } }, { messages: chat('Q', 'A') });
    assert.deepEqual(saidIn(log), ['assistant > A']);
    assert.ok(performance.now() - begun < 20_000);
  });

  it('has with each row what is said once beside its columns', () => {
    const log = json({ system_prompt: 'Be brief.', reward: 1, prompt: ['Q', 'R'], completion: ['A', 'B'] });
    const { episodes } = wholeLog(log);
    assert.deepEqual(
      episodes.map(({ entries, return: score }) => [
        entries.map((entry) =>
          entry.kind === 'message' ? entry.context.list.slice(0, entry.context.length).map(({ text }) => text) : [],
        ),
        score,
      ]),
      [
        [[['Be brief.', 'Q']], 1],
        [[['Be brief.', 'R']], 1],
      ],
    );
  });

  it('of conversations by name keeps what is said of both, and counts an item that is none', () => {
    const both = json({ reward: 1, first: { messages: chat('Q', 'A') }, second: { messages: chat('R', 'B') } });
    assert.deepEqual(
      wholeLog(both).episodes.map(({ return: score }) => score),
      [1, 1],
    );
    const listed = json({ train: [{ messages: chat('Q', 'A') }, { messages: chat('R', 'B') }, { text: 'lost' }] });
    assert.deepEqual(saidIn(listed), ['assistant > A', 'assistant > B']);
    assert.deepEqual(leftOut(listed), { 'conversations in which no model says anything': 1 });
  });
});

it('a span of Datadog that takes no finite time costs nothing else', () => {
  const span = {
    trace_id: 't',
    span_id: 's',
    span_kind: 'llm',
    start_ns: 1_700_000_000_000_000_000,
    meta: {
      kind: 'llm',
      input: { messages: [{ role: 'user', content: 'Q' }] },
      output: { messages: [{ role: 'assistant', content: 'A' }] },
    },
  };
  const log = json({ ...span, duration: 7 }).replace('"duration":7', '"duration":1e999');
  assert.deepEqual(saidIn(log), ['assistant > A']);
});

it('a message of a list is one whatever lists it holds', () => {
  const answer = { role: 'assistant', content: 'Here.', data: [{ id: 1, price: 3 }] };
  assert.deepEqual(saidIn(json([{ role: 'user', content: 'Q' }, answer])), ['assistant > Here.']);
});

it('a prompt beside messages that do not say it is counted', () => {
  const counted = { 'messages under a second key of their conversation (prompt)': 1 };
  assert.deepEqual(leftOut(json({ prompt: 'P', messages: chat('Q', 'A') })), counted);
  assert.deepEqual(leftOut(json({ prompt: 'Q', messages: chat('So: Q', 'A') })), {});
});

describe('a table that TRL logs', () => {
  const table = { prompt: ['Q', 'R'], completion: ['A', 'B'] };
  it('has the reward of its only function as the return, and those of several are counted', () => {
    const returns = (log: object) => wholeLog(json(log)).episodes.map(({ return: score }) => score);
    assert.deepEqual(returns({ ...table, accuracy_reward: [1, 0], advantage: [0.5, -0.5] }), [1, 0]);
    const several = { ...table, accuracy_reward: [1, 0], format_reward: [1, 1] };
    assert.deepEqual(returns(several), [null, null]);
    assert.deepEqual(leftOut(json(several)), {
      'rewards of several functions, whose weights the log does not say (accuracy_reward, format_reward)': 4,
    });
    assert.deepEqual(returns({ ...several, reward: [2, 1] }), [2, 1]);
  });

  it('loses only the rows that a short column has no answer of', () => {
    const short = json({ ...table, prompt: ['Q', 'R', 'S'], reward: [1, 0, 1] });
    assert.deepEqual(saidIn(short), ['assistant > A', 'assistant > B']);
    assert.deepEqual(leftOut(short), { 'conversations in which no model says anything': 1 });
  });
});
