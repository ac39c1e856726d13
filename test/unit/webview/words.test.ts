import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeLeftOut,
  describeUnmeasured,
  PRECEDENCE,
  TAXONOMY_THRESHOLDS,
  VERDICTS,
} from '../../../src/domain/taxonomy.ts';
import type { Credit } from '../../../src/shared/credit/credit.ts';
import { toBarPercent } from '../../../webview/common/creditBar.ts';
import {
  bounds,
  count,
  describeShownCredit,
  decimal,
  duration,
  keepUnits,
  percent,
  formatPercent1,
  formatPercentBounds,
  points,
  formatReturnValue,
  signed,
} from '../../../webview/common/format.ts';
import { chooseReturnMark } from '../../../webview/common/returnMark.ts';
import {
  describeLabelAgreement,
  formatCountChange,
  formatClassRank,
  describeClassRule,
  formatBucketShare,
  describeThresholds,
} from '../../../webview/taxonomy/words.ts';
import { findTreeCommand, TREE_KEYS } from '../../../webview/transcript/keys.ts';
import { computeScoredMean, parseCount } from '../../../webview/transcript/replay/replayWords.ts';

const MINUS = '\u2212';
const credit: Credit = {
  estimator: 'loo',
  value: -0.25,
  low: null,
  high: null,
  n: 4,
  evaluatorCalls: 8,
  interval: 'none',
};

test('what was not measured says so and is never a number', () => {
  assert.equal(formatReturnValue(null), 'not measured');
  assert.equal(describeShownCredit(null), 'credit not measured');
  assert.equal(describeShownCredit(credit), `credit ${MINUS}0.25, interval not measured, n = 4`);
  assert.equal(bounds(0.1, null), null);
  assert.equal(computeScoredMean([]), null);
  assert.equal(computeScoredMean([null, null]), null);
});

test('a masked return is left out of a mean, and is marked apart from 0', () => {
  assert.equal(computeScoredMean([1, null, 0]), 0.5);
  assert.deepEqual(chooseReturnMark(null, 'masked'), { icon: 'masked', tone: 'muted', label: 'masked' });
  assert.equal(chooseReturnMark(0, 'failed').icon, 'cross');
  assert.equal(chooseReturnMark(1.9, 'won').icon, 'check');
  assert.equal(chooseReturnMark(1.09, 'between').icon, null);
  assert.equal(chooseReturnMark(null, null).label, 'not measured');
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
  assert.equal(keepUnits('58 % [49, 66] in 40 s, 2 steps'), '58\u00a0% [49, 66] in 40\u00a0s, 2 steps');
  assert.equal(duration(59.7), '1 min 0 s');
  assert.equal(duration(75), '1 min 15 s');
  assert.equal(duration(119.7), '2 min 0 s');
  assert.equal(duration(7260), '2 h 1 min');
  assert.equal(formatPercent1(0.624), '62.4 %');
  assert.equal(points(0.082), '+8.2 points');
  assert.equal(points(-0.02), `${MINUS}2.0 points`);
  assert.equal(
    formatPercentBounds({ value: 0.01, low: -0.004, high: 0.66, n: 1500 }),
    `[${MINUS}0.4, 66.0], n = 1,500`,
  );
  assert.equal(formatPercentBounds({ value: 0.01, low: null, high: null, n: 9 }), 'interval not measured, n = 9');
});

test('a credit bar starts in the middle and ends at its edges', () => {
  assert.deepEqual([-1, -0.5, 0, 0.5, 1].map(toBarPercent), [0, 25, 50, 75, 100]);
  assert.deepEqual([-1.7, 3].map(toBarPercent), [0, 100]);
});

test('the fields of a replay take whole numbers in their range only', () => {
  assert.equal(parseCount('Alternatives', ' 4 ', 1, 64), 4);
  for (const wrong of ['', '0', '65', '1.5', '1e1', '-1', 'four', '0x10']) {
    assert.equal(parseCount('Alternatives', wrong, 1, 64), 'Alternatives: a whole number from 1 to 64.');
  }
});

test('every key has one command, and keys with Ctrl, Alt or Meta are left to the editor', () => {
  const plain = { ctrlKey: false, altKey: false, metaKey: false };
  const keys = TREE_KEYS.flatMap((binding) => binding.keys);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(findTreeCommand({ key: 'ArrowDown', ...plain }), 'next');
  assert.equal(findTreeCommand({ key: 'r', ...plain }), 'replay');
  assert.equal(findTreeCommand({ key: 'v', ...plain }), 'verify');
  assert.equal(findTreeCommand({ key: 'Enter', ...plain }), 'select');
  assert.equal(findTreeCommand({ key: 'r', ...plain, ctrlKey: true }), undefined);
  assert.equal(findTreeCommand({ key: 'Tab', ...plain }), undefined);
});

test('counts of classes say by which thresholds they were made, and shares are of all buckets', () => {
  assert.equal(
    describeThresholds(TAXONOMY_THRESHOLDS),
    "Counted with the paper's thresholds: misleading < 0.5, ambiguity < 0.01, shift > 0.2, level 0.05",
  );
  assert.equal(
    describeThresholds({ ...TAXONOMY_THRESHOLDS, shift: 0.3 }),
    "Counted with misleading < 0.5, ambiguity < 0.01, shift > 0.3, level 0.05. Arrows start at the paper's counts (misleading < 0.5, ambiguity < 0.01, shift > 0.2, level 0.05)",
  );
  assert.deepEqual([formatCountChange(4, 4), formatCountChange(4, 1200)], ['4', '4 \u2192 1,200']);
  assert.deepEqual([formatBucketShare(1, 8), formatBucketShare(0, 0)], ['12.5 %', '\u2013']);
  assert.deepEqual(
    VERDICTS.map((name) => formatClassRank(name)),
    ['1', '2', '3', '4', '', ''],
  );
  assert.equal(
    describeClassRule('Successful Credit Shift', { ...TAXONOMY_THRESHOLDS, shift: 0.35 }),
    'best \u2212 real mean return > 0.35, the best chosen on other replays',
  );
});

test('what is left out of the cases is counted by its reason', () => {
  assert.equal(describeLeftOut({ requested: 0, otherDistribution: 0 }), null);
  assert.equal(
    describeLeftOut({ requested: 1, otherDistribution: 0 }),
    'Not counted: 1 requested replay, which is not a case of this run.',
  );
  assert.equal(
    describeLeftOut({ requested: 3, otherDistribution: 2 }),
    'Not counted: 3 requested replays and 2 buckets of another continuation distribution, which are not cases of this run.',
  );
});

test('what no bucket can decide is said, with what would measure it', () => {
  assert.equal(describeUnmeasured({ alone: 0, classes: [] }), null);
  assert.equal(
    describeUnmeasured({ alone: 1, classes: ['Over-Coupling'] }),
    '1 bucket has fewer than two messages with a return, so that nothing is compared there. ' +
      'Over-Coupling is not measured: it needs several replays of each message; c3 diagnose --sample adds them.',
  );
  assert.match(
    describeUnmeasured({ alone: 0, classes: ['Successful Credit Shift', 'Over-Coupling'] }) ?? '',
    /^Successful Credit Shift and Over-Coupling are not measured: they need several replays/u,
  );
  assert.match(describeUnmeasured({ alone: 2, classes: PRECEDENCE }) ?? '', /^2 buckets have .* there\.$/u);
});

test('agreement comes with its interval and n, and says why it is not measured', () => {
  const measured = {
    n: 20,
    agreed: 15,
    kappa: { value: 0.612, low: 0.301, high: 0.923, n: 20 },
    standardError: 0.16,
    reason: null,
    ownWords: 0,
  };
  assert.equal(describeLabelAgreement(measured), "Cohen's kappa 0.61, 95 % interval [0.30, 0.92], n = 20; 15 agree.");
  assert.equal(
    describeLabelAgreement({ ...measured, ownWords: 1 }),
    "Cohen's kappa 0.61, 95 % interval [0.30, 0.92], n = 20; 15 agree. 1 labeled in your own words is left out.",
  );
  assert.equal(
    describeLabelAgreement({
      ...measured,
      kappa: { value: 1, low: null, high: null, n: 2 },
      n: 2,
      agreed: 1,
      reason: 'at least 20 labels are needed for an interval',
    }),
    "Cohen's kappa 1.00, n = 2; 1 agrees. At least 20 labels are needed for an interval.",
  );
  const none = { n: 1, agreed: 1, kappa: null, standardError: null, reason: 'fewer than two cases', ownWords: 2 };
  assert.equal(
    describeLabelAgreement(none),
    'Agreement with your labels is not measured: label two cases with a class or as unclassified (1 so far). 2 labeled in your own words are left out.',
  );
  assert.match(
    describeLabelAgreement({ ...none, n: 3, agreed: 3, reason: 'both give every case the same class' }),
    /not measured: both give every case the same class\./,
  );
});
