/** The credit of C3 on the rollout tree of MAGRPO, by numbers that were computed by hand. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TreeMessage } from '../../../src/replay/tree.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { creditTrees } from '../../../src/training/methods/joint.ts';
import { getMethod } from '../../../src/training/methods/methods.ts';
import { NodesOfTurns } from '../../../src/training/stageMessages.ts';
import { problems, SAMPLING } from '../replay/helpers.ts';
import { configOf, grown, rowsOf, near, updatesOf, rootCredits } from './jointTeam.ts';

const NONE = new Int32Array();

describe('c3 on the rollout tree of MAGRPO', () => {
  it('measures a message against the others of its role at the node', async () => {
    const made = await grown({ n: 2, g: 4, t: 2, mode: 'align' });
    // 0.27 less the mean of 0.47, 0.67 and 0.87, and so on.
    for (const credits of rootCredits(made, 'c3')) {
      near(credits, [-0.4, -0.4 / 3, 0.4 / 3, 0.4]);
    }
  });

  it('weighs the others by their joint actions, where some are masked', () => {
    // By the message of the first role, then by that of the second.
    const rewards = [
      [1, null, 4],
      [2, 0, 4],
      [3, 3, 0],
    ];
    const nodeOf = (parent: TreeMessage | null, sibling: number, score?: number | null): TreeMessage => ({
      problem: problems(1)[0] ?? assert.fail(),
      position: parent === null ? 0 : 1,
      parent,
      sibling,
      alternative: 0,
      replay: null,
      context: '',
      contextKey: '',
      streamKey: '',
      sampling: SAMPLING,
      answer: { text: '', prompt: NONE, tokens: NONE, logprobs: new Float32Array(), finish: 'end', reusedTokens: 0 },
      score: score === undefined ? undefined : { score, rule: '' },
      children: [],
      stored: undefined,
    });
    const first = rewards.map((row, index) => {
      const message = nodeOf(null, index);
      message.children.push(...row.map((reward, sibling) => nodeOf(message, sibling, reward)));
      return message;
    });
    for (const [reduce, factor] of [
      ['mean', 1],
      ['sum', 3],
    ] as const) {
      const { magrpo } = configOf({ n: 2, g: 3, t: 1, mode: 'cross', reduce });
      const credits = creditTrees([first], magrpo ?? assert.fail(), 'loo');
      const valuesOf = (messages: readonly TreeMessage[]): number[] =>
        messages.map((message) => credits.get(message)?.value ?? NaN);
      // Means 2.5, 2 and 2 of 2, 3 and 3 rewards.
      near(
        valuesOf(first),
        [2.5 - 12 / 6, 2 - 11 / 5, 2 - 11 / 5].map((value) => factor * value),
      );
      // Means 2, 1.5 and 8/3 of 3, 2 and 3.
      const second = [2 - 11 / 5, 1.5 - 14 / 6, 8 / 3 - 9 / 5].map((value) => factor * value);
      for (const { children } of first) {
        near(valuesOf(children), second);
      }
    }
  });

  it('samples the same tree and asks for the same updates as magrpo', async () => {
    const made = await grown({ n: 2, g: 3, t: 2, mode: 'cross' });
    const { config, protocol, roots } = made;
    const { upward } = new NodesOfTurns(rowsOf(roots).rows, 2);
    const asked = async (name: 'magrpo' | 'c3'): Promise<unknown> => {
      const method = getMethod(name);
      assert.equal(method.fault(config, protocol), null);
      const [{ fanout, joint } = assert.fail()] = method.plan(config, protocol, 0);
      return [fanout, joint?.generations, joint?.mode, await updatesOf(name, made, upward)];
    };
    assert.deepEqual(await asked('c3'), await asked('magrpo'));
  });

  it('is refused where a message has no alternatives, and with what a tree does not have', () => {
    const tree = ['method=c3', 'magrpo={num_turns: 1}'];
    const seeing = parseProtocol(
      '[{"role": "a", "prompt": "A."}, {"role": "b", "prompt": "B.", "depends_on": ["a"]}]',
      'seeing',
    );
    assert.match(
      getMethod('c3').fault(readConfig('', 'x', tree), seeing) ?? '',
      /in a turn of the protocol seeing some roles see others, so that each message has a context of its own; choose/,
    );
    for (const [override, words] of [
      [
        'credit.estimator=value_assisted',
        /value_assisted does not apply to rollout trees; choose loo, or method magrpo/,
      ],
      ['credit.estimator=full_mean', /full_mean does not apply to rollout trees/],
      ['shape=spine', /spine does not apply to rollout trees; omit it/],
      ['fanout_unique=true', /draws within fanout, which a rollout tree does not have/],
    ] as const) {
      assert.throws(() => readConfig('', 'x', [...tree, override]), words);
    }
    // A fan-out that is not read cannot be too large.
    assert.equal(readConfig('', 'x', [...tree, 'evaluator_budget=4']).evaluator_budget, 4);
  });
});
