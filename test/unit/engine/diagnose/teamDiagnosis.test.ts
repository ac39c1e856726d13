/** What each message of an episode states as the answer, for the coordination of a team. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { extractStatedAnswers } from '../../../../src/engine/diagnose/teamDiagnosis.ts';
import { parseChain } from '../../../../src/evaluate/chain.ts';

it('reads the link of each role on a chain, and marked answers elsewhere', () => {
  const chain = parseChain('chain of 3, ring of 16: from J to E by 1 2 5 without A H N');
  assert.deepEqual(extractStatedAnswers(['K', ' P', 'E'], chain), ['K, P, E', 'K, P, E', 'K, P, E']);
  // Q is not on the ring; what is no letter states nothing, and others state the letters of all.
  assert.deepEqual(extractStatedAnswers(['Q', 'P', 'to E'], chain), [null, 'Q, P, to E', null]);
  assert.deepEqual(extractStatedAnswers(['#### Four', 'I do not know', '#### four'], null), ['four', null, 'four']);
  // Another number of roles than links: nothing says which link a role adds.
  assert.deepEqual(extractStatedAnswers(['K', '#### K'], chain), [null, 'k']);
});
