import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../../extension/storeFixture.ts';

it('gives the credit that each message of a run shows, and its replays by verdict, as its buckets say one by one', (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  addRun(writer, 'other');
  const trees = [1, 2, 3].flatMap((number) =>
    addTree(writer, {
      iteration: number,
      problem: problem(number),
      returns: [
        [1, 0],
        [0, null],
      ],
    }),
  );
  addTree(writer, { run: 'other', iteration: 1, problem: problem(1), returns: [[1]] });
  const credit = { low: -0.5, high: 0.75, n: 4, evaluatorCalls: 4, interval: 'welch' };
  for (const [index, { plan, actors }] of trees.entries()) {
    const bucket = writer.message(plan).bucket ?? 0;
    // loo is shown before a newer word of another estimator; without it the newest is.
    if (index % 2 === 0) {
      writer.insertCredit(bucket, plan, { ...credit, estimator: 'loo', value: index / 8 });
    }
    writer.insertCredit(bucket, plan, { ...credit, estimator: 'magrpo', value: 5 });
    writer.insertCredit(bucket, plan, { ...credit, estimator: 'magrpo', value: 6, low: null, high: null });
    const request = addRequest(writer, actors[0] ?? 0, ['a', 'b'], [1, null]);
    writer.insertCredit(request.bucket, actors[0] ?? 0, { ...credit, estimator: 'loo', value: -index });
    const [first, second] = writer.replaysOfBucket(request.bucket);
    for (const result of ['different', 'identical'] as const) {
      writer.insertVerification({ replay: first?.id ?? 0, result, detail: '', environment: 1 });
    }
    if (index === 2) {
      writer.insertVerification({ replay: second?.id ?? 0, result: 'notComparable', detail: '', environment: 1 });
    }
  }
  const views = writer.bucketsOfRun({ run: RUN, offset: 0, limit: 100 });
  const expected = views.flatMap(({ id, origin, role, alternatives }) =>
    alternatives.flatMap(({ message, bucketCredit: shown }) =>
      shown === null
        ? []
        : [{ bucket: id, message, origin, role, value: shown.value, low: shown.low, high: shown.high }],
    ),
  );
  const key = ({ bucket, message }: { bucket: number; message: number }): number => 1000 * bucket + message;
  const found = writer.creditsOfRun(RUN, 0, 100);
  assert.equal(found.length, 12);
  assert.deepEqual(
    found.toSorted((a, b) => key(a) - key(b)),
    expected.toSorted((a, b) => key(a) - key(b)),
  );
  assert.deepEqual(
    found.map(({ bucket }) => bucket),
    found.map(({ bucket }) => bucket).toSorted((a, b) => b - a),
    'newest buckets first',
  );
  assert.deepEqual([...writer.creditsOfRun(RUN, 0, 5), ...writer.creditsOfRun(RUN, 5, 100)], found);
  assert.deepEqual(writer.verdictsOfRun(RUN), { identical: 6, different: 0, notComparable: 1, unverified: 5 });
  assert.deepEqual(
    [writer.creditsOfRun('other', 0, 9), writer.verdictsOfRun('none')],
    [[], { identical: 0, different: 0, notComparable: 0, unverified: 0 }],
  );
  assert.throws(() => writer.creditsOfRun(RUN, -1, 5), /offset/u);
});
