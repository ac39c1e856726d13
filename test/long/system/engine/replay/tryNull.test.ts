/** Trials of changes of teams whose chances are known: how often chance is called better, and what pairs save. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Trial } from '../../../../../src/domain/trial.ts';
import { comparePairs } from '../../../../../src/engine/replay/comparePairs.ts';
import type { PolicyRequest } from '../../../../../src/policy/policy.ts';
import { Stream } from '../../../../../src/runtime/random.ts';
import { renderPlain } from '../../../../../src/team/render.ts';
import { problems, PAIR, SAMPLING, ScriptedPolicy } from '../../../../unit/replay/helpers.ts';

const PROBLEMS = problems(24);

/**
 * A team whose plan is sound with a chance of the problem's own, and whose answer is right after a sound plan with
 * another one.
 * @param better added to the chance of a sound plan
 * @param place of the random number that it draws from a stream: another one changes what it says, and no chance
 */
function policyOf(better: number, place: number): ScriptedPolicy {
  return new ScriptedPolicy(({ role, context, streamKey }: PolicyRequest) => {
    const problem = Number(/Question (\d+)\?/u.exec(context)?.[1] ?? 0);
    const drawn = new Stream(streamKey).uniform(place);
    if (role === 'reasoner') {
      return drawn < 0.3 + (0.4 * problem) / PROBLEMS.length + better ? 'sound' : 'wrong';
    }
    return context.includes('sound') && drawn < 0.8 ? '1' : '0';
  });
}

const compare = (
  seed: number,
  before: ScriptedPolicy,
  after: ScriptedPolicy,
  budget: number,
): ReturnType<typeof comparePairs> =>
  comparePairs(
    {
      run: 'run',
      places: PROBLEMS.map((problem) => ({ problem, message: null })),
      evaluator: {
        name: 'script',
        evaluate: (_, text) => Promise.resolve({ score: text === '1' ? 1 : 0, rule: 'script' }),
      },
      seed,
      roles: ['reasoner', 'actor'],
      ...{ bound: 10, span: 1, most: 1 },
    },
    [before, after].map((policy) => ({ protocol: PAIR, policy, sampling: SAMPLING, render: renderPlain })) as [
      never,
      never,
    ],
    budget,
    { signal: new AbortController().signal, onProgress: () => undefined },
  );
const isBetter = ({ difference: { low } }: Pick<Trial, 'difference'>): boolean => low > 0;

describe('a trial of a change', () => {
  it('calls a change that changes no chance better in at most 5 % of 500 trials', async () => {
    let [better, worse] = [0, 0];
    for (let trial = 0; trial < 500; trial++) {
      const found = await compare(trial, policyOf(0, 0), policyOf(0, 1), 400);
      better += isBetter(found) ? 1 : 0;
      worse += found.difference.high < 0 ? 1 : 0;
    }
    assert.ok(better <= 25 && worse <= 25, `${better} better, ${worse} worse`);
  });

  it('finds a better prompt with at most half of the calls that unpaired sampling takes', async () => {
    const [paired, unpaired] = [
      { found: 0, calls: 0 },
      { found: 0, calls: 0 },
    ];
    for (let trial = 0; trial < 60; trial++) {
      for (const [sum, place] of [
        [paired, 0],
        [unpaired, 1],
      ] as const) {
        const found = await compare(1000 + trial, policyOf(0, 0), policyOf(0.25, place), 4000);
        sum.found += isBetter(found) ? 1 : 0;
        sum.calls += found.evaluatorCalls;
      }
    }
    const words = JSON.stringify({ paired, unpaired });
    assert.ok(paired.found >= 57, words);
    assert.ok(paired.calls <= 0.5 * unpaired.calls, words);
  });
});
