/** Rankings of buckets against what follows from the buckets themselves, read one by one. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  ALL_BUCKETS,
  BUCKET_ORDERS,
  measureDisagreement,
  isBucketKindShown,
  type BucketFilter,
  type RankedBucket,
  type BucketView,
} from '../../../../src/domain/replay.ts';
import type { Headline } from '../../../../src/shared/credit/headline.ts';
import { measureClearness } from '../../../../src/shared/credit/order.ts';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { BUCKET_MEASURES } from '../../../../src/store/tables/bucketMeasures.ts';
import type { StoreWriter } from '../../../../src/store/types.ts';
import { headline, joinPool, setHeadline } from '../../../support/headlines.ts';
import { addMessage, addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../../extension/storeFixture.ts';

/** A counter-based stream of numbers in [0, 1): the same in every run of the test. */
function numbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 48_271) >>> 0) % 0x7fffffff;
    return state / 0x7fffffff;
  };
}

/** Gives a message a headline in a bucket: every third one decided. */
function give(writer: StoreWriter, bucket: number, id: number, value: number): void {
  setHeadline(
    writer.path,
    id,
    headline(value, id % 3 === 0 ? { low: value - 0.2, high: value + 0.2 } : { low: -1, high: 0.9 + value / 20 }),
    bucket,
  );
}

/** Trees with masked and equal returns, requests, credits, one of them said twice, and a bucket without anything. */
function fill(writer: StoreWriter): void {
  const next = numbers();
  const score = (): number | null => (next() < 0.15 ? null : Math.round(next() * 4) / 4);
  addRun(writer);
  addRun(writer, 'other', '2026-02-02T00:00:00.000Z');
  for (let number = 0; number < 12; number++) {
    const trees = addTree(writer, {
      iteration: 1 + (number % 3),
      problem: problem(number),
      returns: Array.from({ length: 3 }, () => Array.from({ length: 1 + Math.floor(next() * 3) }, score)),
    });
    for (const { plan, actors } of trees) {
      const buckets = [plan, ...actors].map((id) => [writer.message(id).bucket ?? 0, id] as const);
      for (const [bucket, id] of buckets) {
        if (next() < 0.8) {
          give(writer, bucket, id, Math.round(200 * next() - 100) / 100);
        }
      }
    }
    const first = trees[0];
    if (first === undefined) {
      continue;
    }
    // As the engine does it: what continued a message in training is among the replays too, and a request's
    // episodes below one do not count in training.
    if (number === 7) {
      replayTree(writer, trees, number);
    }
    // Two requests about one context: one row of a ranking.
    if (number === 9) {
      const requests = ['three', 'four'].map((text) => addRequest(writer, first.plan, [text], [score()]).bucket);
      for (const bucket of requests) {
        joinPool(writer.path, bucket, requests[0] ?? 0);
      }
    }
    if (number % 4 === 0) {
      const { bucket, alternatives } = addRequest(writer, first.plan, ['one', 'two'], [score(), score()]);
      for (const id of alternatives) {
        give(writer, bucket, id, next());
      }
    }
  }
  addTree(writer, { run: 'other', iteration: 1, problem: problem(1), returns: [[1], [0]] });
}

function replayTree(writer: StoreWriter, trees: ReturnType<typeof addTree>, number: number): void {
  const own = { run: RUN, phase: 'train', iteration: 1 + (number % 3), offset: 0, limit: 1000 } as const;
  const episodes = new Map(writer.episodes(own).map((episode) => [episode.leaf, episode]));
  for (const { plan, actors } of trees) {
    for (const [replayIndex, leaf] of actors.entries()) {
      const episode = episodes.get(leaf);
      assert.ok(episode);
      writer.insertReplay({
        bucket: writer.message(plan).bucket ?? 0,
        alternative: plan,
        replayIndex,
        leaf,
        return: episode.return,
        evaluatorCalls: 1,
        tokenHash: 'h',
        environment: 1,
      });
    }
    const leaf = addMessage(writer, {
      phase: 'replay',
      iteration: 99,
      problem: problem(number),
      role: 'actor',
      position: 1,
      parent: plan,
      bucket: null,
      index: 0,
      text: 'again',
    });
    writer.insertEpisode({
      run: RUN,
      phase: 'replay',
      iteration: 99,
      problem: problem(number).uidSha,
      leaf,
      return: 7,
      rule: 'exact',
      evaluatorCalls: 1,
    });
  }
}

function store(t: TestContext): ReturnType<typeof temporaryStore> {
  const made = temporaryStore();
  t.after(() => made.remove());
  return made;
}

const deviation = (values: readonly number[]): number | null => {
  if (values.length < 2) {
    return null;
  }
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
};

const returnsOf = (view: BucketView): number[] =>
  view.alternatives.flatMap(({ returns }) => returns).filter((value): value is number => value !== null);
const creditOf = (view: BucketView): number | null =>
  view.alternatives.reduce<number | null>(
    (most, alternative) =>
      alternative.credit === null ? most : Math.max(most ?? 0, Math.abs(alternative.credit.value)),
    null,
  );

/** Of buckets those that no earlier one of them shares its pool with: a context stands in a list once. */
function oncePerPool(path: string, buckets: readonly number[]): readonly number[] {
  const db = new (loadSqlite())(path, { readonly: true });
  const rows = db.prepare('SELECT bucket, pool FROM bucket_pool').raw().all() as [number, number][];
  db.close();
  const pools = new Map(rows);
  const poolOf = (bucket: number): number => pools.get(bucket) ?? -bucket;
  return buckets.filter((bucket) => !buckets.some((other) => other < bucket && poolOf(other) === poolOf(bucket)));
}

const rankOf = (shown: Headline | null): number => (shown === null ? null : measureClearness(shown)) ?? -9;

function descending(values: readonly (number | null)[]): void {
  const sorted = [...values].sort((a, b) => (b ?? -1) - (a ?? -1));
  assert.deepEqual(values, sorted, 'largest first, unmeasured last');
}

test('buckets are ranked by what their alternatives show, page by page, and those of other runs are left out', (t) => {
  const { writer, path } = store(t);
  fill(writer);
  const views = writer.bucketsOfRun({ run: RUN, offset: 0, limit: 1000 });
  const ids = views.map(({ id }) => id);
  const once = oncePerPool(path, ids);
  assert.ok(once.length < ids.length, 'some share a pool');
  assert.ok(
    views.length > 40 &&
      views.some((view) => creditOf(view) === null) &&
      views.some((view) => deviation(returnsOf(view)) === null),
  );
  for (const order of BUCKET_ORDERS) {
    const all = writer.rankedBuckets({ run: RUN, order, offset: 0, limit: 1000 });
    assert.deepEqual(
      all.map(({ bucket }) => bucket).sort((a, b) => a - b),
      once,
    );
    assert.equal(writer.countRanked(RUN, order), once.length);
    const pages: RankedBucket[] = [];
    for (let offset = 0; offset < views.length; offset += 7) {
      pages.push(...writer.rankedBuckets({ run: RUN, order, offset, limit: 7 }));
    }
    assert.deepEqual(pages, all);
    for (const ranked of all) {
      const view = views.find(({ id }) => id === ranked.bucket);
      assert.ok(view);
      const spread = deviation(returnsOf(view));
      assert.equal(ranked.returns, returnsOf(view).length);
      assert.ok(
        spread === null || ranked.spread === null ? spread === ranked.spread : Math.abs(spread - ranked.spread) < 1e-12,
        `${String(spread)} ${String(ranked.spread)}`,
      );
      assert.equal(ranked.credit === null, creditOf(view) === null);
      if (order === 'credit') {
        assert.equal(ranked.credit === null ? null : Math.abs(ranked.credit.value), creditOf(view));
      }
      if (order === 'clearest') {
        assert.equal(
          rankOf(ranked.credit),
          view.alternatives.reduce((most, alternative) => Math.max(most, rankOf(alternative.credit)), -9),
        );
      }
      assert.equal(ranked.text, view.alternatives.find(({ message }) => message === ranked.message)?.text);
    }
    if (order === 'spread') {
      descending(all.map(({ spread }) => spread));
    } else if (order === 'credit') {
      descending(all.map((ranked) => (ranked.credit === null ? null : Math.abs(ranked.credit.value))));
    } else if (order === 'clearest') {
      descending(all.map((ranked) => rankOf(ranked.credit)));
    }
  }
  assert.ok(
    writer.rankedBuckets({ run: RUN, order: 'spread', offset: 0, limit: 1000 }).some(({ spread }) => spread === 0),
    'equal returns spread by exactly nothing',
  );
  assert.deepEqual(writer.rankedBuckets({ run: 'nobody', order: 'credit', offset: 0, limit: 10 }), []);
});

test('under a filter the ranking holds the buckets that pass, in the same order and page by page, and their kinds are counted', (t) => {
  const { writer, path } = store(t);
  fill(writer);
  const plan = writer.bucketsOfRun({ run: RUN, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0;
  addRemoval(writer, plan, { kept: [1, 0, 1], gone: [0], others: [1], credit: 0.5 });
  const views = writer
    .bucketsOfRun({ run: RUN, offset: 0, limit: 1000 })
    .map((view) => ({
      id: view.id,
      role: view.role,
      origin: view.origin,
      credit: creditOf(view) === null ? ('not measured' as const) : ('measured' as const),
      count: 1,
    }));
  const filters: readonly BucketFilter[] = [
    ALL_BUCKETS,
    { ...ALL_BUCKETS, roles: ['actor'] },
    { ...ALL_BUCKETS, origins: ['request'] },
    { ...ALL_BUCKETS, credit: ['not measured'] },
    { ...ALL_BUCKETS, credit: ['measured', 'not measured'] },
    { roles: ['reasoner', 'actor'], origins: ['training'], credit: ['measured'] },
    { ...ALL_BUCKETS, roles: ['nobody'] },
  ];
  const kinds = writer.bucketKinds(RUN);
  for (const order of BUCKET_ORDERS) {
    const all = writer.rankedBuckets({ run: RUN, order, offset: 0, limit: 1000 });
    for (const filter of filters) {
      const passing = views.filter((view) => isBucketKindShown(filter, view));
      const expected = oncePerPool(
        path,
        passing.map(({ id }) => id),
      );
      const pages: RankedBucket[] = [];
      for (let offset = 0; offset <= expected.length; offset += 3) {
        pages.push(...writer.rankedBuckets({ run: RUN, order, filter, offset, limit: 3 }));
      }
      const found = pages.map(({ bucket }) => bucket);
      const words = JSON.stringify([order, filter]);
      assert.deepEqual(
        found.toSorted((one, other) => one - other),
        expected,
        words,
      );
      // By distance, a request comes first where the bucket that stood for its removal does not pass.
      if (order !== 'distance') {
        const listed = all.map(({ bucket }) => bucket);
        assert.deepEqual(
          found.filter((bucket) => listed.includes(bucket)),
          listed.filter((bucket) => found.includes(bucket)),
          words,
        );
      }
      assert.equal(writer.countRanked(RUN, order, filter), expected.length, words);
      const counted = kinds
        .filter((kind) => isBucketKindShown(filter, kind))
        .reduce((sum, { count }) => sum + count, 0);
      assert.equal(counted, passing.length, words);
    }
  }
  assert.deepEqual([kinds.length >= 4, writer.bucketKinds('nobody')], [true, []]);
});

/** A request on a plan: its own replays, an empty message in its place, and others. */
function addRemoval(
  writer: StoreWriter,
  plan: number,
  parts: {
    readonly kept: readonly number[];
    readonly gone: readonly (number | null)[];
    readonly others: readonly number[];
    readonly credit?: number;
    readonly empty?: string;
  },
): number {
  const asked = writer.fullMessage(plan);
  const iteration = writer.nextRequestNumber(RUN);
  const { bucket, alternatives } = addRequest(writer, plan, parts.others.map(String), parts.others);
  assert.equal(alternatives.length, parts.others.length);
  const emptied = writer.insertMessage({
    ...asked,
    phase: 'replay',
    iteration,
    bucket,
    siblingIndex: 9,
    text: parts.empty ?? ' \n',
    finish: 'typed',
  });
  const replay = (alternative: number, replayIndex: number, value: number | null): void => {
    const leaf = addMessage(writer, {
      phase: 'replay',
      iteration,
      problem: writer.problem(asked.problem),
      role: 'actor',
      position: 1,
      parent: alternative,
      bucket: null,
      index: replayIndex,
      text: 'x',
    });
    writer.insertReplay({
      bucket,
      alternative,
      replayIndex,
      leaf,
      return: value,
      evaluatorCalls: 1,
      tokenHash: 'h',
      environment: asked.environment,
    });
  };
  parts.kept.forEach((value, index) => replay(plan, index, value));
  parts.gone.forEach((value, index) => replay(emptied, index, value));
  if (parts.credit !== undefined) {
    give(writer, bucket, plan, parts.credit);
  } else {
    joinPool(writer.path, bucket, writer.message(plan).bucket ?? 0);
  }
  return bucket;
}

test('by distance, a bucket is where replacing and removing a message disagree, and last where nothing was removed', (t) => {
  const { writer } = store(t);
  addRun(writer);
  const plans = addTree(writer, { iteration: 1, problem: problem(1), returns: [[1], [0], [1], [0]] }).map(
    ({ plan }) => plan,
  );
  const [a = 0, b = 0, c = 0, d = 0] = plans;
  const own = writer.message(a).bucket ?? 0;
  plans.forEach((plan, index) => give(writer, own, plan, index / 10));
  const sampled = addRemoval(writer, a, { kept: [1, 1], gone: [0, 0.5], others: [1, 0] });
  // Nothing else was sampled here: replacing is worth what the whole pool says, here as there.
  const alone = addRemoval(writer, b, { kept: [1], gone: [0], others: [] });
  const masked = addRemoval(writer, c, { kept: [1], gone: [null], others: [1] });
  const typed = addRemoval(writer, d, { kept: [1], gone: [0], others: [1], empty: 'not empty' });
  const all = writer.rankedBuckets({ run: RUN, order: 'distance', offset: 0, limit: 100 });
  const short = all.map(({ bucket, message, removal }) => [
    bucket,
    message,
    removal === null ? null : Number(measureDisagreement(removal).toFixed(9)),
  ]);
  assert.deepEqual(
    short.slice(0, 2),
    [
      [own, b, 0.9],
      [sampled, a, 0.75],
    ],
    'each removed message once',
  );
  assert.deepEqual(all[1]?.removal, { message: a, replace: 0, remove: 0.75 });
  assert.ok(short.slice(2).every(([, , distance]) => distance === null));
  assert.ok(
    [alone, masked, typed].every((bucket) => short.every(([other]) => other !== bucket)),
    'they share the pool of the first',
  );
  assert.equal(writer.countRanked(RUN, 'distance'), all.length);
  assert.deepEqual(writer.rankedBuckets({ run: RUN, order: 'distance', offset: 1, limit: 3 }), all.slice(1, 4));
});

test('an older store comes out with the same measures as one that was measured while it was written', (t) => {
  const { writer, path } = store(t);
  fill(writer);
  const plan = writer.bucketsOfRun({ run: RUN, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0;
  addRemoval(writer, plan, { kept: [1, 0, 1], gone: [0], others: [1], credit: 0.5 });
  const db = new (loadSqlite())(path);
  t.after(() => db.close());
  // Sums in another order differ in the last digits.
  const measures = (): unknown =>
    db.prepare('SELECT bucket, run, returns, round(variance, 9) AS variance FROM bucket_measure ORDER BY bucket').all();
  const before = measures();
  db.exec(`DROP TRIGGER bucket_measured; DROP TRIGGER episode_measured; DROP TRIGGER replay_measured;
    DROP TABLE bucket_measure; DROP INDEX decision_typed`);
  db.exec(BUCKET_MEASURES);
  assert.deepEqual(measures(), before);
});
