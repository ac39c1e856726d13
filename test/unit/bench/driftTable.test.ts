import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatDriftPage } from '../../../src/bench/experiments/drift/driftPage.ts';
import {
  fitExponent,
  fitExponentOfMeans,
  averageSteps,
  shareOutOfRegion,
  type DriftRun,
} from '../../../src/bench/experiments/drift/driftTable.ts';
import { assertBalanced, textOf } from '../report/page.ts';

const run = (roles: number, seed: number, staleGap: number, share = 0): DriftRun => ({
  arm: 'naive',
  roles,
  seed,
  steps: [{ staleGap, outOfRegion: share }, { outOfRegion: 0 }],
  greedy: 0,
  sampled: 0,
  evaluatorCalls: 0,
  tokens: 0,
  seconds: 0,
});
const close = (a: number | null | undefined, b: number): void =>
  assert.ok(Math.abs((a ?? NaN) - b) < 1e-9, `${String(a)} is not ${b}`);

it('fits the exponent of each seed, and leaves out a seed that lacks a size or has a 0', () => {
  const runs = [2, 4, 8].flatMap((roles) => [run(roles, 0, 3 * roles ** 2), run(roles, 1, 0.1 * roles)]);
  const found = fitExponent([...runs, run(2, 2, 1), run(4, 2, 0), run(8, 2, 5)], 'naive', 'staleGap');
  close(found?.value, 1.5);
  assert.equal(found?.n, 2);
  close(
    fitExponentOfMeans(
      [2, 4].map((roles) => run(roles, 0, roles ** 3)),
      'naive',
      'staleGap',
    ),
    3,
  );
  assert.deepEqual([fitExponent(runs, 'teamtr', 'staleGap'), fitExponentOfMeans(runs, 'c3', 'staleGap')], [null, null]);
});

it('scales the gap by the deviation of the credit, step by step', () => {
  const steps = [
    { staleGap: 0.06, creditVariance: 0.04 },
    { staleGap: 0, creditVariance: 0 },
    { staleGap: 0.5, creditVariance: null },
  ];
  close(averageSteps({ ...run(2, 0, 0), steps }, 'scaledGap'), 0.15);
  assert.equal(averageSteps(run(2, 0, 1), 'scaledGap'), null);
});

it('counts updates out of region by roles', () => {
  // Half of two roles and a quarter of four, in the first of two steps each.
  close(shareOutOfRegion([run(2, 0, 1, 0.5), run(4, 0, 1, 0.25)], 'naive'), 2 / 12);
  assert.equal(shareOutOfRegion([], 'naive'), null);
});

it('draws drift by team size with the exponents, and says what was not measured', () => {
  const runs = [2, 4, 8].flatMap((roles) => [run(roles, 0, roles / 100, 0.5), run(roles, 1, roles ** 2 / 100)]);
  const html = formatDriftPage({ command: 'c3 <b>', hardware: 'here', finishedAt: '2026-01-01T00:00:00Z', runs });
  assertBalanced(html);
  assert.ok(!html.includes('<b>'));
  const text = textOf(html);
  assert.match(text, /naive sequential\s*1\.50 \[\S+, \S+\]\s*\d\.\d\d\s*2: 0\.0300; 4: 0\.1000; 8: 0\.3600/u);
  assert.match(text, /Occupancy drift\s*not measured/u);
  assert.match(text, /Before they went back: naive sequential 12\.5 %\./u);
});
