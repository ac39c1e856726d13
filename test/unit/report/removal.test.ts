import assert from 'node:assert/strict';
import { it } from 'node:test';
import { summarizeSpread } from '../../../src/domain/stepRows.ts';
import type { RemovalReport } from '../../../src/report/removal.ts';
import { removalSection, boxesPicture } from '../../../src/report/removalPage.ts';
import { assertBalanced, textOf } from './page.ts';

const REPORT: RemovalReport = {
  outcomes: [
    { joint: 1, solo: 0, role: 'thinker', credits: summarizeSpread([0, 1, 2]), shared: summarizeSpread([0.5]) },
    { joint: 0, solo: 1, role: '<b>', credits: null, shared: null },
  ],
  rollouts: 3,
  others: 1,
  contributions: [{ role: '<b>', points: [{ step: 1, mean: -0.25, deviation: 0.5 }] }],
  thinker: {
    team: { value: 0.6, low: 0.5, high: 0.7, n: 40 },
    without: { value: 0.4, low: 0.3, high: 0.5, n: 40 },
    difference: { value: 0.2, low: 0.1, high: 0.3, n: 40 },
    overhead: { rollouts: 160, tokens: 3000, soloTokens: 1000, seconds: 8 },
  },
};

it('the part of a run about removal has its numbers as text, and is not there for another method', () => {
  const html = removalSection(REPORT);
  assertBalanced(html);
  assert.ok(!html.includes('<b>'));
  const text = textOf(html);
  assert.match(text, /Of 3 rollouts, .* 1 with other returns than 0 and 1 are left out\./u);
  assert.match(text, /thinker \(1, 0\)\s*3\s*0\.000\s*\+0\.500\s*\+1\.000\s*\+1\.500\s*\+2\.000/u);
  assert.match(text, /not measured/u);
  assert.match(text, /with the thinker\s*0\.600\s*.*0\.500.*0\.700.*\s*40/u);
  assert.match(text, /The 160 solo rollouts took 1,000 of 4,000 sampled tokens \(25\.0 %\), .* 2\.0 of 8\.0 s/u);
  assert.match(text, /difference\s*\+0\.200\s*.*\+0\.100.*\+0\.300/u);
  assert.equal(removalSection(undefined), '');
  // A team that votes has no solo rollouts.
  assert.doesNotMatch(removalSection({ ...REPORT, outcomes: [], thinker: null }), /outcome/u);
});

it('contributions by pairing are drawn with their models, and not where there is one model', () => {
  const contribution = { value: -0.02, low: -0.05, high: 0.01, n: 3 };
  const pairings = {
    models: ['<b>', 'small'],
    steps: 4,
    runs: 6,
    contributions: [{ pairing: '1 1 2', role: 'voter3', model: 'small', contribution }],
  };
  const html = removalSection({ ...REPORT, pairings });
  assertBalanced(html);
  assert.ok(!html.includes('<b>'));
  const text = textOf(html);
  assert.match(text, /Models: 1 .b., 2 small; .* Of 6 runs .* after step 4/u);
  assert.match(text, /1 1 2\s*voter3\s*small\s*.0\.020\s*.*.0\.050.*\+0\.010.*\s*3/u);
  assert.doesNotMatch(removalSection(REPORT), /pairing/u);
});

it('boxes are drawn where values are, with the median in words', () => {
  const row = (values: readonly number[]) => ({ label: 'one', spread: summarizeSpread(values), place: 0 }) as const;
  assert.equal(boxesPicture('a', 'a', [row([])], 'x'), null);
  assert.equal(boxesPicture('a', 'a', [row([Number.NaN])], 'x'), null);
  const drawn = boxesPicture('a', 'a', [row([-1, 0, 3]), row([2])], 'x') ?? '';
  assert.match(drawn, /one: median 0\.00; one: median 2\.00\./u);
  assert.doesNotMatch(drawn, /NaN|Infinity/u);
});
