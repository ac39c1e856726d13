import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alternative } from '../../../../src/domain/replay.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import {
  filledStore,
  inputErrorLike,
  newBucket,
  newCredit,
  newMessage,
  newEpisode,
  newReplay,
  addRun,
  RUN,
  storeErrorLike,
} from '../helpers.ts';

test('a training bucket shows its alternatives with the returns of the leaves below them', (t) => {
  const store = filledStore(t);
  const given = newBucket();
  const bucket = store.insertBucket(given);
  const plans = [1, 0].map((siblingIndex) =>
    store.insertMessage(newMessage({ bucket, siblingIndex, text: `plan ${siblingIndex}` })),
  );
  const [second, first] = plans;
  assert.ok(first !== undefined && second !== undefined);
  const actors = store.insertBucket(newBucket({ role: 'actor', contextKey: '2' }));
  // Stored in a mixed-up order: the returns follow the sibling index.
  for (const [siblingIndex, value] of [
    [2, null],
    [0, 0.25],
    [1, 1],
  ] as const) {
    const leaf = store.insertMessage(
      newMessage({
        parent: first,
        bucket: actors,
        role: 'actor',
        siblingIndex,
        text: 'work',
        contextKey: '2',
        context: 'actor sees',
      }),
    );
    store.insertEpisode(newEpisode(leaf, value, { evaluatorCalls: 2 }));
  }
  store.insertCredit(bucket, first, newCredit(0.125));
  setHeadline(store.path, first, headline(0.25));
  const alternative = (message: number, index: number, changes: Partial<Alternative>): Alternative => ({
    message,
    index,
    text: `plan ${index}`,
    original: false,
    tokenCount: 4,
    finish: 'end',
    returns: [],
    evaluatorCalls: 0,
    credit: null,
    bucketCredit: null,
    verified: null,
    verification: null,
    ...changes,
  });
  assert.deepEqual(store.bucketView(bucket), {
    ...given,
    id: bucket,
    continuation: null,
    alternatives: [
      alternative(first, 0, {
        returns: [0.25, 1, null],
        evaluatorCalls: 6,
        credit: headline(0.25),
        bucketCredit: newCredit(0.125),
      }),
      alternative(second, 1, {}),
    ],
  });
  assert.deepEqual(store.bucket(bucket), { ...given, id: bucket });
  assert.deepEqual(
    store.bucketsFor(first).map((view) => view.id),
    [bucket],
  );
  assert.throws(() => store.bucketView(99), inputErrorLike(/no bucket 99/));
  assert.throws(() => store.bucketsFor(99), inputErrorLike(/no message 99/));
});

test('of a wide bucket the first alternatives are read, with the message asked about, and the others are counted', (t) => {
  const store = filledStore(t);
  const bucket = store.insertBucket(newBucket());
  const ids = [0, 1, 2, 3, 4].map((siblingIndex) =>
    store.insertMessage(newMessage({ bucket, siblingIndex, text: `plan ${siblingIndex}` })),
  );
  const read = (id: number, most?: number): unknown =>
    store.bucketsFor(id, most).map(({ alternatives, omitted }) => [alternatives.map(({ index }) => index), omitted]);
  const [first = 0, , , fourth = 0] = ids;
  assert.deepEqual(read(first, 2), [[[0, 1], 3]]);
  assert.deepEqual(read(fourth, 2), [[[0, 1, 3], 2]]);
  assert.deepEqual(read(fourth, 5), [[[0, 1, 2, 3, 4], undefined]]);
  assert.deepEqual(read(fourth), [[[0, 1, 2, 3, 4], undefined]]);
});

test('a request shows the clicked message beside the fresh ones, each with its replays by m and what verification said', (t) => {
  const store = filledStore(t);
  const training = store.insertBucket(newBucket());
  const clicked = store.insertMessage(newMessage({ bucket: training, siblingIndex: 5 }));
  store.insertEpisode(newEpisode(clicked, 1));
  const bucket = store.insertBucket(newBucket({ origin: 'request', message: clicked }));
  store.insertAlternative(bucket, clicked, 0, true);
  const replay = { phase: 'replay', iteration: 1 } as const;
  const fresh = [1, 2].map((siblingIndex) =>
    store.insertMessage(newMessage({ ...replay, bucket, siblingIndex, text: `fresh ${siblingIndex}` })),
  );
  const [one, two] = fresh;
  assert.ok(one !== undefined && two !== undefined);
  // A caller may also name a fresh alternative: it still counts once.
  store.insertAlternative(bucket, two, 2, false);

  const replays = (
    [
      [one, 1, 0],
      [one, 0, 1],
      [clicked, 0, 1],
      [clicked, 1, null],
      [two, 0, 0.5],
    ] as const
  ).map(([alternative, m, value]) => {
    const leaf = store.insertMessage(newMessage({ ...replay, parent: alternative, siblingIndex: m }));
    store.insertEpisode(newEpisode(leaf, value, replay));
    const row = newReplay(bucket, alternative, m, leaf, value);
    return { ...row, id: store.insertReplay(row) };
  });
  const verify = (at: number, result: 'identical' | 'different' | 'notComparable'): void => {
    const difference = result === 'different' ? ({ kind: 'token', token: 7 } as const) : null;
    store.insertVerification({ replay: replays[at]?.id ?? 0, result, detail: 'why', environment: 1, difference });
  };
  const verified = (): unknown[] => store.bucketView(bucket).alternatives.map((alternative) => alternative.verified);

  const shown = store
    .bucketView(bucket)
    .alternatives.map(({ message, index, original, returns, evaluatorCalls }) => [
      message,
      index,
      original,
      returns,
      evaluatorCalls,
    ]);
  assert.deepEqual(shown, [
    [clicked, 0, true, [1, null], 2],
    [one, 1, false, [1, 0], 2],
    [two, 2, false, [0.5], 1],
  ]);
  const words = (): unknown[] => store.bucketView(bucket).alternatives.map(({ verification }) => verification?.label);
  assert.deepEqual(verified(), [null, null, null]);
  assert.deepEqual(words(), ['not verified yet', 'not verified yet', 'not verified yet']);
  assert.equal(store.newestVerification(), 0);
  verify(0, 'identical');
  verify(2, 'different');
  verify(4, 'notComparable');
  assert.deepEqual(verified(), [false, true, null]);
  assert.deepEqual(words(), ['differs at token 7', 'not verified yet', 'not comparable']);
  assert.equal(store.newestVerification(), 3);
  verify(2, 'identical');
  verify(1, 'different');
  assert.deepEqual(verified(), [true, false, null]);
  assert.deepEqual(
    store
      .verifications(replays[2]?.id ?? 0)
      .map((found) => [found.result, found.detail, found.environment, found.difference]),
    [
      ['different', 'why', 1, { kind: 'token', token: 7 }],
      ['identical', 'why', 1, null],
    ],
  );

  const byPlace = replays.toSorted((a, b) => a.alternative - b.alternative || a.replayIndex - b.replayIndex);
  assert.deepEqual(store.replaysOfBucket(bucket), byPlace);
  const newest = new Map([
    [0, 'identical'],
    [1, 'different'],
    [2, 'identical'],
    [4, 'notComparable'],
  ]);
  assert.deepEqual(
    store.verdictsOfBucket(bucket),
    byPlace.map((replay) => {
      const result = newest.get(replays.indexOf(replay)) ?? null;
      return {
        alternative: replay.alternative,
        leaf: replay.leaf,
        replayIndex: replay.replayIndex,
        result,
        detail: result === null ? '' : 'why',
        difference: result === 'different' ? { kind: 'token', token: 7 } : null,
      };
    }),
  );
  assert.deepEqual(store.replaysOfRun(RUN, 1, 3), replays.slice(1, 4));
  assert.equal(store.countReplays(RUN), 5);
  assert.throws(
    () => store.insertReplay(newReplay(bucket, one, 0, one, 1)),
    storeErrorLike(/nothing was changed|never changed/),
  );
  assert.throws(
    () => store.insertReplay(newReplay(bucket, one, 7, one, Number.POSITIVE_INFINITY)),
    storeErrorLike(/Infinity/),
  );
  assert.throws(() => store.insertAlternative(bucket, clicked, 3, false), storeErrorLike(/alternative/));
  assert.equal(store.countReplays(RUN), 5);
});

test('buckets are linked by run, event type and context key: own bucket and requests, newest last', (t) => {
  const store = filledStore(t);
  addRun(store, 'run-2', '2026-02-01');
  const own = store.insertBucket(newBucket());
  const id = store.insertMessage(newMessage({ bucket: own }));
  const twin = store.insertBucket(newBucket());
  const firstRequest = store.insertBucket(newBucket({ origin: 'request', message: id }));
  store.insertBucket(newBucket({ origin: 'request', role: 'actor' }));
  store.insertBucket(newBucket({ origin: 'request', contextKey: '9007199254740992' }));
  store.insertBucket(newBucket({ origin: 'request', run: 'run-2' }));
  const secondRequest = store.insertBucket(newBucket({ origin: 'request' }));
  assert.deepEqual(
    store.bucketsFor(id).map((view) => view.id),
    [own, firstRequest, secondRequest],
  );
  const evaluated = store.insertMessage(newMessage({ phase: 'evaluate' }));
  assert.deepEqual(
    store.bucketsFor(evaluated).map((view) => view.id),
    [firstRequest, secondRequest],
  );

  assert.deepEqual(
    store.bucketsOfRun({ run: RUN, origin: 'training', offset: 0, limit: 9 }).map((view) => view.id),
    [own, twin],
  );
  assert.deepEqual(
    store.bucketsOfRun({ run: RUN, offset: 1, limit: 2 }).map((view) => view.id),
    [twin, firstRequest],
  );
  assert.deepEqual(
    [
      store.countBuckets({ run: RUN }),
      store.countBuckets({ run: RUN, origin: 'request' }),
      store.countBuckets({ run: 'run-2' }),
    ],
    [6, 4, 1],
  );
  assert.deepEqual(
    [store.nextRequestNumber(RUN), store.nextRequestNumber('run-2'), store.nextRequestNumber('none')],
    [5, 2, 1],
  );
});

test('credits of every estimator are kept in order, labels are appended to messages and buckets', (t) => {
  const store = filledStore(t);
  const bucket = store.insertBucket(newBucket());
  const id = store.insertMessage(newMessage({ bucket }));
  const given = [
    newCredit(0.5),
    newCredit(0.25, { estimator: 'magrpo' }),
    newCredit(-0.5, { low: null, high: null, interval: 'none', n: 1 }),
  ];
  given.forEach((credit) => store.insertCredit(bucket, id, credit));
  assert.deepEqual(
    store.credits(bucket),
    given.map((credit) => ({ ...credit, bucket, message: id })),
  );
  assert.deepEqual(store.bucketView(bucket).alternatives[0]?.bucketCredit, given[2]);
  assert.equal(store.message(id).credit, null, 'a record of training is no headline');
  assert.deepEqual(store.message(id).trainingCredit, given[0], 'the first is what training learned from');
  assert.throws(
    () => store.insertCredit(bucket, id, newCredit(Number.NaN)),
    storeErrorLike(/value of the credit of message 1 is NaN/),
  );
  assert.throws(
    () => store.insertCredit(bucket, id, newCredit(0, { low: Number.NEGATIVE_INFINITY })),
    storeErrorLike(/lower bound of the credit of message 1 is -Infinity/),
  );
  assert.throws(
    () => store.insertCredit(bucket, id, newCredit(0, { high: Number.NaN })),
    storeErrorLike(/upper bound of the credit of message 1 is NaN/),
  );
  assert.equal(store.credits(bucket).length, 3);

  const note = {
    message: id,
    bucket: null,
    name: 'odd',
    note: 'skips a "step"',
    author: 'you',
    createdAt: '2026-01-01',
  };
  const both = { message: id, bucket, name: 'later', note: '', author: 'you', createdAt: '2026-01-02' };
  const ids = [note, both].map((label) => store.insertLabel(label));
  assert.deepEqual(store.labelsOfMessage(id), [
    { ...note, id: ids[0] },
    { ...both, id: ids[1] },
  ]);
  assert.deepEqual(store.labelsOfBucket(bucket), [{ ...both, id: ids[1] }]);
  const again = { ...both, message: null, name: '', author: 'somebody' };
  const last = store.insertLabel(again);
  assert.deepEqual(store.labelsOfRun(RUN), [
    { ...both, id: ids[1] },
    { ...again, id: last },
  ]);
  assert.deepEqual(store.labelsOfRun('none'), []);
  assert.throws(() => store.insertLabel({ ...note, message: null }), storeErrorLike(/label_names_message_or_bucket/));
  assert.deepEqual(store.counts(), {
    runs: 1,
    instances: 2,
    messages: 1,
    episodes: 0,
    buckets: 1,
    replays: 0,
    texts: 2,
  });
});
