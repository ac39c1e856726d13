import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workOutPlan } from '../../../src/tasks/arithmetic/arithmetic.ts';
import { distinctHints, type HintProblem } from '../../../src/tasks/hints/hints.ts';
import { generateSplit } from '../../../src/tasks/split.ts';
import { isInputError } from './expect.ts';

function drawn(count: number, seed = 'a', levels?: readonly number[]): HintProblem[] {
  const found: HintProblem[] = [];
  for (const problem of distinctHints(seed, levels)) {
    if (found.push(problem) === count) {
      break;
    }
  }
  return found;
}

/** A plan read left to right, by another way than the generator's. */
function valueOf(plan: string): number {
  const [first = '', ...steps] = plan.split(/(?=[-+*/])/u);
  return steps.reduce((value, step) => {
    const number = Number(step.slice(1));
    return { '+': value + number, '-': value - number, '*': value * number, '/': value / number }[step[0] ?? ''] ?? NaN;
  }, Number(first));
}

describe('the hints task', () => {
  it('has hints that help, are redundant and mislead, with what each role is shown', () => {
    for (const { level, question, answer, plan, solution, hasty, alone } of drawn(400)) {
      const stated = /That is ([\d+*/-]+)\./u.exec(question)?.[1] ?? null;
      const rumor = /Hint: ([\d+*/-]+)$/u.exec(question)?.[1] ?? null;
      const [right, wrong] = level === 3 ? [hasty.plan, plan] : [plan, hasty.plan];
      assert.equal(String(valueOf(right)), answer, question);
      assert.notEqual(String(valueOf(wrong)), answer, question);
      assert.ok(valueOf(wrong) >= 0);
      assert.deepEqual([stated, rumor], level === 1 ? [null, null] : [right, level === 3 ? wrong : null]);
      // The solver follows the plan that it is shown, and alone what the question states.
      assert.ok(solution.endsWith(`#### ${valueOf(plan)}`));
      assert.equal(alone, level === 1 ? `#### ${answer}` : workOutPlan(right));
    }
  });

  it('has them in the shares of the levels, each question once, the same for a seed', () => {
    const some = drawn(900, 'b', [3, 2, 1]);
    assert.deepEqual(drawn(900, 'b', [3, 2, 1]), some);
    assert.equal(new Set(some.map(({ uidSha }) => uidSha)).size, 900);
    for (const [place, share] of [450, 300, 150].entries()) {
      const own = some.filter(({ level }) => level === place + 1).length;
      // Within four standard deviations of a binomial.
      assert.ok(Math.abs(own - share) < 4 * Math.sqrt(share * (1 - share / 900)), `${place}: ${own}`);
    }
    const { train, evaluation } = generateSplit({ task: 'hints', seed: 'c', train: 9, evaluation: 3, levels: [0, 1] });
    assert.ok([...train, ...evaluation].every(({ level }) => level === 2));
  });

  it('refuses shares of other hints', () => {
    assert.throws(() => distinctHints('a', [0, 0, 0]), isInputError(/at least one above 0/u));
    assert.throws(() => distinctHints('a', [0, 0, 0, 1]), isInputError(/not valid/u));
    assert.throws(() => distinctHints('a', [1, 1, 1, 1, 1]), isInputError(/not valid/u));
    // The mix of a configuration unless set.
    assert.deepEqual(drawn(20, 'd', [1, 1, 1, 1]), drawn(20, 'd'));
    assert.throws(() => distinctHints('a', [-1, 1]), isInputError(/not valid/u));
  });

  it('works plans out from left to right', () => {
    assert.equal(workOutPlan('12/2+4'), '12/2=6\n6+4=10\n#### 10');
    assert.equal(workOutPlan('3+4*5-1'), '3+4=7\n7*5=35\n35-1=34\n#### 34');
  });
});
