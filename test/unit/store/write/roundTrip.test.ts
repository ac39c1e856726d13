import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Ledger, RunSummary } from '../../../../src/domain/run.ts';
import type { StepMetrics } from '../../../../src/domain/step.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { tokenHash } from '../../../../src/store/tokens.ts';
import {
  addRun,
  ENVIRONMENT,
  filledStore,
  inputErrorLike,
  INSTANCE,
  newBucket,
  newMessage,
  newEpisode,
  OTHER_INSTANCE,
  rawConnection,
  RUN,
  storeErrorLike,
  WEIGHTS,
} from '../helpers.ts';

const LEDGER: Ledger = {
  evaluatorCalls: 8,
  tokens: { prompt: 100, reused: 60, completion: 40 },
  decisions: { reasoner: 2, actor: 8 },
  seconds: 1.5,
};
const METRICS: StepMetrics = {
  meanReturn: 0.5,
  loss: -0.125,
  kl: 0.001,
  clipFraction: 0.1,
  gradientNorm: 1.25,
  learningRate: 3e-4,
  ratioDeviation: 0,
  creditVariance: 0.2,
  generateSeconds: 1,
  trainSeconds: 0.5,
};

test('a run, its steps and its summary come back as they were given', (t) => {
  const store = filledStore(t);
  const begun = {
    id: RUN,
    method: 'c3',
    seed: 7,
    status: 'running',
    createdAt: '2026-01-01T00:00:00.000Z',
    finishedAt: null,
    plannedSteps: 3,
    steps: 0,
    title: 'title of run-1',
    note: '',
    tags: [],
    summary: null,
  };
  assert.deepEqual(store.run(RUN), begun);
  assert.equal(store.runConfig(RUN), '{"seed":7}');

  store.insertStep({ run: RUN, iteration: 1, snapshot: WEIGHTS, ledger: LEDGER });
  store.insertSnapshot({
    id: 'cd'.repeat(32),
    run: RUN,
    iteration: 1,
    base: '/models/team',
    file: 'step-1.safetensors',
  });
  // A crash left the step unfinished: it may begin again, under the same or other weights.
  store.insertStep({ run: RUN, iteration: 1, snapshot: WEIGHTS, ledger: LEDGER });
  store.insertStep({ run: RUN, iteration: 2, snapshot: 'cd'.repeat(32), ledger: LEDGER });
  const later = { ...LEDGER, evaluatorCalls: 16 };
  store.finishStep(RUN, 1, METRICS, later);
  const leaf = store.insertMessage(newMessage());
  store.insertEpisode(newEpisode(leaf, 1));
  store.insertEpisode(newEpisode(leaf, 0, { phase: 'evaluate' }));
  assert.deepEqual(store.steps(RUN, 0, 10), [
    { run: RUN, iteration: 1, snapshot: WEIGHTS, metrics: METRICS, ledger: later, episodes: 1 },
    { run: RUN, iteration: 2, snapshot: 'cd'.repeat(32), metrics: null, ledger: LEDGER, episodes: 0 },
  ]);
  assert.deepEqual(
    store.steps(RUN, 1, 10).map((step) => step.iteration),
    [2],
  );
  assert.equal(store.countSteps(RUN), 2);
  assert.throws(
    () => {
      store.finishStep(RUN, 1, METRICS, LEDGER);
    },
    storeErrorLike(/no unfinished step 1/),
  );
  assert.throws(
    () => {
      store.insertStep({ run: RUN, iteration: 1, snapshot: WEIGHTS, ledger: LEDGER });
    },
    storeErrorLike(/no unfinished step 1/),
  );
  assert.throws(
    () => {
      store.finishStep(RUN, 2, { ...METRICS, loss: Number.NaN }, LEDGER);
    },
    storeErrorLike(/loss of step 2/, /NaN/),
  );

  const interval = { value: 0.5, low: 0.4, high: null, n: 20 };
  const summary: RunSummary = {
    run: RUN,
    method: 'c3',
    seed: 7,
    steps: 3,
    evaluatorCalls: 24,
    tokens: LEDGER.tokens,
    decisions: LEDGER.decisions,
    accuracy: { before: interval, after: null, difference: null },
    passAt1: { before: null, after: interval, difference: null },
    seconds: 9.5,
    store: store.path,
  };
  store.updateRunStatus(RUN, 'done', '2026-01-01T01:00:00.000Z', summary);
  assert.deepEqual(store.run(RUN), {
    ...begun,
    status: 'done',
    finishedAt: '2026-01-01T01:00:00.000Z',
    steps: 1,
    summary,
  });
  assert.throws(
    () => {
      store.updateRunStatus('none', 'done', null, null);
    },
    storeErrorLike(/no run none/),
  );
  assert.throws(
    () => {
      addRun(store, RUN, '2026');
    },
    storeErrorLike(/run\.id/),
  );
});

test('runs come newest first, in windows; times that are equal fall back on the order of insertion', (t) => {
  const store = filledStore(t);
  addRun(store, 'newest', '2026-03-01T00:00:00.000Z');
  addRun(store, 'second a', '2026-02-01T00:00:00.000Z');
  addRun(store, 'second b', '2026-02-01T00:00:00.000Z');
  assert.deepEqual(
    store.runs(0, 10).map((run) => run.id),
    ['newest', 'second b', 'second a', RUN],
  );
  assert.deepEqual(
    store.runs(1, 2).map((run) => run.id),
    ['second b', 'second a'],
  );
  assert.equal(store.countRuns(), 4);
  for (const [offset, limit] of [
    [-1, 1],
    [0, -1],
    [0.5, 1],
    [0, Number.NaN],
  ] as const) {
    assert.throws(() => store.runs(offset, limit), inputErrorLike(/whole number/));
  }
});

test('snapshots are kept by run; a file that comes later is added and never lost', (t) => {
  const store = filledStore(t);
  addRun(store, 'run-2', '2026-02-01');
  const first = { id: WEIGHTS, run: RUN, iteration: 0, base: '/models/team', file: null };
  assert.deepEqual(store.snapshots(WEIGHTS), [first, { ...first, run: 'run-2' }]);
  store.insertSnapshot({ ...first, file: 'kept.safetensors' });
  store.insertSnapshot(first);
  store.insertSnapshot({ id: 'cd'.repeat(32), run: RUN, iteration: 1, base: '/models/team', file: null });
  assert.deepEqual(
    store.snapshotsOfRun(RUN).map(({ iteration, file }) => [iteration, file]),
    [
      [0, 'kept.safetensors'],
      [1, null],
    ],
  );
  assert.equal(store.snapshots(WEIGHTS)[1]?.file, null);
  const ofFirstOnly = newMessage({ snapshot: 'cd'.repeat(32) });
  store.insertMessage(ofFirstOnly);
  assert.throws(
    () => store.insertMessage({ ...ofFirstOnly, run: 'run-2' }),
    storeErrorLike(/run run-2 has no snapshot cdcd/),
  );
});

test('problems and environments are stored once; a changed answer is refused', (t) => {
  const store = filledStore(t);
  assert.deepEqual(store.problem(INSTANCE.uidSha), INSTANCE);
  assert.deepEqual(store.problem(OTHER_INSTANCE.uidSha), OTHER_INSTANCE);
  store.insertProblems([INSTANCE, { ...OTHER_INSTANCE, source: 'elsewhere' }]);
  assert.equal(store.counts().instances, 2);
  assert.deepEqual(store.problem(OTHER_INSTANCE.uidSha), OTHER_INSTANCE);
  const third = { ...INSTANCE, uid: 'sum-3', uidSha: '70'.repeat(32) };
  assert.throws(
    () => {
      store.insertProblems([third, { ...INSTANCE, answer: '20' }]);
    },
    storeErrorLike(/sum-1/, /another answer/),
  );
  assert.equal(store.counts().instances, 2, 'the whole list is undone');
  assert.throws(() => store.problem(third.uidSha), inputErrorLike(/no problem 7070/));

  assert.equal(store.environmentId(ENVIRONMENT), 1);
  assert.equal(store.environmentId({ ...ENVIRONMENT, threads: 4 }), 2);
  assert.equal(store.environmentId(ENVIRONMENT), 1);
  assert.deepEqual(store.environment(2), { ...ENVIRONMENT, threads: 4 });
});

test('a message comes back bit for bit, to the writer and to a reader', (t) => {
  const store = filledStore(t);
  const bucket = store.insertBucket(newBucket());
  const given = newMessage({
    bucket,
    siblingIndex: 3,
    turn: 2,
    position: 1,
    finish: 'length',
    contextKey: '9223372036854775807',
    // Ids at both ends of int32 and floats that a decimal text would lose.
    tokens: Int32Array.of(0, 1, -1, 2147483647, -2147483648),
    logprobs: Float32Array.of(-0, Number.MIN_VALUE, -1e-42, -3.4e38, -0.1),
    text: 'naïve \u0000 "quoted" \r\n\t 日本語 \u{1f600}',
    context: '\n leading and trailing \n',
    sampling: { temperature: 0.7, topP: 0.95, topK: 0, maxNewTokens: 64 },
  });
  const id = store.insertMessage(given);
  const reader = openStoreForReading(store.path);
  t.after(() => {
    reader.close();
  });
  for (const door of [store, reader]) {
    const { tokenHash: hash, return: value, leaves, id: sameId, ...back } = door.fullMessage(id);
    assert.deepEqual(back, given);
    assert.deepEqual(Buffer.from(back.logprobs.buffer), Buffer.from(given.logprobs.buffer));
    assert.deepEqual([sameId, value, leaves], [id, null, 0]);
    // sha256sum of the bytes 00000000 01000000 ffffffff ffffff7f 00000080
    const bytes = Buffer.from('0000000001000000ffffffffffffff7f00000080', 'hex');
    assert.equal(hash, createHash('sha256').update(bytes).digest('hex'));
  }
  assert.deepEqual(reader.message(id), {
    id,
    run: RUN,
    phase: 'train',
    iteration: 1,
    problem: INSTANCE.uidSha,
    snapshot: WEIGHTS,
    role: 'reasoner',
    turn: 2,
    position: 1,
    parent: null,
    bucket,
    siblingIndex: 3,
    contextKey: '9223372036854775807',
    text: given.text,
    finish: 'length',
    tokenCount: 5,
    return: null,
    leaves: 0,
    credit: null,
    trainingCredit: null,
  });
  assert.equal(reader.messageRun(id), RUN);
  assert.throws(() => reader.fullMessage(id + 1), inputErrorLike(/no message 2/));
  assert.throws(() => reader.message(id + 1), inputErrorLike(/no message 2/));
  assert.throws(() => reader.messageRun(id + 1), inputErrorLike(/no message 2/));
});

test('the token hash is SHA-256 of little-endian int32, also for a view into a larger array', () => {
  // FIPS 180-2: the empty message, and "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq" read as 14 words.
  assert.equal(tokenHash(new Int32Array(0)), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  const words = Array.from('abcdefghijklmn', (_, i) =>
    [0, 1, 2, 3].reduce((word, byte) => word + (97 + i + byte) * 2 ** (8 * byte), 0),
  );
  const inside = Int32Array.from([5, ...words, 5]).subarray(1, 15);
  assert.equal(tokenHash(inside), '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1');
});

test('log-probabilities may be absent but not of another length', (t) => {
  const store = filledStore(t);
  assert.throws(
    () => store.insertMessage(newMessage({ logprobs: new Float32Array(3) })),
    storeErrorLike(/4 tokens came with 3/),
  );
  const id = store.insertMessage(newMessage({ logprobs: new Float32Array(0), finish: 'typed' }));
  assert.deepEqual(store.fullMessage(id).logprobs, new Float32Array(0));
});

test('episodes come back in order, by round, with their question; a masked return stays null and NaN is refused', (t) => {
  const store = filledStore(t);
  const leaf = store.insertMessage(newMessage());
  const other = store.insertMessage(newMessage({ problem: OTHER_INSTANCE.uidSha }));
  const given = [
    newEpisode(other, 0.25, { problem: OTHER_INSTANCE.uidSha, evaluatorCalls: 3 }),
    newEpisode(leaf, 1),
    newEpisode(leaf, null, { rule: 'time-out' }),
    newEpisode(leaf, 1, { phase: 'evaluate' }),
    newEpisode(leaf, 1, { iteration: 2 }),
  ];
  const ids = given.map((episode) => store.insertEpisode(episode));
  const round = { run: RUN, phase: 'train', iteration: 1 } as const;
  const expected = given.slice(0, 3).map((episode, i) => {
    const { question, answer } = i === 0 ? OTHER_INSTANCE : INSTANCE;
    return { ...episode, id: ids[i], question, answer };
  });
  assert.deepEqual(store.episodes({ ...round, offset: 0, limit: 10 }), expected);
  assert.deepEqual(store.episodes({ ...round, offset: 1, limit: 1 }), expected.slice(1, 2));
  assert.equal(store.countEpisodes(round), 3);
  assert.throws(
    () => store.insertEpisode(newEpisode(leaf, Number.NaN)),
    storeErrorLike(/NaN/, /null where nothing was measured/),
  );
  assert.equal(store.countEpisodes(round), 3);
});

test('texts are stored once, whoever says them, and each distinct message is indexed once', (t) => {
  const store = filledStore(t);
  for (let i = 0; i < 5; i++) {
    store.insertMessage(newMessage({ siblingIndex: i, text: 'the same words' }));
  }
  store.insertMessage(newMessage({ context: 'the same words', contextKey: '1', text: 'Question: 12 + 7' }));
  assert.equal(store.counts().texts, 2);
  const db = rawConnection(t, store.path);
  const expected = ['the same words', 'Question: 12 + 7'].map((body) => ({
    sha256: createHash('sha256').update(body).digest('hex'),
    body,
  }));
  assert.deepEqual(new Set(db.prepare('SELECT sha256, body FROM text').all()), new Set(expected));
  // The index keeps the number of its rows at the head of record 1.
  const totals = db.prepare<[], Buffer>('SELECT block FROM message_search_data WHERE id = 1').pluck().get();
  assert.equal(totals?.[0], 2);
});

test('a text with a lone surrogate is stored as the well-formed text that its hash names', (t) => {
  const store = filledStore(t);
  const id = store.insertMessage(newMessage({ text: 'half \ud83d of a pair' }));
  assert.equal(store.message(id).text, 'half \ufffd of a pair');
  store.insertMessage(newMessage({ text: 'half \ufffd of a pair' }));
  assert.equal(store.counts().texts, 2);
});

test('one context key for two contexts is refused, naming both, in this session and in the next', (t) => {
  const store = filledStore(t);
  const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
  store.insertMessage(newMessage({ context: 'one', contextKey: '77' }));
  const collide = (): void => {
    store.insertMessage(newMessage({ context: 'two', contextKey: '77', text: 'never stored' }));
  };
  assert.throws(collide, storeErrorLike(/context key 77\b/, new RegExp(hashOf('one')), new RegExp(hashOf('two'))));
  assert.deepEqual([store.counts().messages, store.counts().texts], [1, 2]);
  // What is remembered is forgotten after an error: the check works from the file too.
  assert.throws(collide, storeErrorLike(/context key 77\b/));
  store.insertMessage(newMessage({ context: 'one', contextKey: '77' }));
  assert.equal(store.counts().messages, 2);
});

test('a transaction is stored whole or not at all, and what it remembered is forgotten with it', (t) => {
  const store = filledStore(t);
  const stop = new Error('stop');
  assert.throws(
    () =>
      store.transaction(() => {
        store.insertSnapshot({ id: 'ee'.repeat(32), run: RUN, iteration: 1, base: 'b', file: null });
        store.insertMessage(newMessage({ context: 'rolled back', contextKey: '5', snapshot: 'ee'.repeat(32) }));
        throw stop;
      }),
    stop,
  );
  assert.deepEqual([store.counts().messages, store.counts().texts], [0, 0]);
  assert.throws(() => store.insertMessage(newMessage({ snapshot: 'ee'.repeat(32) })), storeErrorLike(/no snapshot/));
  const id = store.transaction(() => {
    assert.throws(
      () =>
        store.transaction(() => {
          store.insertMessage(newMessage({ context: 'rolled back', contextKey: '5' }));
          throw stop;
        }),
      stop,
    );
    return store.insertMessage(newMessage({ context: 'rolled back', contextKey: '5' }));
  });
  assert.equal(store.fullMessage(id).context, 'rolled back');
  assert.equal(store.counts().messages, 1);
});
