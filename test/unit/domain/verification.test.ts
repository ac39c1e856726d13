import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeChangedRow,
  summarizeVerdicts,
  describeProbabilityDifference,
  describeReport,
  describeReturnDifference,
  describeTokenDifference,
  type Difference,
  type Verdict,
  type VerificationReport,
} from '../../../src/domain/verification.ts';

const same: Verdict = { result: 'identical', detail: '', difference: null };
const open: Verdict = { result: null, detail: '', difference: null };
const apart: Verdict = {
  result: 'notComparable',
  detail: 'other numeric environment: threads 1, now 2',
  difference: null,
};
const differs = (detail: string, difference: Difference | null = null): Verdict => ({
  result: 'different',
  detail,
  difference,
});

test('the mark of a message is the worst that its replays showed, and no mark without a replay', () => {
  const words = (...verdicts: readonly Verdict[]): readonly (string | undefined)[] => {
    const mark = summarizeVerdicts(verdicts);
    return [mark?.state, mark?.label, mark?.detail];
  };
  assert.equal(summarizeVerdicts([]), null);
  assert.deepEqual(words(same), ['identical', 'identical', 're-execution gave the same bytes']);
  assert.deepEqual(words(same, same), ['identical', 'identical', 're-execution gave the same bytes (2 of 2 replays)']);
  assert.deepEqual(words(same, open, open), ['unverified', 'not verified yet', 'not re-executed yet (2 of 3 replays)']);
  assert.deepEqual(words(same, open, apart), ['notComparable', 'not comparable', `${apart.detail} (1 of 3 replays)`]);
  const difference = describeTokenDifference(12, 5);
  assert.deepEqual(words(apart, same, differs(difference), open), [
    'different',
    'differs at token 5',
    'message 12 differs at token 5 (1 of 4 replays)',
  ]);
});

test('a difference is named by what is kept of it, whatever its sentence says', () => {
  const label = (difference: Difference): string | undefined =>
    summarizeVerdicts([differs('message 3 differs at token 1', difference)])?.label;
  assert.equal(label({ kind: 'token', token: 7 }), 'differs at token 7');
  assert.equal(label({ kind: 'return' }), 'return differs');
  assert.equal(label({ kind: 'row' }), 'row changed');
  assert.equal(label({ kind: 'event' }), 'event differs');
});

test('a difference that an earlier version found is named by its sentence', () => {
  const label = (detail: string): string | undefined => summarizeVerdicts([differs(detail)])?.label;
  assert.equal(label(describeTokenDifference(3, 0)), 'differs at token 0');
  assert.equal(label(describeProbabilityDifference(3, 17)), 'differs at token 17');
  assert.equal(
    label(
      `${describeTokenDifference(3, 4)}; ${describeChangedRow('the stored tokens of message 3 do not match their hash')}`,
    ),
    'differs at token 4',
  );
  assert.equal(label(describeReturnDifference(1, 0)), 'return differs');
  assert.equal(label(describeReturnDifference(null, 0.5)), 'return differs');
  assert.equal(label(describeChangedRow('the stored context of message 3 does not match its key')), 'row changed');
  assert.equal(label('the weights differ, says a later version'), 'different');
  assert.equal(
    label(describeChangedRow('the stored text of message 3, which differs at token 9 of another,')),
    'row changed',
  );
  assert.equal(
    describeReturnDifference(null, 0.5),
    'return differs: masked is stored, the evaluator says 0.5 of the stored messages',
  );
});

test('a report says its counts, its first difference and why something could not be compared', () => {
  const report: VerificationReport = {
    checked: 1,
    identical: 1,
    different: 0,
    notComparable: 0,
    firstDifference: null,
    firstReason: null,
  };
  assert.equal(
    describeReport('run-1', report),
    '1 replay of run-1 re-executed: 1 identical, 0 different, 0 not comparable',
  );
  const other = {
    ...report,
    checked: 4,
    different: 1,
    notComparable: 2,
    firstDifference: { replay: 9, message: 3, token: 5, detail: describeTokenDifference(3, 5) },
    firstReason: 'the weights are gone',
  };
  assert.equal(
    describeReport('this message', other),
    '4 replays of this message re-executed: 1 identical, 1 different, 2 not comparable; first difference: message 3 differs at token 5; not comparable because: the weights are gone',
  );
});
