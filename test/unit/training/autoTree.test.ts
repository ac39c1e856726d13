/** How `shape: auto` chooses the tree of a step from what earlier steps showed. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MethodState } from '../../../src/domain/step.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { addAutoStep, chooseAutoTree } from '../../../src/training/methods/autoTree.ts';
import { c3 } from '../../../src/training/methods/c3.ts';
import { getJsonMember } from '../../../src/training/methods/ccpoStatistics.ts';
import type { TreeChoice } from '../../../src/training/methods/method.ts';
import { makeChainProtocol, sample, softmax, type TabularTeam } from '../../support/tabularTeam.ts';
import { CHECKPOINTS, PAIR } from '../replay/helpers.ts';
import { FOUR } from './tinyTeam.ts';

const read = (...overrides: readonly string[]): ReturnType<typeof readConfig> =>
  readConfig('', 'x', ['shape=auto', ...overrides]);
const SETTINGS = read();

/** A state in which all variances were measured. @param scores |s|^2 by level */
const stateOf = (variances: readonly number[], scores: readonly number[], age = 1): MethodState => ({
  json: {
    squares: [...variances],
    expected: variances.map((_, row) => variances.map((_one, column) => (row === column ? 1 : 0))),
    scores: scores.map((one) => [2 * one, 2]),
    age,
    choice: null,
  },
  tensors: {},
});
const plan = (state: MethodState, settings = SETTINGS, protocol = PAIR): TreeChoice =>
  c3.plan(settings, protocol, 0, { spread: null, state })[0]?.choice ?? assert.fail();
const initial = c3.state?.(SETTINGS)?.initial(SETTINGS) ?? assert.fail();

describe('the tree of a step', () => {
  it('measures all levels first, with the least variance if all messages are alike', () => {
    // [4, 2] has 3/2 / 3 + 1/4, [2, 4] has 5/4 + 1/6.
    assert.deepEqual(plan(initial), { fanout: [4, 2], variances: null, ratio: null, fanoutRatio: null });
    // An even split of eight calls is all that three levels have.
    assert.deepEqual(plan(initial, SETTINGS, makeChainProtocol(3)).fanout, [2, 2, 2]);
    assert.deepEqual(plan(stateOf([0, 0], [1, 1])).fanout, [4, 2], 'while no return varies');
  });

  it('is chosen from all that the budget pays for, by the variances and scores of earlier steps', () => {
    const like = plan(stateOf([1, 1], [1, 1]));
    assert.deepEqual(like.fanout, [8, 1]);
    assert.deepEqual([like.variances, like.ratio], [[1, 1], 1]);
    // 2/7 (V_u + V_d) against V_u + V_d / 4 + V_d / 6.
    assert.ok(Math.abs((like.fanoutRatio ?? NaN) - 4 / 7 / (1 + 5 / 12)) < 1e-12);
    const answers = plan(stateOf([8, 1], [1, 10]));
    assert.deepEqual(answers.fanout, [4, 2]);
    // (8.5 / 3 + 10 / 4) / (11 * 9 / 7).
    assert.ok(Math.abs((answers.ratio ?? NaN) - (8.5 / 3 + 2.5) / (99 / 7)) < 1e-12);
    assert.deepEqual(plan(stateOf([1, 1], [1, 1]), read('evaluator_budget=7')).fanout, [7, 1]);
    const scripted = read('policies={first: {answers: [{answer: x}]}}');
    assert.deepEqual(plan(stateOf([1, 1], [1, 1]), scripted, makeChainProtocol(2)).fanout, [8, 1]);
  });

  it('leaves out roles that do not learn, and counts the calls of checkpoints', () => {
    const [first = assert.fail()] = PAIR.occurrences;
    const scripted = read(`policies={${first.role}: {answers: [{answer: x}]}}`);
    assert.deepEqual(plan(stateOf([8, 1], [1, 1]), scripted).fanout, [1, 8]);
    // Both messages are scored. 4/3 for [4, 1] at 8 calls; 2 for [2, 2] at 6 against 19/12 for [2, 3] at 8.
    assert.deepEqual(plan(stateOf([1, 1], [1, 1]), SETTINGS, CHECKPOINTS).fanout, [4, 1]);
    assert.deepEqual(plan(stateOf([1, 1], [1, 1], 12), SETTINGS, CHECKPOINTS).fanout, [2, 2]);
  });

  it('is never predicted worse than whole episodes', () => {
    for (let number = 0; number < 200; number++) {
      const part = (index: number): number => ((number + 1) * (index + 2) * 0.618) % 1;
      const [variances, scores] = [
        [part(0), part(1), part(2)],
        [part(3), part(4), part(5)],
      ];
      const ratio = chooseAutoTree(
        read(`evaluator_budget=${8 + (number % 30)}`),
        makeChainProtocol(3),
        { variances, scores },
        false,
      ).ratio;
      assert.ok(ratio !== null && ratio <= 1, `${variances.join()} ${scores.join()}: ${String(ratio)}`);
    }
  });

  it('measures all levels again after twelve steps', () => {
    assert.deepEqual(plan(stateOf([1, 1], [1, 1], 11)).fanout, [8, 1]);
    assert.deepEqual(plan(stateOf([1, 1], [1, 1], 12)).fanout, [4, 2]);
    const [ratio] = [plan(stateOf([1, 1], [1, 1], 12)).ratio];
    assert.ok(Math.abs((ratio ?? NaN) - 0.75 / (4 / 7)) < 1e-12);
  });

  it('is refused where it cannot be used', () => {
    const fault = (settings = SETTINGS, protocol = PAIR): string | null => c3.fault(settings, protocol);
    assert.equal(fault(), null);
    assert.equal(fault(read('evaluator_budget=4')), null);
    assert.equal(fault(read('evaluator_budget=9', 'fanout=[3]')), null);
    assert.match(
      fault(read('evaluator_budget=3')) ?? '',
      /^shape auto measures with at least \[2, 2\], which needs an/u,
    );
    assert.match(fault(read('evaluator_budget=4'), CHECKPOINTS) ?? '', /needs an evaluator_budget of 6 with/u);
    assert.match(fault(SETTINGS, FOUR) ?? '', /and in the protocol four that of right does not; set credit\./u);
    const apart = read('credit.merge_contexts=false', 'evaluator_budget=16');
    assert.equal(fault(apart, FOUR), null);
    assert.match(fault(read('evaluator_budget=9000')) ?? '', /\(9000\) allows more than 20000 with the protocol/u);
    const rounds = parseProtocol(
      JSON.stringify({
        name: 'talk',
        roles: [{ role: 'a', prompt: 'Speak.', with_answer: true }],
        rounds: { turns: 2 },
      }),
      'talk.json',
    );
    assert.match(fault(SETTINGS, rounds) ?? '', /known order, and talk unfolds in rounds; choose nested\.$/u);
    for (const other of [
      'method=c3_full_mean',
      'credit.estimator=full_mean',
      'credit.estimator=value_assisted',
      'credit.group_normalise=true',
      'credit.lone_messages=none',
      'credit.common_random_numbers=true',
    ]) {
      assert.throws(() => read(other), /shape: auto predicts the variance of method c3 with/u, other);
    }
    assert.throws(() => read('magrpo={}'), /auto does not apply to rollout trees/u);
    assert.match(c3.fault(read('fanout_unique=true'), PAIR) ?? '', /^fanout_unique needs shape nested/u);
  });
});

describe('the state of shape: auto', () => {
  const table = [
    [0.9, 0.1, 0.4],
    [0.2, 0.7, 0.3],
    [0.5, 0.6, 0],
  ];
  const team: TabularTeam = {
    protocol: makeChainProtocol(2),
    logits: [[[0.3, 0, -0.2]], [0, 1, 2].map((state) => [0.1 * state, 0, 0.4])],
    score: ([first = 0, second = 0]) => table[first]?.[second] ?? NaN,
  };
  const other: TabularTeam = { ...team, score: ([first = 0, second = 0]) => (first === second ? 1 : 0) };
  const step = async (of: TabularTeam, iteration: number, state: MethodState) =>
    (await sample(of, SETTINGS, { seed: 1, iteration, count: 8, spread: null, state })).state;
  const choiceOf = (state: MethodState) => getJsonMember(state.json, 'choice');

  it('decides the tree, and the returns of the step itself do not', async () => {
    let state = initial;
    for (let iteration = 1; iteration <= 3; iteration++) {
      state = await step(team, iteration, state);
    }
    const [same, changed] = [await step(team, 4, state), await step(other, 4, state)];
    assert.deepEqual(choiceOf(changed), choiceOf(same));
    assert.deepEqual(plan(state).fanout, getJsonMember(choiceOf(same), 'fanout'));
    assert.notDeepEqual(plan(changed).variances, plan(same).variances, 'those of the next step do');
    assert.deepEqual(plan(JSON.parse(JSON.stringify(same)) as MethodState), plan(same));
  });

  it('is not measured by a step without returns', () => {
    const choice = plan(initial);
    const after = addAutoStep({ problems: [[], []], state: initial, choice }, { squares: [], expected: [] });
    assert.deepEqual(getJsonMember(after.json, 'age'), null);
    assert.deepEqual(plan(after).fanout, choice.fanout);
  });

  it('has the mean squared scores by the logits, the numbers of messages, and the steps since all levels', async () => {
    let state = initial;
    const measuring: number[] = [];
    const [sums, counts] = [
      [0, 0],
      [0, 0],
    ];
    for (let iteration = 1; iteration <= 150; iteration++) {
      const { fanout } = plan(state);
      measuring.push(...((fanout[1] ?? NaN) > 1 ? [iteration] : []));
      state = await step(team, iteration, state);
      for (const [level, [sum, messages]] of readScores(state).entries()) {
        // A tenth of the earlier messages is lost at each step of 8 problems.
        counts[level] =
          0.9 * (counts[level] ?? NaN) + 8 * fanout.slice(0, level + 1).reduce((all, one) => all * one, 1);
        assert.ok(Math.abs(messages / (counts[level] ?? NaN) - 1) < 1e-9);
        sums[level] = (sums[level] ?? NaN) + sum / messages / 150;
      }
    }
    // Whole episodes are the best tree of this team.
    assert.deepEqual(
      measuring,
      Array.from({ length: 13 }, (_, index) => 1 + 12 * index),
    );
    const exact = (chances: readonly number[]): number => 1 - chances.reduce((sum, one) => sum + one ** 2, 0);
    const plans = softmax(team.logits[0]?.[0] ?? []);
    const answers = plans.reduce((sum, one, p) => sum + one * exact(softmax(team.logits[1]?.[p] ?? [])), 0);
    assert.ok(Math.abs((sums[0] ?? NaN) - exact(plans)) < 0.01, `${sums.join()} ${exact(plans)}`);
    assert.ok(Math.abs((sums[1] ?? NaN) - answers) < 0.01, `${sums.join()} ${answers}`);
  });
});

const readScores = ({ json }: MethodState) => getJsonMember(json, 'scores') as [number, number][];
