import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { NOTHING_MEASURED } from '../../../../src/domain/message.ts';
import { isBucketFile } from '../../../../src/engine/exchange/exchangeImport.ts';
import { readRunProtocol } from '../../../../src/engine/recipe/recipe.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { parseSpeakerRenames } from '../../../../src/shared/speakerNames.ts';
import { openStoreForWriting, type StoreWriter } from '../../../../src/store/write/writer.ts';
import { rawConnection } from '../../store/helpers.ts';
import { importText } from './importText.ts';

function storeOf(t: TestContext): StoreWriter {
  const folder = mkdtempSync(join(tmpdir(), 'c3-logs-'));
  const store = openStoreForWriting(join(folder, 'c3.sqlite'));
  t.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

const conversation = (...messages: readonly unknown[]): string => JSON.stringify({ messages });
const user = (content: string): unknown => ({ role: 'user', content });
const by = (name: string, content: string): unknown => ({ role: 'assistant', name, content });

describe('a log', () => {
  it('is stored as the same whether its episodes were kept or are read again', async (t) => {
    const text = [
      conversation(user('How far?'), by('planner', 'I look.'), user('And back?'), by('solver', 'As far.')),
      conversation(user('How long?'), by('planner', 'An hour.')),
    ].join('\n');
    const rows = async (kept: number): Promise<unknown> => {
      const store = storeOf(t);
      const { messages } = await importText(store, text, false, [['solver', 'Ada']], kept);
      return Array.from({ length: messages }, (_, index) => store.fullMessage(index + 1));
    };
    const all = await rows(10_000);
    assert.equal((all as readonly unknown[]).length, 3);
    // Some of the log fits; then all of it is read again.
    assert.deepEqual([await rows(0), await rows(700)], [all, all]);
  });

  it('becomes a run whose episode has its messages, contexts and results of tools, in order', async (t) => {
    const store = storeOf(t);
    const text = readFileSync(join(import.meta.dirname, '../../../fixtures/logs/aiSdk.json'), 'utf8');
    const { run, ...report } = await importText(store, text);
    assert.deepEqual(report, {
      known: false,
      format: 'OpenTelemetry spans',
      episodes: 1,
      messages: 3,
      events: 1,
      scored: 0,
      speakers: [
        { name: 'planner', by: 'name', messages: 2 },
        { name: 'writer', by: 'name', messages: 1 },
      ],
      leftOut: { 'spans that are not calls of models or tools': 3 },
      masked: null,
    });
    assert.deepEqual(
      [store.run(run).status, store.snapshots('imported')[0]?.base],
      ['done', 'mock-planner, mock-writer'],
    );
    assert.deepEqual(
      readRunProtocol(store, run).occurrences.map(({ role }) => role),
      ['planner', 'writer'],
    );
    const [root] = store.searchMessages({ query: 'look', run, offset: 0, limit: 10 }).messages;
    assert.ok(root !== undefined);
    const chain: number[] = [root.id];
    for (let next = store.children(root.id); next.length > 0; next = store.children(chain.at(-1) ?? 0)) {
      chain.push(...next.map(({ id }) => id));
    }
    const messages = chain.map((id) => store.fullMessage(id));
    assert.deepEqual(
      messages.map(({ role, turn, position, text: said }) => [role, turn, position, said]),
      [
        ['planner', 0, 0, 'I look it up.\nlookup {"city":"Paris"}'],
        ['planner', 1, 0, 'Plan: say 18 degrees.'],
        ['writer', 0, 1, 'It is 18 degrees in Paris.'],
      ],
    );
    assert.equal(messages[0]?.context, '### system\nYou plan.\n\n### user\nHow warm is it in Paris?');
    assert.deepEqual(
      store.environmentEvents(chain[1] ?? 0, 'before').map(({ event }) => [event.source, event.text]),
      [['lookup', '{"degrees":18}']],
    );
    // Nobody scored it: no episode is masked, and none has a return.
    assert.equal(store.maskedEpisodes(run), 0);
  });

  it('of one long conversation is as long in the store as it is, and every context is whole', async (t) => {
    const store = storeOf(t);
    const said = Array.from({ length: 1000 }, (_, at) => (at % 2 === 0 ? user(`Ask ${at}.`) : by('a', `${at}.`)));
    const { run } = await importText(store, conversation(...said));
    const { messages } = store.searchMessages({ query: '999', run, offset: 0, limit: 10 });
    const context = store.fullMessage(messages[0]?.id ?? 0).context;
    assert.deepEqual([context.match(/^### /gmu)?.length, context.endsWith('### user\nAsk 998.')], [999, true]);
    const db = rawConnection(t, store.path);
    const held = db.prepare('SELECT sum(length(body)) FROM text').pluck().get();
    assert.ok(Number(held) < 2 * context.length, `${String(held)} of ${context.length}`);
  });

  it('keeps what was measured of each call, and says it of the problem', async (t) => {
    const store = storeOf(t);
    const began = Date.UTC(2026, 0, 1);
    const span = (at: number, attributes: Readonly<Record<string, unknown>>): unknown => ({
      traceId: 'a'.repeat(32),
      spanId: String(at).padStart(16, '0'),
      name: 'chat',
      startTimeUnixNano: `${began + at * 1000}000000`,
      endTimeUnixNano: `${began + at * 1000 + 500}000000`,
      attributes: Object.entries({
        'gen_ai.operation.name': 'chat',
        'gen_ai.input.messages': JSON.stringify([{ role: 'user', content: 'Go.' }]),
        'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content: `Said ${at}.` }]),
        ...attributes,
      }).map(([key, value]) => ({
        key,
        value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value },
      })),
    });
    const spans = [
      span(1, {
        'gen_ai.response.model': 'm-1',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 4,
        'gen_ai.usage.cost': 0.5,
        'gen_ai.request.temperature': 0,
        'ai.response.msToFirstChunk': 125,
      }),
      span(2, { 'gen_ai.usage.output_tokens': 6, 'llm.invocation_parameters': '{"temperature":0.5}' }),
    ];
    const { run } = await importText(store, JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    const [first, second] = store
      .searchMessages({ query: 'said', run, offset: 0, limit: 10 })
      .messages.toSorted((a, b) => a.id - b.id);
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(store.measured(first.id), {
      model: 'm-1',
      promptTokens: 10,
      completionTokens: 4,
      start: began + 1000,
      seconds: 0.5,
      firstTokenSeconds: 0.125,
      cost: 0.5,
      temperature: 0,
    });
    assert.deepEqual(store.measured(second.id), {
      ...NOTHING_MEASURED,
      completionTokens: 6,
      start: began + 2000,
      seconds: 0.5,
      temperature: 0.5,
    });
    const { messages, models, numbers } = store.episodesMeasured(first);
    assert.deepEqual(
      [messages, models, numbers.completionTokens, numbers.cost, numbers.temperature],
      [
        2,
        ['m-1'],
        { sum: 10, least: 4, most: 6, n: 2 },
        { sum: 0.5, least: 0.5, most: 0.5, n: 1 },
        { sum: 0.5, least: 0, most: 0.5, n: 2 },
      ],
    );
    const listed = rawConnection(t, store.path).prepare(
      'SELECT prompt_tokens, completion_tokens, seconds FROM problem',
    );
    assert.deepEqual(listed.raw().all(), [[10, 10, 1]]);
  });

  it('is stored once', async (t) => {
    const store = storeOf(t);
    const text = conversation(user('Hi'), by('a', 'Yes'));
    const first = await importText(store, text);
    const before = store.counts();
    assert.deepEqual(await importText(store, text), { ...first, known: true });
    assert.deepEqual(store.counts(), before);
    assert.notEqual((await importText(store, conversation(user('Hi'), by('a', 'No')))).run, first.run);
  });

  it('keeps scores and several episodes of one question, and what came after the last message', async (t) => {
    const store = storeOf(t);
    const lines = [0, 1].map((score) =>
      JSON.stringify({ messages: [user('Hi'), by('a', `Answer ${score}`), user('Thanks')], score }),
    );
    const { run, scored, events } = await importText(store, lines.join('\n'));
    assert.deepEqual([scored, events], [2, 2]);
    const episodes = store.episodes({ run, phase: 'evaluate', iteration: 2, offset: 0, limit: 10 });
    assert.deepEqual(
      episodes.map(({ return: value, question }) => [value, question]),
      [
        [0, 'Hi'],
        [1, 'Hi'],
      ],
    );
    assert.equal(new Set(episodes.map(({ problem }) => problem)).size, 1);
    assert.deepEqual(
      store.environmentEvents(episodes[0]?.leaf ?? 0, 'after').map(({ event }) => [event.source, event.text]),
      [['user', 'Thanks']],
    );
  });

  it('may name its speakers as it likes', async (t) => {
    const store = storeOf(t);
    const names = ['{question}', 'question', 'a\u0000b', 'x'.repeat(500), 'plan_output', '  ', 'A', '__proto__'];
    const { run } = await importText(store, conversation(user('Hi'), ...names.map((name) => by(name, name))));
    const roles = readRunProtocol(store, run).occurrences.map(({ role }) => role);
    assert.equal(new Set(roles).size, names.length);
  });

  it('leaves no secret in the store where they are masked', async (t) => {
    const store = storeOf(t);
    const secret = 'sk-proj-abcdefghijklmnop1234';
    const text = conversation(user(`My key is ${secret}`), by('a', secret));
    const { masked, run } = await importText(store, text, true);
    assert.equal(masked, 2);
    const [message] = store.searchMessages({ query: 'masked', run, offset: 0, limit: 10 }).messages;
    const stored = store.fullMessage(message?.id ?? 0);
    assert.deepEqual([stored.text, stored.context.includes(secret)], ['sk-proj-[masked]', false]);
  });

  it('that is none is refused, and nothing is stored', async (t) => {
    const store = storeOf(t);
    const before = store.counts();
    const isInput = (words: RegExp) => (error: unknown) =>
      error instanceof C3Error && error.kind === 'input' && words.test(error.message);
    await assert.rejects(importText(store, '{"a":1}'), isInput(/no log of a known form/u));
    await assert.rejects(importText(store, '{"a":1}\n{'), isInput(/mine\.json:2/u));
    const none = await importText(store, '{"resourceSpans":[]}');
    assert.deepEqual([none.episodes, store.counts()], [0, before]);
    await assert.rejects(importText(store, Buffer.from([0x7b, 0xe9, 0x7d])), isInput(/not UTF-8/u));
    await assert.rejects(
      importText(store, '[{"messages":[{"role":"assistant"}'),
      isInput(/mine\.json:1.*does not end/u),
    );
    assert.deepEqual(store.counts(), before);
  });

  it('is known from a file of buckets by the first line that says anything', () => {
    assert.equal(isBucketFile('# a comment\n\n{"bucket_id":"b","ctx_hash":1}\n'), true);
    assert.equal(isBucketFile('{"messages":[]}\n{"ctx_hash":1}'), false);
    assert.equal(isBucketFile(''), false);
  });
});

describe('speakers with other names', () => {
  const text = [
    conversation(user('Go'), by('a', 'one'), by('b', 'two')),
    conversation(user('Go'), by('c', 'three')),
  ].join('\n');

  it('are stored under these, two with one name as one, in a run of its own', async (t) => {
    const store = storeOf(t);
    const plain = await importText(store, text);
    const { run, speakers } = await importText(store, text, false, parseSpeakerRenames(['a=planner', ' c = planner ']));
    assert.notEqual(run, plain.run);
    assert.deepEqual(speakers, [
      { name: 'planner', by: 'renamed', messages: 2 },
      { name: 'b', by: 'name', messages: 1 },
    ]);
    assert.deepEqual(
      readRunProtocol(store, run).roles.map(({ name }) => name),
      ['planner', 'b'],
    );
    assert.equal((await importText(store, text, false, parseSpeakerRenames(['c=planner', 'a=planner']))).known, true);
  });

  it('are refused where nobody is called so, with those who are there, and nothing is stored', async (t) => {
    const store = storeOf(t);
    await assert.rejects(importText(store, text, false, parseSpeakerRenames(['a=x', 'd=y'])), (error) => {
      assert.ok(error instanceof C3Error);
      assert.equal(
        error.message,
        'No speaker is called "d", to be renamed; those who spoke are "a", "b", "c". Nothing was stored.',
      );
      return true;
    });
    assert.equal(store.countRuns(), 0);
  });

  it('are refused where they are no names', () => {
    for (const wrong of ['a', '=b', 'a=', ' =b', 'a=\n', `a=${'b'.repeat(61)}`]) {
      assert.throws(() => parseSpeakerRenames([wrong]), /--rename takes/u, wrong);
    }
    assert.throws(() => parseSpeakerRenames(['a=b', 'a=c']), /two names/u);
    assert.deepEqual(parseSpeakerRenames(['a=b=c']), [['a', 'b=c']]);
  });
});

it('what a person marked in the log is a label of its message, and the end of a long text from outside is counted', async (t) => {
  const store = storeOf(t);
  const sample = {
    history: [
      { role: 'user', name: 'Planner', content: 'Add.' },
      { role: 'assistant', name: 'Coder', content: '5' },
      { role: 'user', name: 'Computer_terminal', content: 'x'.repeat(20_000) },
    ],
    mistake_agent: 'Coder',
    mistake_step: 1,
    mistake_reason: 'It adds wrongly.',
    system_prompt: { Planner: 'You plan.', Coder: 'You code.' },
  };
  const { leftOut } = await importText(store, JSON.stringify(sample));
  assert.deepEqual(leftOut, {
    'ends of texts from outside that are longer than 16,384 characters (Computer_terminal)': 1,
  });
  const db = rawConnection(t, store.path);
  const label = db
    .prepare(
      'SELECT body, name, note, author FROM label JOIN decision ON decision.id = label.message JOIN text ON text.id = decision.message',
    )
    .all();
  assert.deepEqual(label, [{ body: '5', name: 'mistake', note: 'Coder: It adds wrongly.', author: 'the log' }]);
});
