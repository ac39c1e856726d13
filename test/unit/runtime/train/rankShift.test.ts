/** Probabilities by rank: counted on a table by hand, put together over steps, and drawn. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { averageRankShifts, listShownRanks } from '../../../../src/domain/step.ts';
import { trustRegionSection } from '../../../../src/report/trustRegionPage.ts';
import type { ReportedStep } from '../../../../src/report/types.ts';
import { addRankSums, meanRanks, emptyRankSums, sumRanksOfRows } from '../../../../src/runtime/train/rankShift.ts';
import { trustFigures } from '../../../../webview/dashboard/trustFigures.ts';
import { textOf } from '../../report/page.ts';
import { row, view } from '../../webview/dashboardFixture.ts';

const logs = (...rows: readonly (readonly number[])[]): Float32Array =>
  Float32Array.from(rows.flat().map((value) => Math.log(value)));
const near = (found: readonly number[], expected: readonly number[]): void => {
  assert.equal(found.length, expected.length);
  found.forEach((value, index) =>
    assert.ok(Math.abs(value - (expected[index] ?? NaN)) < 1e-6, `${String(found)} is not ${String(expected)}`),
  );
};

const BEFORE = logs([0.05, 0.4, 0.1, 0.02, 0.2, 0.15, 0.08], [0.3, 0.3, 0.1, 0.1, 0.1, 0.06, 0.04]);
const AFTER = logs([0.01, 0.6, 0.05, 0.02, 0.2, 0.1, 0.02], [0.1, 0.5, 0.1, 0.1, 0.1, 0.02, 0.08]);

it('follows each token from its rank before, the lower number first, and the rest together', () => {
  const first = sumRanksOfRows(BEFORE, AFTER, 7, [0]);
  near([...first.before], [0.4, 0.2, 0.15, 0.1, 0.08, 0.07]);
  near([...first.after], [0.6, 0.2, 0.1, 0.05, 0.02, 0.03]);
  const second = sumRanksOfRows(BEFORE, AFTER, 7, [1]);
  near([...second.after], [0.1, 0.5, 0.1, 0.1, 0.1, 0.1]);
  const both = meanRanks(addRankSums(first, second));
  near(both.after, [0.35, 0.35, 0.1, 0.075, 0.06, 0.065]);
  near(meanRanks(sumRanksOfRows(BEFORE, AFTER, 7, [0, 1])).before, both.before);
  // A vocabulary of fewer tokens than ranks has no rest.
  near(meanRanks(sumRanksOfRows(logs([0.25, 0.75]), logs([0.5, 0.5]), 2, [0])).before, [0.75, 0.25, 0, 0, 0, 0]);
  near(meanRanks(emptyRankSums()).before, [0, 0, 0, 0, 0, 0]);
});

const shift = (before: number, after: number) => ({ before: [before, 1 - before], after: [after, 1 - after] });

it('counts each update the same over steps, in the region and out of it', () => {
  const steps = [
    { ...averageRankShifts('inside', [shift(0.5, 0.6), shift(0.7, 0.8)]), ...averageRankShifts('outside', []) },
    { ...averageRankShifts('inside', [shift(0.9, 0.7)]), ...averageRankShifts('outside', [shift(0.4, 0.9)]) },
    {},
  ];
  const [first] = listShownRanks(steps);
  assert.ok(first !== undefined);
  near([first.before, first.after, first.updates], [0.7, 0.7, 3]);
  const left = listShownRanks(steps).filter(({ region }) => region === 'outside');
  near(
    left.slice(0, 2).map(({ after, before }) => after - before),
    [0.5, -0.5],
  );
  assert.deepEqual(listShownRanks([{}]), []);
});

it('is drawn in a report and on the dashboard, updates out of the region apart', () => {
  const rows = [
    row(1, averageRankShifts('inside', [shift(0.5, 0.52)])),
    row(2, averageRankShifts('outside', [shift(0.5, 0.75)])),
  ];
  const steps = rows.map(({ iteration, metrics }) => ({ step: iteration, metrics }) as ReportedStep);
  const text = textOf(trustRegionSection({ delta: 0.01, replacement: null }, steps));
  assert.match(text, /out of it, rank 1\s*50\.000 %\s*75\.000 %\s*1/u);
  assert.doesNotMatch(text, /No update left/u);
  const plain = view([['a', rows]]);
  const figure = trustFigures(plain).find(({ id }) => id === 'rank-shifts');
  const [line] = figure?.lines(plain) ?? [];
  assert.deepEqual(
    line?.points.slice(0, 2).map(({ x }) => x),
    [1, 2],
  );
  const [outside] = line.points.slice(6);
  assert.deepEqual([outside?.x, outside?.y], [8, 0.25]);
  assert.deepEqual(line.front, [
    { x: 7, y: -0.25 },
    { x: 7, y: 0.25 },
    { x: 7, y: 0 },
  ]);
  assert.equal(figure?.latest(plain), 'rank 1: 2.000 points');
});
