import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EMPTY_LEDGER, addLedgers, type Ledger } from '../../../src/domain/run.ts';

const first: Ledger = {
  evaluatorCalls: 8,
  reusedEvaluations: 2,
  tokens: { prompt: 100, reused: 40, completion: 30, reusedCompletion: 4 },
  decisions: { reasoner: 2, actor: 8 },
  seconds: 1.5,
};
/** As it was stored before reused results were counted. */
const second: Ledger = {
  evaluatorCalls: 3,
  tokens: { prompt: 7, reused: 0, completion: 5 },
  decisions: { actor: 1, critic: 4 },
  seconds: 0.25,
};

describe('addLedgers', () => {
  it('adds field by field and role by role, and changes nothing', () => {
    const before = structuredClone([first, second]);
    assert.deepEqual(addLedgers(first, second, first), {
      evaluatorCalls: 19,
      reusedEvaluations: 4,
      tokens: { prompt: 207, reused: 80, completion: 65, reusedCompletion: 8 },
      decisions: { reasoner: 4, actor: 17, critic: 4 },
      seconds: 3.25,
    });
    assert.deepEqual([first, second], before);
  });

  it('has the empty ledger as its zero', () => {
    assert.deepEqual(addLedgers(), EMPTY_LEDGER);
    assert.deepEqual(addLedgers(EMPTY_LEDGER, first), first);
  });

  it('takes a role for a role, whatever its name', () => {
    const odd: Ledger = {
      ...EMPTY_LEDGER,
      decisions: Object.fromEntries([
        ['__proto__', 2],
        ['constructor', 1],
      ]),
    };
    assert.deepEqual(Object.entries(addLedgers(odd, odd).decisions), [
      ['__proto__', 4],
      ['constructor', 2],
    ]);
  });
});
