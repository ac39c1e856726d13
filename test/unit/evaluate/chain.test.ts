import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import { gradeChain, parseChain } from '../../../src/evaluate/chain.ts';
import { chainEvaluator } from '../../../src/evaluate/evaluator.ts';
import { getEvaluatorKind } from '../../../src/evaluate/kinds.ts';
import { makeEvaluator } from '../../../src/evaluate/named.ts';

const ANSWER = 'chain of 3, ring of 10: from D to I by 1 2 4 without F H';
const problem = (answer: string): Problem => ({
  uid: 'item',
  uidSha: 'ab',
  question: 'q',
  answer,
  source: 'test',
  level: null,
});
const ruleOf = (text: string): string => gradeChain(parseChain(ANSWER) ?? assert.fail(), text).rule;

describe('a chain', () => {
  it('holds where every link does, and says which one does not', () => {
    for (const [text, rule] of [
      // By hand: D + 1 = E, E + 2 = G, G + 2 = I.
      ['E, G, I', 'all 3 links hold'],
      [' E,G ,I\n', 'all 3 links hold'],
      ['E, G, A', 'it ends at A, not at I'],
      ['E, I, I', 'link 3, from I to I, is not one of the steps'],
      ['F, G, I', 'link 1 comes to F, which is left out'],
      ['E, D, I', 'link 2, from E to D, is not one of the steps'],
      ['K, G, I', 'link 1 is not a letter of the ring'],
      ['e, G, I', 'link 1 is not a letter of the ring'],
      ['E, , I', 'link 2 is not a letter of the ring'],
      ['E, G', 'not 3 letters'],
      ['E, G, I,', 'not 3 letters'],
      ['', 'not 3 letters'],
    ] as const) {
      assert.equal(ruleOf(text), `chain: ${rule}`, text);
    }
    assert.equal(ruleOf(`E${', G'.repeat(100_000)}`), 'chain: not 3 letters');
    // Over the end of the ring: J is the last of 10, and two after it is B.
    assert.equal(gradeChain(parseChain('chain of 1, ring of 10: from J to B by 2') ?? assert.fail(), 'B').score, 1);
  });

  it('is made of the messages of a turn, one letter in each', async () => {
    const evaluator = makeEvaluator('auto', 'chain', () => assert.fail());
    assert.equal(evaluator, chainEvaluator);
    const said = (...texts: string[]): string =>
      evaluator.ofTurn?.(
        problem(ANSWER),
        texts.map((text, index) => ({ role: String(index), text })),
      ) ?? assert.fail();
    const score = async (...texts: string[]) => (await evaluator.evaluate(problem(ANSWER), said(...texts))).score;
    assert.equal(await score('E', 'G', 'I'), 1);
    assert.equal(await score('E', 'G', 'J'), 0);
    // Nobody says the letters of another one.
    assert.equal(await score('', 'E, G', 'I'), 0);
    assert.equal(await score('E, G, I', '', ''), 0);
  });

  it('has a rule that can be read; else it is masked, and named before a run begins', async () => {
    for (const text of [
      '',
      '14',
      'chain of 3, ring of 10: from D to I by 1 without',
      'chain of 3, ring of 10: from D to I by 1 11',
      'chain of 3, ring of 10: from D to I by 0',
      'chain of 3, ring of 10: from K to I by 1',
      'chain of 3, ring of 10: from D to K by 1',
      'chain of 0, ring of 10: from D to I by 1',
      'chain of 101, ring of 10: from D to I by 1',
      'chain of 3, ring of 27: from D to I by 1',
      'chain of 3, ring of 10: from D to I by 1 without K',
      'chain of 3, ring of 10: from D to I by 1 without AB',
      `chain of 3, ring of 10: from D to I by ${'1 '.repeat(300)}`,
    ]) {
      assert.equal(parseChain(text), null, text);
    }
    assert.notEqual(parseChain('chain of 100, ring of 26: from A to Z by 25 without Y'), null, 'all at their bounds');
    const { score, masked } = await chainEvaluator.evaluate(problem('14'), '14');
    assert.deepEqual([score, masked], [null, 'The answer of problem item is no rule of a chain.']);
    assert.equal(getEvaluatorKind('chain').fault([problem(ANSWER)]), null);
    assert.match(getEvaluatorKind('chain').fault([problem(ANSWER), problem('3')]) ?? '', /"item" has another form/u);
  });
});
