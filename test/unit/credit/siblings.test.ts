/** The interval of a single bucket's credit covers what it claims, because its siblings are draws of the policy. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creditGroup } from '../../../src/credit/estimators.ts';
import { creditPoolMembers } from '../../../src/credit/headline.ts';
import type { PoolMember } from '../../../src/shared/credit/creditPool.ts';

test('one bucket of 2 x 4 is no more decided by its record than by the headline of its message', () => {
  const returns = [
    [0, 0, 0, 0],
    [1, 1, 0, 1],
  ];
  const members = returns.map((values, key): PoolMember => ({
    key: String(key),
    drawn: true,
    results: values.map((value, stream) => ({ stream, source: null, value, evaluatorCalls: 1 })),
  }));
  const pool = { buckets: [{ id: 1, members }], terminal: false, range: { low: 0, high: 1 } };
  const headline = creditPoolMembers(pool).get('0');
  const [record] = creditGroup(
    { alternatives: returns.map((values) => ({ returns: values, evaluatorCalls: 4 })) },
    'loo',
  );
  assert.deepEqual([headline?.verdict, headline?.value, record?.value], ['undecided', -0.75, -0.75]);
  assert.ok((record?.high ?? -1) > 0, JSON.stringify(record));
});

test('many returns of few siblings stay as uncertain as the siblings', () => {
  const group = (replays: number): number => {
    const alternatives = [1, 1, 0, 1].map((value) => ({
      returns: Array.from({ length: replays }, () => value),
      evaluatorCalls: replays,
    }));
    const [credit] = creditGroup({ alternatives }, 'loo');
    return (credit?.high ?? NaN) - (credit?.low ?? NaN);
  };
  // The exact interval of 2 of 3 is from 0.094 to 0.992.
  assert.ok(group(1000) > 0.88 && group(1000) < 0.91, String(group(1000)));
});

test('returns beyond 0 and 1 widen the range that is reckoned with', () => {
  const widths = [1, 10].map((scale) => {
    const alternatives = [
      [0, 1],
      [1, 1],
      [0, 0],
    ].map((values) => ({ returns: values.map((value) => scale * value), evaluatorCalls: 2 }));
    const [credit] = creditGroup({ alternatives }, 'loo');
    return (credit?.high ?? NaN) - (credit?.low ?? NaN);
  });
  assert.ok((widths[1] ?? 0) > 9 * (widths[0] ?? 1), String(widths));
});
