import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatMapPage, type MapReport, drawMapPicture } from '../../../src/bench/experiments/map/mapPage.ts';
import {
  computeGain,
  makeMapCells,
  fitMapTrends,
  type MapMethod,
  type MapPilot,
  type MapRun,
} from '../../../src/bench/experiments/map/mapTable.ts';
import { studentInterval } from '../../../src/credit/interval.ts';

const pilot = (level: number, roles: number, rho: number): MapPilot => ({
  level,
  roles,
  learns: true,
  rho: { value: rho, low: 0.9 * rho, high: 1.1 * rho, n: 128 },
  ratios: [4, 0.5, null],
});
/** A run that starts with half of it right and gains a share of the rest. */
const run = (level: number, roles: number, method: MapMethod, seed: number, gain: number): MapRun => ({
  level,
  roles,
  learns: true,
  method,
  seed,
  rate: 3e-3,
  before: 0.5,
  after: 0.5 + 0.5 * gain,
  evaluatorCalls: 3200,
  tokens: 1e5,
  seconds: 9,
});
const pair = (level: number, roles: number, seed: number, c3: number, magrpo: number): MapRun[] => [
  run(level, roles, 'c3', seed, c3),
  run(level, roles, 'magrpo', seed, magrpo),
];
const near = (actual: number | undefined | null, expected: number): void =>
  assert.ok(Math.abs((actual ?? NaN) - expected) < 1e-9, `${String(actual)} is not ${expected}`);

const PILOTS = [pilot(1, 2, 0.25), pilot(2, 2, 1), pilot(3, 2, 4)];
/** By seed and level: C3 loses, is level, wins. */
const RUNS = [0, 1, 2].flatMap((seed) => [
  ...pair(1, 2, seed, 0.4 + 0.01 * seed, 0.6),
  ...pair(2, 2, seed, 0.5 + 0.1 * (seed - 1), 0.5),
  ...pair(3, 2, seed, 0.6 + 0.01 * seed, 0.3),
]);

describe('the map', () => {
  it('gives each place the shares of the possible gain, their difference by seed, and a verdict', () => {
    const cells = makeMapCells(PILOTS, RUNS);
    assert.deepEqual(
      cells.map(({ verdict }) => verdict),
      ['MAGRPO ahead', 'level', 'C3 ahead'],
    );
    near(cells[0]?.gain.c3?.value, 0.41);
    near(cells[0]?.gain.magrpo?.value, 0.6);
    const expected = studentInterval([-0.2, -0.19, -0.18]);
    near(cells[0]?.difference?.value, -0.19);
    near(cells[0]?.difference?.high, expected?.high ?? NaN);
    assert.equal(cells[0]?.difference?.n, 3);
  });

  it('pairs by seed: a seed that one method lacks counts for neither', () => {
    const [cell] = makeMapCells(PILOTS.slice(0, 1), [...RUNS, run(1, 2, 'c3', 7, 1)]);
    assert.equal(cell?.difference?.n, 3);
    assert.equal(makeMapCells([pilot(1, 2, 1)], [run(1, 2, 'c3', 0, 1)])[0]?.verdict, 'not measured');
  });

  it('takes the trend of each seed over log rho, then the interval over seeds', () => {
    const [trend] = fitMapTrends(PILOTS, RUNS);
    // log2 of 0.25, 1, 4 is -2, 0, 2: the slope is (last - first) / 4.
    const slopes = [0, 1, 2].map((seed) => (0.6 + 0.01 * seed - 0.3 - (0.4 + 0.01 * seed - 0.6)) / 4);
    near(trend?.slope?.value, (slopes[0] ?? 0) + 0);
    assert.equal(trend?.roles, 2);
    const spread = fitMapTrends(
      PILOTS,
      RUNS.map((one) =>
        one.method === 'c3' && one.level === 3 ? { ...one, after: one.after + 0.02 * one.seed } : one,
      ),
    )[0]?.slope;
    const expected = studentInterval([0, 1, 2].map((seed) => (slopes[seed] ?? 0) + (0.04 * seed) / 4));
    near(spread?.low, expected?.low ?? NaN);
    near(spread?.high, expected?.high ?? NaN);
  });

  it('has a trend of all team sizes together, of the seeds that all have', () => {
    const pilots = [...PILOTS, pilot(1, 4, 0.25), pilot(3, 4, 4)];
    const runs = [...RUNS, ...[0, 1].flatMap((seed) => [...pair(1, 4, seed, 0.5, 0.5), ...pair(3, 4, seed, 0.7, 0.3)])];
    const trends = fitMapTrends(pilots, runs);
    assert.deepEqual(
      trends.map(({ roles, slope }) => [roles, slope?.n]),
      [
        [2, 3],
        [4, 2],
        [null, 2],
      ],
    );
    near(trends[1]?.slope?.value, 0.1);
    near(trends[2]?.slope?.value, ((trends[0]?.slope?.value ?? 0) + 0.1) / 2);
  });

  it('has no gain where all was right before', () => {
    assert.equal(computeGain({ before: 1, after: 1 }), null);
    near(computeGain({ before: 0.5, after: 0.75 }), 0.5);
  });
});

describe('its page', () => {
  const report: MapReport = {
    command: 'c3 bench rho-map <script>',
    hardware: 'a processor',
    environment: 'Node',
    finishedAt: '2026-11-23T07:00:00.000Z',
    quick: false,
    settings: { steps: '25' },
    search: RUNS.slice(0, 2),
    pilots: [...PILOTS, pilot(6, 2, 1)],
    variances: [{ level: 2, roles: 2, learns: true, ratio: { value: 0.612, low: 0.55, high: 0.68, n: 512 } }],
    runs: RUNS,
  };

  it('shows where each method is ahead, the trend, and what is not measured', () => {
    const html = formatMapPage(report);
    assert.match(html, /<td class="behind"><strong>−19\.0<\/strong> MAGRPO ahead/u);
    assert.match(html, /<td class="ahead"><strong>\+31\.0<\/strong> C3 ahead/u);
    assert.match(html, /<td class="level"><strong>0\.0<\/strong> level/u);
    assert.match(html, /\+12\.5/u);
    assert.match(html, /The dealer can learn/u);
    assert.match(html, /<td>0\.500<\/td><td>0\.612<\/td><td>\[0\.550, 0\.680\]<\/td><td>512<\/td>/u);
    assert.match(html, /not measured/u);
    assert.match(html, /&lt;script&gt;/u);
    assert.doesNotMatch(html, /NaN|undefined|<script/u);
  });

  it('draws what is measured, and nothing where nothing is', () => {
    const drawn = drawMapPicture('map', 'The map', makeMapCells(PILOTS, RUNS)) ?? '';
    assert.equal([...drawn.matchAll(/class="mark"/gu)].length, 3);
    assert.equal([...drawn.matchAll(/class="bar"/gu)].length, 3);
    assert.doesNotMatch(drawn, /NaN/u);
    assert.equal(drawMapPicture('map', 'The map', makeMapCells(PILOTS, [])), null);
    assert.doesNotMatch(drawMapPicture('map', 'One', makeMapCells(PILOTS.slice(0, 1), RUNS)) ?? '', /NaN/u);
  });
});
