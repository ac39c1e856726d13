import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  distanceFromZero,
  toHeadlineJson,
  isSignOpen,
  describeHeadline,
  type Headline,
} from '../../../../src/shared/credit/headline.ts';

const base: Headline = {
  estimator: 'loo',
  value: 0.25,
  low: -0.1,
  high: 0.6,
  n: 12,
  evaluatorCalls: 12,
  interval: 'betting',
  effectiveN: 6,
  reused: 0,
  copies: 1,
  verdict: 'undecided',
  more: 12,
  reason: null,
};

test('a side is open where the interval holds 0, or there is none', () => {
  assert.deepEqual(
    [base, { low: 0, high: 1 }, { low: 0.1, high: 1 }, { low: -1, high: -0.1 }, { low: null, high: null }].map(
      isSignOpen,
    ),
    [true, true, false, false, true],
  );
});

test('a sentence says what is decided, what would decide, and what cannot be', () => {
  assert.equal(describeHeadline({ ...base, verdict: 'helped', more: 0 }), 'helped');
  assert.equal(describeHeadline({ ...base, verdict: 'hurt', more: 0 }), 'hurt');
  assert.equal(describeHeadline(base), 'undecided: about 12 more replays would settle it');
  assert.equal(describeHeadline({ ...base, more: 1 }), 'undecided: about 1 more replay would settle it');
  assert.equal(
    describeHeadline({ ...base, value: 0, more: null }),
    'undecided: no difference seen; more than 1,000 replays would be needed',
  );
  assert.equal(describeHeadline({ ...base, more: null }), 'undecided: more than 1,000 replays would be needed');
  assert.equal(describeHeadline({ ...base, verdict: 'alone', more: null }), 'no other message was sampled here');
});

test('a credit is clear of 0 by the bound nearest to it from outside', () => {
  assert.equal(distanceFromZero({ ...base, low: 0.1, high: 0.9, verdict: 'helped' }), 0.1);
  assert.equal(distanceFromZero({ ...base, low: -0.9, high: -0.3, verdict: 'hurt' }), -0.3);
  assert.equal(distanceFromZero(base), 0);
});

test('a message that is alone has no value in JSON', () => {
  assert.equal(toHeadlineJson({ ...base, value: 0, verdict: 'alone' }).value, null);
  assert.deepEqual(toHeadlineJson(base), {
    value: 0.25,
    low: -0.1,
    high: 0.6,
    n: 12,
    effectiveN: 6,
    verdict: 'undecided',
    more: 12,
    sentence: 'undecided: about 12 more replays would settle it',
  });
});
