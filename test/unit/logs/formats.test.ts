/** The formats of other programs, each read from a file of test/fixtures/logs; its README says how those were made. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { encode, ExtData } from '@msgpack/msgpack';
import { readCheckpoint } from '../../../src/logs/langGraphState.ts';
import { ThreadSteps } from '../../../src/logs/langGraphThread.ts';
import { wholeLog, type WholeLog } from './wholeLog.ts';

const fixture = (name: string): Buffer => readFileSync(join(import.meta.dirname, '../../fixtures/logs', name));

const said = ({ episodes }: WholeLog, episode = 0): string[] =>
  (episodes[episode]?.entries ?? []).map((entry) =>
    entry.kind === 'message' ? `${entry.speaker} > ${entry.text}` : `[${entry.source}] ${entry.text}`,
  );
const contextOf = ({ episodes }: WholeLog, message: number): string[] =>
  (episodes[0]?.entries ?? [])
    .flatMap((entry) => (entry.kind === 'message' ? [entry.context.list.slice(0, entry.context.length)] : []))
    .flatMap((context, index) => (index === message ? context.map(({ role, text }) => `${role}: ${text}`) : []));

/** What every program of the fixtures says. */
const WEATHER = [
  'planner > I look it up.\nlookup {"city":"Paris"}',
  '[lookup] 18 degrees in Paris',
  'planner > Plan: say 18 degrees.',
  'writer > It is 18 degrees in Paris.',
];
const QUESTION = 'How warm is it in Paris?';
const PLANNED = ['system: You plan.', `user: ${QUESTION}`];

describe('a log', () => {
  it('of LangSmith is read as its client and LangChain record it', () => {
    const log = wholeLog(fixture('langSmith.jsonl'));
    assert.deepEqual([log.format, said(log)], ['runs of LangSmith', WEATHER]);
    assert.deepEqual(contextOf(log, 0), PLANNED);
    assert.deepEqual(contextOf(log, 1), [
      ...PLANNED,
      'assistant: I look it up.\nlookup {"city":"Paris"}',
      'tool: 18 degrees in Paris',
    ]);
    const [first] = log.episodes[0]?.entries ?? [];
    assert.ok(first?.kind === 'message');
    assert.deepEqual([first.model, first.promptTokens, first.completionTokens], ['mock-planner', 41, 9]);
    assert.equal(log.episodes[0]?.question, QUESTION);
  });

  it('of Inspect is read with its agents, contexts from the pool, attachments, targets and grades', () => {
    const log = wholeLog(fixture('inspect.json'));
    assert.deepEqual([log.format, said(log)], ['samples of Inspect', WEATHER]);
    assert.deepEqual(contextOf(log, 0), PLANNED);
    assert.deepEqual(contextOf(log, 1).slice(2), [
      'assistant: I look it up.\nlookup {"city":"Paris"}',
      'tool: 18 degrees in Paris',
    ]);
    assert.deepEqual(
      log.episodes.map(({ id, answer, return: score }) => [id, answer, score]),
      [
        ['sample weather, epoch 1', '18 degrees', 1],
        ['sample weather, epoch 2', '18 degrees', 0],
      ],
    );
    assert.equal(said(log, 1).at(-1), 'writer > It is 81 degrees.');
  });

  it('of Langfuse is read with its agents, tools and scores', () => {
    const log = wholeLog(fixture('langfuse.json'));
    assert.deepEqual([log.format, said(log)], ['traces of Langfuse', WEATHER]);
    assert.deepEqual(contextOf(log, 2), ['system: You write.', `user: ${QUESTION}`]);
    assert.equal(log.episodes[0]?.return, 1);
    // The same observations, one a line.
    const page = JSON.parse(fixture('langfuse.json').toString()) as { data: [{ observations: unknown[] }] };
    const lines = page.data[0].observations.map((one) => JSON.stringify(one)).join('\n');
    const flat = wholeLog(lines);
    assert.deepEqual([flat.format, said(flat)], ['observations of Langfuse', WEATHER]);
  });

  it('of AutoGen is read with calls and results of its tools; pieces of a stream are left out', () => {
    const log = wholeLog(fixture('autogen.json'));
    assert.deepEqual(said(log), [
      'planner > I look it up.',
      'planner > lookup {"city":"Paris"}\nsky {"city":"Rome"}',
      '[lookup] 18 degrees in Paris',
      '[sky] clear',
      'planner > Plan: say 18 degrees.',
      'writer > It is 18 degrees in Paris.',
    ]);
    assert.equal(log.episodes[0]?.question, QUESTION);
    assert.deepEqual([...log.leftOut], [['entries of conversations that are not messages', 1]]);
  });

  it('of items of the responses API, or of functions as before tools, is read with their calls and results', () => {
    const items = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: QUESTION }] },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'function_call', call_id: 'c1', name: 'lookup', arguments: '{"city":"Paris"}', status: 'completed' },
      { type: 'function_call_output', call_id: 'c1', output: '18 degrees in Paris' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is 18 degrees.' }] },
    ];
    const functions = [
      { role: 'user', content: QUESTION },
      { role: 'assistant', content: null, function_call: { name: 'lookup', arguments: '{"city":"Paris"}' } },
      { role: 'function', name: 'lookup', content: '18 degrees in Paris' },
      { role: 'assistant', content: 'It is 18 degrees.' },
    ];
    const expected = [
      'assistant > lookup {"city":"Paris"}',
      '[lookup] 18 degrees in Paris',
      'assistant > It is 18 degrees.',
    ];
    for (const messages of [items, functions]) {
      assert.deepEqual(said(wholeLog(JSON.stringify({ messages }))), expected);
      assert.deepEqual(said(wholeLog(JSON.stringify(messages))), expected);
    }
    const { leftOut } = wholeLog(JSON.stringify({ messages: items }));
    assert.deepEqual([...leftOut], [['entries of conversations that are not messages', 1]]);
  });

  it('of messages in lines of their own is read by what they say of their conversation', () => {
    const log = wholeLog(fixture('messages.jsonl'));
    assert.deepEqual(said(log), WEATHER);
    assert.deepEqual(said(log, 1), ['assistant > Hello']);
    assert.deepEqual(
      log.episodes.map(({ id }) => id),
      ['weather', 'other'],
    );
  });
});

describe('checkpoints of LangGraph', () => {
  const python = (type: string, content: string, id: string): ExtData => {
    const module = `langchain_core.messages.${type}`;
    return new ExtData(5, encode([module, 'Message', { type, content, id }, 'model_validate_json']));
  };
  const checkpoint = (messages: readonly ExtData[], seen: object): Uint8Array =>
    encode({ v: 4, channel_values: { messages }, versions_seen: seen });

  it('in the form of Python say which node wrote a message, and make nothing of the classes that they name', () => {
    const [asked, plan, answer] = [
      python('human', 'Hi', '1'),
      python('ai', 'A plan', '2'),
      python('ai', 'An answer', '3'),
    ] as const;
    const thread = new ThreadSteps();
    for (const bytes of [
      checkpoint([asked], {}),
      checkpoint([asked, plan], { planner: { a: '1' } }),
      checkpoint([asked, plan, answer], { planner: { a: '1' }, writer: { b: '2' } }),
    ]) {
      const read = readCheckpoint('msgpack', bytes);
      assert.ok(read !== null);
      thread.add(read, () => []);
    }
    const line = JSON.stringify(thread.line('t'));
    assert.deepEqual(said(wholeLog(line)), ['planner > A plan', 'writer > An answer']);
  });

  it('of any other bytes are none', () => {
    let nested: Uint8Array = encode('x');
    for (let depth = 0; depth < 5000; depth++) {
      nested = encode(new ExtData(5, encode(['m', 'c', new ExtData(5, nested)])));
      if (nested.length > 100_000) {
        break;
      }
    }
    for (const bytes of [
      new Uint8Array(),
      new Uint8Array([0xc1]),
      new Uint8Array([0xdd, 255, 255, 255, 255]),
      nested,
    ]) {
      assert.equal(readCheckpoint('msgpack', bytes), null);
      assert.equal(readCheckpoint('json', bytes), null);
    }
    assert.equal(readCheckpoint('pickle', new Uint8Array([0x80])), null);
  });
});
