/**
 * Which requests are of another continuation distribution, by the rows alone, and where that keeps their credits apart.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OTHER_MODEL } from '../../../../src/domain/snapshot.ts';
import type { StoreWriter } from '../../../../src/store/write/writer.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import { filledStore, newBucket, newCredit, newMessage, newReplay, RUN, WEIGHTS } from '../helpers.ts';

const LATER = 'cd'.repeat(32);
const FOREIGN = 'ef'.repeat(32);
const SAMPLING = { temperature: 1, topP: 0.9, topK: 40, maxNewTokens: 32 };

interface Request {
  readonly bucket: number;
  readonly alternative: number;
}

let requests = 0;
function request(store: StoreWriter, message: number, snapshot: string, temperature: number, text = 'fresh'): Request {
  requests++;
  const round = { phase: 'replay', iteration: requests, snapshot } as const;
  const bucket = store.insertBucket(newBucket({ origin: 'request', iteration: requests, message, snapshot }));
  store.insertAlternative(bucket, message, 0, true);
  const finish = text === '' ? 'typed' : 'end';
  const alternative = store.insertMessage(
    newMessage({ ...round, bucket, siblingIndex: 1, text, finish, sampling: { ...SAMPLING, temperature } }),
  );
  for (const [of, value] of [
    [message, 1],
    [alternative, 0],
  ] as const) {
    const leaf = store.insertMessage(
      newMessage({
        ...round,
        parent: of,
        siblingIndex: 0,
        position: 1,
        role: 'actor',
        contextKey: '11',
        sampling: { ...SAMPLING, temperature },
      }),
    );
    store.insertReplay(newReplay(bucket, of, 0, leaf, value));
  }
  return { bucket, alternative };
}

function scene(t: Parameters<typeof filledStore>[0]): {
  readonly store: StoreWriter;
  readonly message: number;
  readonly training: number;
} {
  const store = filledStore(t);
  store.insertSnapshot({ id: LATER, run: RUN, iteration: 2, base: '/models/team', file: '/snapshots/later' });
  store.insertSnapshot({ id: FOREIGN, run: RUN, iteration: OTHER_MODEL, base: '/models/other', file: null });
  const training = store.insertBucket(newBucket());
  return { store, training, message: store.insertMessage(newMessage({ bucket: training })) };
}

test('a request is of another distribution where its weights or its temperature are not those of its message', (t) => {
  const { store, message, training } = scene(t);
  const own = { snapshot: WEIGHTS, step: 0, temperature: 1 };
  const of = (snapshot: string, temperature: number): unknown =>
    store.bucketView(request(store, message, snapshot, temperature).bucket).continuation;
  assert.equal(of(WEIGHTS, 1), null);
  assert.equal(store.bucketView(training).continuation, null);
  assert.deepEqual(of(LATER, 1), {
    snapshot: LATER,
    step: 2,
    temperature: 1,
    model: null,
    differs: { snapshot: true, temperature: false, model: false },
    own,
  });
  assert.deepEqual(of(WEIGHTS, 0.5), {
    snapshot: WEIGHTS,
    step: 0,
    temperature: 0.5,
    model: null,
    differs: { snapshot: false, temperature: true, model: false },
    own,
  });
  assert.deepEqual(of(FOREIGN, 2), {
    snapshot: FOREIGN,
    step: null,
    temperature: 2,
    model: '/models/other',
    differs: { snapshot: true, temperature: true, model: true },
    own,
  });
});

test('what another distribution sampled is its own when it is asked about in turn', (t) => {
  const { store, message } = scene(t);
  const { alternative } = request(store, message, LATER, 0.5);
  assert.equal(store.continuationOf(request(store, alternative, LATER, 0.5).bucket), null);
  assert.deepEqual(store.ownContinuation(alternative), { snapshot: LATER, step: 2, temperature: 0.5 });
  assert.deepEqual(store.continuationOf(request(store, alternative, WEIGHTS, 1).bucket)?.own, {
    snapshot: LATER,
    step: 2,
    temperature: 0.5,
  });
});

test("a message that was picked greedily is continued as recorded at the run's temperature, where the run says it", (t) => {
  const { store } = scene(t);
  store.insertRun({
    id: 'told',
    method: 'c3',
    seed: 1,
    title: '',
    config: '{"config":{"sampling":{"temperature":0.7}}}',
    plannedSteps: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
  });
  store.insertSnapshot({ id: WEIGHTS, run: 'told', iteration: 0, base: '/models/team', file: null });
  const greedy = { phase: 'evaluate', sampling: { ...SAMPLING, temperature: 0 } } as const;
  const asked = (run: string, temperature: number): unknown => {
    const message = store.insertMessage(newMessage({ ...greedy, run }));
    assert.deepEqual(store.ownContinuation(message), {
      snapshot: WEIGHTS,
      step: 0,
      temperature: run === 'told' ? 0.7 : null,
    });
    const bucket = store.insertBucket(newBucket({ run, origin: 'request', message }));
    store.insertMessage(newMessage({ run, phase: 'replay', bucket, sampling: { ...SAMPLING, temperature } }));
    return store.continuationOf(bucket)?.differs ?? null;
  };
  assert.equal(asked('told', 0.7), null);
  assert.deepEqual(asked('told', 1), { snapshot: false, temperature: true, model: false });
  // A run that does not say is never accused.
  assert.equal(asked(RUN, 1), null);
});

test("another distribution's credit is neither the message's nor one of the run's, and another model is no snapshot of the run", (t) => {
  const { store, message, training } = scene(t);
  store.insertCredit(training, message, newCredit(0.25));
  setHeadline(store.path, message, headline(0.375));
  const other = request(store, message, LATER, 1);
  setHeadline(store.path, message, headline(-0.75), other.bucket);
  store.insertCredit(other.bucket, message, newCredit(-0.75));
  store.insertCredit(other.bucket, other.alternative, newCredit(0.75));
  const alike = request(store, message, WEIGHTS, 1);
  store.insertCredit(alike.bucket, message, newCredit(0.5));
  assert.equal(store.message(message).credit?.value, 0.375);
  assert.equal(store.bucketView(other.bucket).alternatives[0]?.credit?.value, -0.75, 'a pool of its own');
  assert.deepEqual(
    store.creditsOfRun(RUN, 0, 10).map(({ bucket, value }) => [bucket, value]),
    [
      [alike.bucket, 0.5],
      [training, 0.25],
    ],
  );
  assert.deepEqual(
    store.snapshotsOfRun(RUN).map(({ id }) => id),
    [WEIGHTS, LATER],
  );
});

test('what another distribution removed is never set against what the run replaced', (t) => {
  const { store, message, training } = scene(t);
  setHeadline(store.path, message, headline(0.25));
  const removals = (): unknown =>
    store
      .rankedBuckets({ run: RUN, order: 'distance', offset: 0, limit: 10 })
      .map(({ bucket, removal, continuation }) => [bucket, removal, continuation?.differs.snapshot ?? false]);
  const other = request(store, message, LATER, 1, '');
  assert.deepEqual(removals(), [
    [training, null, false],
    [other.bucket, null, true],
  ]);
  const own = request(store, message, WEIGHTS, 1, '');
  setHeadline(store.path, message, headline(0.25), own.bucket);
  const found = { message, replace: 0.25, remove: 1 };
  assert.deepEqual(removals(), [
    [training, found, false],
    [own.bucket, found, false],
    [other.bucket, null, true],
  ]);
});
