import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitAssertions, splitFunctions } from '../../../src/evaluate/python/functionSource.ts';
import { distinctFunctions, type FunctionsProblem } from '../../../src/tasks/functions/functions.ts';
import { isInputError } from './expect.ts';

function problems(count: number, levels?: readonly number[]): FunctionsProblem[] {
  const found: FunctionsProblem[] = [];
  for (const problem of distinctFunctions('a', levels)) {
    if (found.push(problem) === count) {
      break;
    }
  }
  return found;
}

describe('the functions task', () => {
  it('asks in the form of HumanEval: a signature, a docstring, and a check of four or five assertions', () => {
    for (const { question, tests } of problems(40)) {
      assert.match(question, /^def [a-z]+\([a-z, ]+\):\n {4}"""Find [^"]+\."""\n$/u);
      const count = splitAssertions(tests, tests.entryPoint ?? '').tests.length;
      assert.ok(count >= 4 && count <= 5, tests.test);
    }
  });

  it('shows a helper and a function that calls it, each in a message of its own', () => {
    for (const { said, tests, answer } of problems(40)) {
      const [helper = '', main = ''] = said;
      const name = tests.entryPoint ?? '';
      assert.deepEqual(splitFunctions(helper, name), { helper, main: null });
      assert.deepEqual(splitFunctions(main, name), { helper: null, main });
      assert.deepEqual(splitFunctions(answer, name), { helper, main });
      assert.match(main, /\n {4}h = aux\([a-z, ]+\)\n {4}return /u);
    }
  });

  it('has slips of haste at every level of the reward', () => {
    const mains = problems(200).map(({ saidInHaste: [, main = ''] }) => main);
    for (const slip of [/\n {4}return [^\n]*aux\(/u, /h = (?!aux)[^\n]*\n {4}return/u, /aux\([a-z, ]+\n/u]) {
      assert.ok(mains.filter((main) => slip.test(main)).length >= 10, String(slip));
    }
    assert.ok(mains.filter((main) => !main.includes('return')).length >= 10);
  });

  it('has four levels, and teams of one and two', () => {
    assert.deepEqual(new Set(problems(40, [0, 0, 1]).map(({ level }) => level)), new Set([3]));
    assert.throws(() => distinctFunctions('a', [0, 0, 0, 0, 1]), isInputError(/give 1 to 4 weights/u));
    assert.throws(() => distinctFunctions('a', [1], [3]), isInputError(/teams of 1 or 2 roles, not 3/u));
  });
});
