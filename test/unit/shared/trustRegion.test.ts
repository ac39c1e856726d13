import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readReplacement, describeSwapShock, type Replacement } from '../../../src/domain/run.ts';
import {
  listComparedSteps,
  buildKlHistogram,
  readRegionFacts,
  measureStability,
  listTurnKls,
} from '../../../src/domain/stepRows.ts';
import { trustRegionSection } from '../../../src/report/trustRegionPage.ts';
import type { ReportedStep } from '../../../src/report/types.ts';
import { trustFigures } from '../../../webview/dashboard/trustFigures.ts';
import { assertBalanced, textOf } from '../report/page.ts';
import { row, view } from '../webview/dashboardFixture.ts';

const share = (value: number) => ({ value, low: value - 0.1, high: value + 0.1, n: 50 });
const REPLACEMENT: Replacement = {
  run: 'teamtr-0-ab',
  role: 'second',
  by: '<b>another</b>',
  probes: 9,
  kls: [0.5, 0.02, 0.004],
  delta: 0.01,
  shock: {
    evaluatorCalls: 150,
    before: share(0.5),
    direct: share(0.2),
    aligned: share(0.45),
    directChange: { value: -0.3, low: -0.4, high: -0.2, n: 50 },
    alignedChange: { value: -0.05, low: null, high: null, n: 50 },
  },
};
const rowOf = (config: object, replacement?: unknown): string => JSON.stringify({ config, replacement });

it('bins turns up to the radius and beyond it', () => {
  const bins = buildKlHistogram([-0.001, 0, 0.001, 0.0011, 0.01, 0.0101, 5], 0.01);
  assert.deepEqual(
    bins.map(({ count }) => count),
    [3, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1],
  );
  // The radius is a border; the last bin reaches to the largest.
  assert.ok(Math.abs((bins[9]?.high ?? NaN) - 0.01) < 1e-12);
  assert.equal(bins.at(-1)?.high, 5);
  assert.equal(buildKlHistogram([0.005], 0.01).length, 11);
  assert.deepEqual(buildKlHistogram([], 0.01), []);
});

it('takes turns, certificates and the radius from what a run stored', () => {
  const { metrics } = row(1, { trustRegionKl: 0.009, klTurn1: 0.002, klTurn2: 0.009 });
  assert.deepEqual(listTurnKls(metrics), [0.002, 0.009]);
  assert.deepEqual(listTurnKls(row(1, { trustRegionKl: 0.009 }).metrics), [0.009]);
  assert.deepEqual(listTurnKls(row(1).metrics), []);
  const steps = [
    { step: 1, metrics: row(1, { comparedCertificate: -3, measuredImprovement: 0.1, vacuousCertificate: 1 }).metrics },
    { step: 2, metrics: row(2, { certificate: -3 }).metrics },
  ];
  assert.deepEqual(listComparedSteps(steps), [{ step: 1, certificate: -3, measured: 0.1, vacuous: true }]);
  assert.equal(readRegionFacts(rowOf({ method: 'teamtr' })).delta, 0.01);
  assert.equal(readRegionFacts(rowOf({ method: 'teamtr', teamtr: { delta: 0.5 } })).delta, 0.5);
  for (const other of ['', '[]', 'null', rowOf({ method: 'c3', teamtr: { delta: 0.5 } })]) {
    assert.deepEqual(readRegionFacts(other), { delta: null, replacement: null });
  }
});

it('reads a replacement only where it is whole, and says what the swap cost', () => {
  assert.deepEqual(readReplacement(rowOf({}, REPLACEMENT)), REPLACEMENT);
  for (const broken of [
    { ...REPLACEMENT, probes: -1 },
    { ...REPLACEMENT, kls: ['x'] },
    { ...REPLACEMENT, more: 1 },
    3,
  ]) {
    assert.equal(readReplacement(rowOf({}, broken)), null);
  }
  assert.equal(
    describeSwapShock(REPLACEMENT.shock ?? assert.fail()),
    'Swap shock, greedy on 50 held-out questions: 50.0 % [40.0, 60.0] before the swap, 20.0 % [10.0, 30.0] (-30.0 points [-40.0, -20.0]) after a direct swap, 45.0 % [35.0, 55.0] (-5.0 points) after stage 0.',
  );
});

it('says how stable the gains of training are', () => {
  // Gains 0.1, 0.3 and -0.1: their mean is 0.1.
  const found = measureStability([0, 0.1, 0.4, 0.3]) ?? assert.fail();
  assert.ok(Math.abs(found - 0.2) < 1e-12, String(found));
  assert.equal(measureStability([0, 0.5, 1]), 0);
  assert.deepEqual(
    [measureStability([0, 1]), measureStability([0, null, 1, 2]), measureStability([])],
    [null, null, null],
  );
});

const STEPS = [
  row(1, { klTurn1: 0.004, staleGap: 0.25, certificate: -1, comparedCertificate: -1, measuredImprovement: 0.1 }),
  row(2, {
    klTurn1: 0.02,
    outOfRegion: 0.5,
    certificate: 0.5,
    vacuousCertificate: 1,
    comparedCertificate: 0.5,
    measuredImprovement: 0.2,
  }),
];

it('shows them in a report, with violations and vacuous certificates as such', () => {
  const steps = STEPS.map(({ iteration, metrics }) => ({ step: iteration, metrics }) as ReportedStep);
  const html = trustRegionSection({ delta: 0.01, replacement: REPLACEMENT }, steps);
  assertBalanced(html);
  assert.ok(!html.includes('<b>another'));
  const text = textOf(html);
  assert.match(
    text,
    /1 of 2 certificates are above what was measured; rank correlation 1\.00; 1 of 2 steps have a vacuous/u,
  );
  assert.match(text, /step certificate measured 1 \u22121\.0000 0\.1000 2 0\.5000 0\.2000 vacuous/u);
  const unmeasured = row(3, { certificate: 0.5, vacuousCertificate: 1 });
  const none = trustRegionSection({ delta: 0.01, replacement: null }, [
    { step: 3, metrics: unmeasured.metrics } as ReportedStep,
  ]);
  assert.doesNotMatch(textOf(none), /step certificate measured/u, 'nothing to compare is no table');
  assert.match(text, /beyond: 0\.0140 to 0\.0200/u);
  assert.match(text, /after stage 0, which brought the KL from 0\.5000 .* to 0\.0040 .* in 2 steps/u);
  assert.match(text, /Swap shock, greedy on 50 held-out questions: 50\.0 %/u);
  assert.equal(trustRegionSection(undefined, steps), '');
  assert.equal(trustRegionSection({ delta: 0.01, replacement: null }, []), '');
});

it('draws them on the dashboard where a run has them, the radius as an upright line', () => {
  const plain = view([['a', STEPS]]);
  const [first] = plain.runs;
  assert.ok(first !== undefined);
  const shown = { ...plain, runs: [{ ...first, region: { delta: 0.01, replacement: REPLACEMENT } }] };
  const [histogram, certificates, swap] = trustFigures(shown);
  assert.deepEqual(histogram?.lines(shown)[0]?.front, [
    { x: 10, y: 1 },
    { x: 10, y: 0 },
  ]);
  // Each bin at its middle; the turn of two radii is in the 15th, as the note says.
  assert.deepEqual(
    histogram.lines(shown)[0]?.points.map(({ x }) => x),
    Array.from({ length: 15 }, (_, place) => place + 0.5),
  );
  assert.equal(histogram.latest(shown), '2 turns');
  // A vacuous certificate is drawn quietly.
  assert.deepEqual(
    certificates?.lines(shown)[0]?.points.map(({ x, y, look }) => [x, y, look]),
    [
      [10, -1, undefined],
      [20, 0.5, -1],
    ],
  );
  assert.equal(certificates.latest(shown), '1 of 2 above');
  assert.deepEqual(
    swap?.lines(shown)[0]?.points.map(({ x, y, low }) => [x, y, low]),
    [
      [1, 0.5, 0.4],
      [2, 0.2, 0.1],
      [3, 0.45, 0.35],
    ],
  );
  assert.deepEqual(
    trustFigures(plain).map(({ id }) => id),
    ['certificates'],
  );
  assert.deepEqual(trustFigures(view([['a', [row(1)]]])), []);
});
