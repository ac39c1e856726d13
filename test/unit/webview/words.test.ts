import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Credit, Ledger, Step, StepMetrics } from '../../../src/shared/records.ts';
import { position } from '../../../webview/common/creditBar.ts';
import { bounds, count, creditText, decimal, duration, percent, percent1, percentBounds, points, returnText, signed } from '../../../webview/common/format.ts';
import { markOf } from '../../../webview/common/returnMark.ts';
import { callPoints, metricPoints } from '../../../webview/dashboard/points.ts';
import { shares } from '../../../webview/taxonomy/shares.ts';
import { commandOf, TREE_KEYS } from '../../../webview/transcript/keys.ts';
import { meanReturn, parseCount } from '../../../webview/transcript/replayWords.ts';

const MINUS = '\u2212';
const credit: Credit = { estimator: 'loo', value: -0.25, low: null, high: null, n: 4, evaluatorCalls: 8, interval: 'none' };

test('what was not measured says so and is never a number', () => {
  assert.equal(returnText(null), 'not measured');
  assert.equal(creditText(null), 'credit not measured');
  assert.equal(creditText(credit), `credit ${MINUS}0.25, interval not measured, n = 4`);
  assert.equal(bounds(0.1, null), null);
  assert.equal(meanReturn([]), null);
  assert.equal(meanReturn([null, null]), null);
});

test('a masked return is left out of a mean, and is marked apart from 0', () => {
  assert.equal(meanReturn([1, null, 0]), 0.5);
  assert.deepEqual(markOf(null, true), { icon: 'masked', tone: 'muted', label: 'masked' });
  assert.equal(markOf(0, false).icon, 'cross');
  assert.equal(markOf(1, false).icon, 'check');
  assert.equal(markOf(0.5, false).icon, null);
  assert.equal(markOf(null, false).label, 'not measured');
});

test('numbers are written with signs, separators and units', () => {
  assert.equal(signed(0.5), '+0.50');
  assert.equal(signed(-0.5), `${MINUS}0.50`);
  assert.equal(signed(0), '0.00');
  assert.equal(decimal(0.00012), '1.2e\u22124');
  assert.equal(decimal(0), '0.00');
  assert.equal(bounds(-0.4, 0.9), `[${MINUS}0.40, 0.90]`);
  assert.equal(count(1234567), '1,234,567');
  assert.equal(percent(0.034), '3.4 %');
  assert.equal(percent(0.5), '50 %');
  assert.equal(percent(0), '0 %');
  assert.equal(duration(3.21), '3.2 s');
  assert.equal(duration(59.7), '1 min 0 s');
  assert.equal(duration(75), '1 min 15 s');
  assert.equal(duration(119.7), '2 min 0 s');
  assert.equal(duration(7260), '2 h 1 min');
  assert.equal(percent1(0.624), '62.4 %');
  assert.equal(points(0.082), '+8.2 points');
  assert.equal(points(-0.02), `${MINUS}2.0 points`);
  assert.equal(percentBounds({ value: 0.01, low: -0.004, high: 0.66, n: 1500 }), `[${MINUS}0.4, 66.0], n = 1,500`);
  assert.equal(percentBounds({ value: 0.01, low: null, high: null, n: 9 }), 'interval not measured, n = 9');
});

test('a credit bar starts in the middle and ends at its edges', () => {
  assert.deepEqual([-1, -0.5, 0, 0.5, 1].map(position), [0, 25, 50, 75, 100]);
  assert.deepEqual([-1.7, 3].map(position), [0, 100]);
});

test('the fields of a replay take whole numbers in their range only', () => {
  assert.equal(parseCount('Alternatives', ' 4 ', 1, 64), 4);
  for (const wrong of ['', '0', '65', '1.5', '1e1', '-1', 'four', '0x10']) assert.equal(parseCount('Alternatives', wrong, 1, 64), 'Alternatives: a whole number from 1 to 64.');
});

test('every key has one command, and keys with Ctrl, Alt or Meta are left to the editor', () => {
  const plain = { ctrlKey: false, altKey: false, metaKey: false };
  const keys = TREE_KEYS.flatMap((binding) => binding.keys);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(commandOf({ key: 'ArrowDown', ...plain }), 'next');
  assert.equal(commandOf({ key: 'r', ...plain }), 'replay');
  assert.equal(commandOf({ key: 'v', ...plain }), 'verify');
  assert.equal(commandOf({ key: 'Enter', ...plain }), 'select');
  assert.equal(commandOf({ key: 'r', ...plain, ctrlKey: true }), undefined);
  assert.equal(commandOf({ key: 'Tab', ...plain }), undefined);
});

test('the shares of the classes add up to one, and to nothing where there is no case', () => {
  const some = shares([{ name: 'Misleading Plan', count: 1, cases: [] }, { name: 'Over-Coupling', count: 3, cases: [] }]);
  assert.deepEqual([...some], [['Misleading Plan', 0.25], ['Over-Coupling', 0.75]]);
  assert.equal(shares([{ name: 'Misleading Plan', count: 0, cases: [] }]).get('Misleading Plan'), 0);
});

test('a chart leaves out what a step did not measure, and a step costs what the ledger grew by', () => {
  const metrics: StepMetrics = { meanReturn: 0.5, loss: 0, kl: Number.NaN, clipFraction: 0, gradientNorm: 0, learningRate: 0, ratioDeviation: 0, creditVariance: 0, generateSeconds: 0, trainSeconds: 0 };
  const ledger = (evaluatorCalls: number): Ledger => ({ evaluatorCalls, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {}, seconds: 0 });
  const step = (iteration: number, calls: number, measured: StepMetrics | null = metrics): Step => ({ run: 'r', iteration, snapshot: 's', metrics: measured, ledger: ledger(calls), episodes: 0 });
  const steps = [step(1, 64), step(2, 128), step(4, 320), step(5, 320, null)];
  assert.deepEqual(metricPoints(steps, 'meanReturn'), [{ x: 1, y: 0.5 }, { x: 2, y: 0.5 }, { x: 4, y: 0.5 }]);
  assert.deepEqual(metricPoints(steps, 'kl'), []);
  assert.deepEqual(callPoints(steps), [{ x: 2, y: 64 }, { x: 4, y: 96 }]);
  assert.deepEqual(callPoints([step(1, 64)]), [], 'the evaluation stands in the ledger before the first step too');
});
