import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Headline } from '../../../../src/shared/credit/headline.ts';
import { findBestAlternative, findDecisive } from '../../../../src/shared/transcript/whyLost.ts';

function credit(verdict: Headline['verdict'], value: number, low: number | null, high: number | null): Headline {
  return {
    estimator: 'loo',
    value,
    low,
    high,
    n: 8,
    evaluatorCalls: 8,
    interval: 'betting',
    effectiveN: 4,
    reused: 0,
    copies: 1,
    verdict,
    more: null,
    reason: null,
  };
}

const message = (name: string, of: Headline | null): { readonly name: string; readonly credit: Headline | null } => ({
  name,
  credit: of,
});

test('the first message that hurt decided the episode, though a later one cost more', () => {
  const found = findDecisive([
    message('plan', credit('helped', 0.4, 0.1, 0.7)),
    message('draft', credit('hurt', -0.3, -0.6, -0.1)),
    message('answer', credit('hurt', -0.9, -1, -0.7)),
  ]);
  assert.deepEqual([found?.message.name, found?.decided], ['draft', true]);
});

test('where none hurt, the clearest candidate is the one that lies the most below 0 for its uncertainty', () => {
  const found = findDecisive([
    message('plan', credit('undecided', -0.6, -1, 0.3)),
    message('draft', credit('undecided', -0.02, -0.09, 0.05)),
    message('answer', credit('undecided', -0.9, null, null)),
    message('vote', credit('alone', 0, null, null)),
    message('never', null),
  ]);
  assert.deepEqual([found?.message.name, found?.decided], ['plan', false]);
  // Equal bounds above: the smaller credit.
  const equal = findDecisive([
    message('a', credit('undecided', 0, -0.5, 0.5)),
    message('b', credit('undecided', -0.1, -0.6, 0.5)),
  ]);
  assert.equal(equal?.message.name, 'b');
  assert.equal(findDecisive([message('alone', credit('alone', 0, null, null)), message('never', null)]), null);
  assert.equal(findDecisive([]), null);
});

test('a message whose credit is below 0 is a candidate before one that so far helped', () => {
  const found = findDecisive([
    message('plan', credit('undecided', 0.1, -0.1, 0.3)),
    message('draft', credit('undecided', -0.2, null, null)),
    message('answer', credit('undecided', -0.1, -0.6, 0.4)),
  ]);
  assert.deepEqual([found?.message.name, found?.decided], ['answer', false]);
});

test('the best alternative has another text and a higher credit than the message', () => {
  const of = { text: 'a', credit: credit('undecided', -0.2, -0.6, 0.2) };
  const alternatives = [
    { text: 'a', credit: credit('helped', 0.9, 0.5, 1) },
    { text: 'b', credit: credit('undecided', 0.3, -0.1, 0.6) },
    { text: 'c', credit: credit('undecided', 0.5, -0.2, 0.9) },
    { text: 'd', credit: credit('alone', 1, null, null) },
    { text: 'e', credit: null },
  ];
  assert.equal(findBestAlternative(of, alternatives)?.text, 'c');
  assert.equal(findBestAlternative({ text: 'x', credit: credit('undecided', 0.95, 0, 1) }, alternatives), null);
  assert.equal(findBestAlternative(of, []), null);
});
