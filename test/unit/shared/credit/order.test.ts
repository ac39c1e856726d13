import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Verdict } from '../../../../src/shared/credit/headline.ts';
import {
  compareClearness,
  findClearest,
  measureClearness,
  compareLowness,
  mayBeLowest,
  standardizeCredit,
  type Ordered,
} from '../../../../src/shared/credit/order.ts';
import { randomCredits } from '../../../support/headlines.ts';

const credit = (value: number, low: number | null, high: number | null, verdict?: Verdict): Ordered => ({
  value,
  low,
  high,
  verdict: verdict ?? (low !== null && low > 0 ? 'helped' : high !== null && high < 0 ? 'hurt' : 'undecided'),
});
const listed = (credits: readonly Ordered[]): { readonly id: number; readonly credit: Ordered }[] =>
  credits.map((one, id) => ({ id, credit: one }));
const valuesOf = (rows: readonly { readonly credit: Ordered }[]): number[] => rows.map((row) => row.credit.value);

test('a large credit stands above one near 0 whose wide interval happens to have a bound as near', () => {
  const shown = listed([
    credit(0.03, -1.5, 1.51),
    credit(0, -0.01, 0.01),
    credit(1.19, -0.02, 2.4),
    credit(1, -1.6, 2),
  ]);
  assert.deepEqual(valuesOf(shown.toSorted(compareClearness)), [1.19, 1, 0.03, 0]);
});

test('what is decided comes before all that is not, and nothing to say comes last', () => {
  const shown = listed([
    credit(0, null, null, 'alone'),
    credit(0.9, -0.001, 0.95),
    credit(-0.2, null, null),
    credit(0.1, 0.001, 1),
    credit(-0.5, -0.6, -0.4),
  ]);
  assert.deepEqual(valuesOf(shown.toSorted(compareClearness)), [-0.5, 0.1, 0.9, 0, -0.2]);
  assert.deepEqual(
    shown.map((one) => measureClearness(one.credit) === null),
    [true, false, true, false, false],
  );
  assert.equal(findClearest(shown)?.id, 4);
  assert.equal(findClearest(listed([credit(0, null, null, 'alone')])), null);
});

test('the lowest credit is the one that lies most below 0 for its uncertainty, not the one of the lowest upper bound', () => {
  const shown = listed([
    credit(0, -0.01, 0.01),
    credit(-0.9, -1.5, 0.2),
    credit(-0.6, null, null),
    credit(0.2, -0.4, 0.5),
    credit(-0.1, -0.3, -0.01),
  ]);
  assert.deepEqual(valuesOf(shown.toSorted(compareLowness)), [-0.1, -0.9, -0.6, 0, 0.2]);
  assert.deepEqual([credit(0.5, 0.1, 0.9), credit(0, null, null, 'alone'), null, credit(0, -1, 1)].map(mayBeLowest), [
    false,
    false,
    false,
    true,
  ]);
});

test('an interval without width has an order as well', () => {
  assert.equal(standardizeCredit(credit(0, 0, 0)), 0);
  assert.ok(Number.isFinite(standardizeCredit(credit(0.5, 0.5, 0.5))));
  assert.equal(measureClearness(credit(0, 0, 0)), -1);
});

test('both orders are total and do not depend on the order in which messages are given', () => {
  const rows = listed(randomCredits(400, 7));
  for (const [order, some] of [
    [compareClearness, rows],
    [compareLowness, rows.filter((row) => mayBeLowest(row.credit))],
  ] as const) {
    const sorted = some.toSorted(order);
    assert.deepEqual(some.toReversed().toSorted(order), sorted);
    sorted.forEach((row, index) => {
      const next = sorted[index + 1];
      assert.ok(next === undefined || order(row, next) < 0, `${index} comes before its next`);
    });
    const decided = sorted.map((row) => row.credit.verdict === 'helped' || row.credit.verdict === 'hurt');
    assert.equal(decided.indexOf(false), decided.filter(Boolean).length, 'decided ones are first');
  }
});
