import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  creditRemoval,
  compareEstimators,
  type ComparedAlternative,
  type ComparedBucket,
} from '../../../src/credit/sideBySide.ts';
import { headline } from '../../support/headlines.ts';

const MESSAGE = 1;
const said = (
  one: number,
  returns: readonly (number | null)[],
  changes: Partial<ComparedAlternative> = {},
): ComparedAlternative => ({
  message: one,
  text: `text ${one}`,
  finish: 'end',
  returns,
  evaluatorCalls: returns.length,
  credit: null,
  ...changes,
});
const EMPTIED = { text: ' \n', finish: 'typed' } as const;
const bucket = (id: number, ...alternatives: ComparedAlternative[]): ComparedBucket => ({ id, alternatives });
const CREDIT = headline(0.75, { low: 0.25, high: 1, n: 6, evaluatorCalls: 6 });

test('replace is the headline; the full mean is it times the share of the others; remove is pooled over buckets, stream by stream', () => {
  const first = bucket(7, said(MESSAGE, [1, 1]), said(2, [0, 0]), said(3, [0, 1]), said(4, [0, 0], EMPTIED));
  const found = compareEstimators(MESSAGE, CREDIT, [first]);
  assert.deepEqual(
    found.map(({ name, bucket: from, reason }) => [name, from, reason]),
    [
      ['replace', 7, null],
      ['remove', 7, null],
      ['fullMean', 7, null],
    ],
  );
  const [replace, remove, fullMean] = found.map(({ credit }) => credit);
  assert.equal(replace, CREDIT);
  // Own 2 of 6 returns: the others' share is 4 of 6.
  assert.ok(
    fullMean !== undefined &&
      fullMean !== null &&
      [
        [fullMean.value, 0.5],
        [fullMean.low, 1 / 6],
        [fullMean.high, 4 / 6],
      ].every(([value, expected]) => Math.abs((value ?? NaN) - (expected ?? NaN)) < 1e-12),
  );
  assert.deepEqual([remove?.value, remove?.n, remove?.evaluatorCalls, remove?.interval], [1, 4, 4, 'betting']);
  // Two more streams in another bucket, of which one is masked: three pairs of difference 1, 1 and 0.
  const second = bucket(8, said(MESSAGE, [1, 1]), said(5, [1, null], EMPTIED));
  const pooled = compareEstimators(MESSAGE, CREDIT, [first, second])[1];
  assert.deepEqual(
    [pooled?.bucket, pooled?.credit?.value, pooled?.credit?.n, pooled?.credit?.evaluatorCalls],
    [8, 2 / 3, 6, 8],
  );
});

test('removing is decided where the streams are many and all lost, and has no interval where returns lie outside the known range', () => {
  const pair = (kept: number, gone: number, streams: number) => ({
    kept: said(
      1,
      Array.from({ length: streams }, () => kept),
    ),
    emptied: said(
      2,
      Array.from({ length: streams }, () => gone),
    ),
  });
  const few = creditRemoval([pair(1, 0, 2)]);
  const many = creditRemoval([pair(1, 0, 12)]);
  assert.ok(
    few?.low !== null &&
      few !== null &&
      few.low < 0 &&
      many?.low !== null &&
      many !== null &&
      many.low > 0 &&
      many.high === 1,
  );
  assert.deepEqual(creditRemoval([pair(3, 0, 12)]), {
    estimator: 'remove',
    value: 3,
    n: 24,
    evaluatorCalls: 24,
    low: null,
    high: null,
    interval: 'none',
  });
  // Two scored messages follow: returns differ by up to 2, and the same evidence says less.
  const twice = creditRemoval(
    [pair(1, 0, 12)].map(({ kept, emptied }) => ({ kept: { ...kept, evaluatorCalls: 24 }, emptied })),
  );
  assert.ok(twice?.low !== null && twice !== null && twice.low < many.low && twice.high !== null && twice.high > 1);
  assert.equal(creditRemoval([]), null);
});

test('what was not measured says so, and why', () => {
  const reasons = (...buckets: ComparedBucket[]): (string | null)[] =>
    compareEstimators(MESSAGE, null, buckets).map(({ reason }) => reason);
  const [replace, remove, fullMean] = reasons();
  assert.match(replace ?? '', /no other message was sampled/);
  assert.match(remove ?? '', /not replayed with nothing/);
  assert.equal(fullMean, replace);
  assert.deepEqual(reasons(bucket(1, said(MESSAGE, [null]), said(2, [1]), said(3, [1], EMPTIED))), [
    replace,
    remove,
    fullMean,
  ]);
  assert.deepEqual(
    compareEstimators(MESSAGE, headline(0, { verdict: 'alone' }), [bucket(1, said(MESSAGE, [1]))]).map(
      ({ reason }) => reason,
    ),
    [replace, remove, fullMean],
    'one that stands alone has nothing to compare with',
  );
  const [, gone] = compareEstimators(MESSAGE, null, [
    bucket(1, said(MESSAGE, [1], { text: '' }), said(2, [0], EMPTIED)),
  ]);
  assert.match(gone?.reason ?? '', /empty already/);
  assert.equal(gone?.measurable, false);
  assert.deepEqual(
    compareEstimators(MESSAGE, null, []).map(({ measurable }) => measurable),
    [true, true, true],
  );
});
