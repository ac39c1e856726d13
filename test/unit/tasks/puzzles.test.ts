import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BLOCKS } from '../../../src/evaluate/puzzles/blocks.ts';
import { MODELLESS_TASKS, TEAM_SIZES } from '../../../src/shared/runNames.ts';
import { findShortestPlan } from '../../../src/tasks/blocksworld/blocksworld.ts';
import { distinctNumbers } from '../../../src/tasks/numbers/numbers.ts';
import { sideOf } from '../../../src/tasks/split.ts';
import { distinctZebras } from '../../../src/tasks/zebra/zebra.ts';
import { changedPuzzles, draw } from './changedPuzzles.ts';
import { isInputError } from './expect.ts';

changedPuzzles(100);

describe('the numbers task', () => {
  it('asks for each secret in one way, which does not show it, and ends with the last one', () => {
    const all = [...new Set(draw('numbers', 'a').map(({ question }) => question))];
    assert.equal(all.length, 500);
    const same = new Map(draw('numbers', 'b').map(({ answer, question }) => [answer + question.slice(19), question]));
    const both = draw('numbers').filter(({ answer, question }) => same.has(answer + question.slice(19)));
    assert.ok(
      both.length > 50 && both.every(({ answer, question }) => same.get(answer + question.slice(19)) === question),
    );
    assert.throws(() => [...distinctNumbers('a', [1])], isInputError(/no more than about 30 questions/u));
  });
});

describe('the blocksworld task', () => {
  it('is solved in as few actions as there have to be', () => {
    const init = ['(clear c)', '(handempty)', '(on c b)', '(on b a)', '(ontable a)'];
    const problem = { name: 'p', domain: BLOCKS.name, objects: ['a', 'b', 'c'], init, goal: ['(on a b)', '(on b c)'] };
    // By hand: c to the table, b onto c, a onto b, two actions each.
    assert.equal(findShortestPlan(BLOCKS, problem)?.length, 6);
    assert.deepEqual(findShortestPlan(BLOCKS, { ...problem, goal: ['(on c b)'] }), []);
    assert.equal(findShortestPlan(BLOCKS, { ...problem, goal: ['(on a a)'] }), null);
  });
});

describe('the puzzle tasks', () => {
  it('draw the same for a seed, each question once and on one side, of every level and size', () => {
    for (const task of MODELLESS_TASKS) {
      const some = draw(task, 'a', 80);
      assert.deepEqual(draw(task, 'a', 80), some);
      assert.notDeepEqual(
        draw(task, 'b', 80).map(({ question }) => question),
        some.map(({ question }) => question),
      );
      assert.equal(new Set(some.map(({ uidSha }) => uidSha)).size, 80);
      assert.equal(new Set(some.map(({ uid }) => uid)).size, 80);
      assert.deepEqual([...new Set(some.map(({ level }) => level))].toSorted(), [1, 2, 3, 4]);
      assert.deepEqual(
        some.map(({ uidSha }) => sideOf(uidSha)),
        some.map((_, index) => (index < 60 ? 'train' : 'evaluation')),
      );
      for (const roles of task === 'numbers' ? [] : TEAM_SIZES[task]) {
        assert.ok(draw(task, 'a', 8, roles).every(({ said }) => said.length === roles));
      }
    }
  });

  it('refuse levels that they do not have', () => {
    for (const levels of [[0], [1, 1, 1, 1, 1], [-1, 2]]) {
      assert.throws(() => distinctZebras('a', levels), isInputError(/not valid: give 1 to 4 weights/u));
    }
  });
});
