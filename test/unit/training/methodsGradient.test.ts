/**
 * Every method's expected update on a team that is small enough to go through every outcome of an iteration (equation
 * 21, for both roles).
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import type { Policy, PolicyAnswer, PolicyRequest } from '../../../src/policy/policy.ts';
import { EvaluatorBudget } from '../../../src/replay/budget.ts';
import { growEpisodes, growSpine } from '../../../src/replay/episodes.ts';
import { countCalls, type TreeMessage } from '../../../src/replay/tree.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { countTreeMessages } from '../../../src/team/rounds.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import type { MethodSettings, ValueTarget } from '../../../src/training/methods/method.ts';
import { getMethod, type MethodName } from '../../../src/training/methods/methods.ts';
import { ENVIRONMENT, problems, NEVER, PAIR, SAMPLING, SNAPSHOT, starts } from '../replay/helpers.ts';
import { stateOf } from './twoLevelBias.ts';

const BUDGET = 4;
/** Without common random numbers: the enumeration below lets every answer be drawn by itself. */
const SETTINGS: MethodSettings = {
  ...readConfig('', 'defaults'),
  fanout: [2, 2],
  evaluator_budget: BUDGET,
  credit: {
    estimator: 'loo',
    alpha: 0.75,
    group_normalise: false,
    normalise_scope: 'group',
    common_random_numbers: false,
    merge_contexts: false,
    lone_messages: 'none',
    return_clip: 10,
  },
};
const INSTANCE: Problem = problems(1)[0] ?? assert.fail();

/** Logit of saying `1`: of the reasoner, then of the actor after the plan 0 and after the plan 1. */
const PARAMETERS = [0.4, -0.7, 0.9];
const SCORES: Readonly<Record<string, number>> = { '0 0': 1, '0 1': 0, '1 0': 0.25, '1 1': 0.75 };
/** Of the first state, and of those after the plan 0 and the plan 1; as wrong as a head may be. */
const VALUES = [0.3, 0.9, -0.2];
const chance = (logit: number, said: string): number => 1 / (1 + Math.exp(said === '1' ? -logit : logit));
/** d log pi / d logit. */
const slope = (logit: number, said: string): number => (said === '1' ? 1 : 0) - chance(logit, '1');

function expectedReturn([plan = 0, first = 0, second = 0]: readonly number[]): number {
  return Object.entries(SCORES).reduce(
    (sum, [said, score]) =>
      sum + score * chance(plan, said.slice(0, 1)) * chance(said.startsWith('1') ? second : first, said.slice(2)),
    0,
  );
}
/** By central differences. */
const GRADIENT = PARAMETERS.map((_, k) => {
  const moved = (by: number): number => expectedReturn(PARAMETERS.map((one, index) => (index === k ? one + by : one)));
  return (moved(1e-5) - moved(-1e-5)) / 2e-5;
});

/** Scores nothing yet: what a message is worth depends on its plan too. */
const LATER: Evaluator = { name: 'later', evaluate: () => Promise.resolve({ score: 0, rule: 'later' }) };

/** Says what it is given, one bit a request. */
class ToldPolicy implements Policy {
  readonly snapshot = SNAPSHOT;
  readonly environment = ENVIRONMENT;
  readonly seeded = true;
  asked = 0;
  private readonly bits: number;

  constructor(bits: number) {
    this.bits = bits;
  }

  answer(
    requests: readonly PolicyRequest[],
    { onAnswer }: { readonly onAnswer?: (index: number, answer: PolicyAnswer) => void },
  ): Promise<PolicyAnswer[]> {
    const answers = requests.map((): PolicyAnswer => {
      const text = String((this.bits >> this.asked++) & 1);
      return {
        text,
        prompt: new Int32Array(),
        tokens: Int32Array.from(Buffer.from(text)),
        logprobs: new Float32Array(1),
        finish: 'end',
        reusedTokens: 0,
      };
    });
    for (const [index, answer] of answers.entries()) {
      onAnswer?.(index, answer);
    }
    return Promise.resolve(answers);
  }

  typed(): Promise<PolicyAnswer> {
    return Promise.reject(new Error('Nothing is typed here.'));
  }
}

const parameterOf = ({ parent }: TreeMessage): number => (parent === null ? 0 : parent.answer.text === '1' ? 2 : 1);
const logitOf = (message: TreeMessage): number => PARAMETERS[parameterOf(message)] ?? NaN;
/** Of the state, and of what is said in it where that is the target. */
const valueOf = (message: TreeMessage, target: ValueTarget | null): number =>
  (VALUES[parameterOf(message)] ?? NaN) + (target === 'message' && message.answer.text === '1' ? 0.35 : 0);
const below = (messages: readonly TreeMessage[]): TreeMessage[] =>
  messages.flatMap((message) => [message, ...below(message.children)]);

/**
 * Per role, E[mean over its messages of credit times grad log pi], over every iteration that can be; and what all of
 * them cost.
 */
async function expectedUpdate(
  name: MethodName,
  settings: MethodSettings,
): Promise<{ readonly update: number[]; readonly total: number; readonly calls: Set<number> }> {
  const method = getMethod(name);
  const { fanout: planned, shape = 'nested', commonRandomNumbers } = method.plan(settings, PAIR, 0)[0] ?? assert.fail();
  const fanout = PAIR.occurrences.map((_, level) => planned[level] ?? 1);
  const messages = countTreeMessages(fanout, shape, 2);
  // What continues an alternative of a spine has nothing to be compared with, and may take the credit before it.
  const learned = shape === 'spine' && settings.credit.lone_messages === 'none' ? fanout : messages;
  const update = PARAMETERS.map(() => 0);
  const calls = new Set<number>();
  let total = 0;
  for (let bits = 0; bits < 2 ** messages.reduce((sum, count) => sum + count, 0); bits++) {
    const roots = await (shape === 'spine' ? growSpine : growEpisodes)(
      {
        protocol: PAIR,
        render: renderPlain,
        policy: new ToldPolicy(bits),
        evaluator: LATER,
        budget: new EvaluatorBudget(BUDGET),
        sampling: SAMPLING,
        seed: 0,
        scope: 'iteration:1',
        commonRandomNumbers,
      },
      starts([INSTANCE]),
      fanout,
      NEVER,
    );
    const grown = below(roots);
    for (const message of grown) {
      if (message.parent !== null) {
        message.score = { score: SCORES[`${message.parent.answer.text} ${message.answer.text}`] ?? NaN, rule: 'table' };
      }
    }
    const likely = grown.reduce((product, message) => product * chance(logitOf(message), message.answer.text), 1);
    total += likely;
    calls.add(roots.reduce((sum, message) => sum + countCalls(message), 0));
    const values = new Map(grown.map((message) => [message, valueOf(message, method.valueTarget(settings))]));
    const { credits } = method.credit({
      settings,
      stage: 0,
      problems: [roots],
      measured: [[]],
      values,
      state: settings.credit.estimator === 'loo_two_level' ? stateOf([1, 0.5]) : { json: null, tensors: {} },
    });
    for (const message of grown) {
      const credit = credits.get(message)?.value ?? 0;
      const k = parameterOf(message);
      update[k] =
        (update[k] ?? 0) +
        (likely * credit * slope(logitOf(message), message.answer.text)) / (learned[message.position] ?? NaN);
    }
  }
  return { update, total, calls };
}

describe('the expected update of a method', () => {
  // Leave-one-out is unbiased; a mean that holds the own return shortens it by (n - 1) / n, n being the alternatives
  // compared: two, or four episodes. So is the return against any value that knows the state only.
  for (const [name, factor, changes = {}] of [
    ['c3', 1],
    ['c3', 1, { merge_contexts: true }],
    ['c3', 1, { shape: 'spine' }],
    ['c3', 1, { shape: 'spine', merge_contexts: true }],
    ['c3', 1, { shape: 'spine', lone_messages: 'parent' }],
    ['c3', 1, { shape: 'spine', merge_contexts: true, lone_messages: 'parent' }],
    ['c3', 1, { fanout: [4, 1], lone_messages: 'parent' }],
    ['c3', 1, { fanout: [4, 1], merge_contexts: true, lone_messages: 'parent' }],
    ['c3_no_replay', 1],
    ['c3_full_mean', 1 / 2],
    ['magrpo', 3 / 4],
    ['mappo', 1],
    ['c3', 1, { estimator: 'value_assisted' }],
    ['c3', 1, { estimator: 'value_assisted', merge_contexts: true }],
    ['c3', 1, { estimator: 'loo_two_level' }],
    ['c3', 1, { estimator: 'loo_two_level', merge_contexts: true }],
    ['c3', 1, { estimator: 'loo_two_level', shape: 'spine', lone_messages: 'parent' }],
    ['c3', 1, { estimator: 'loo_two_level', shape: 'spine', merge_contexts: true, lone_messages: 'parent' }],
    ['c3', 1, { estimator: 'loo_two_level', fanout: [4, 1], lone_messages: 'parent' }],
  ] as const satisfies readonly (readonly [MethodName, number, Changes?])[]) {
    it(`is that of the expected return for both roles, times ${factor}: ${name} ${JSON.stringify(changes)}`, async () => {
      const { shape = 'nested', fanout = SETTINGS.fanout, ...credit }: Changes = changes;
      const { update, total, calls } = await expectedUpdate(name, {
        ...SETTINGS,
        shape,
        fanout,
        credit: { ...SETTINGS.credit, ...credit },
      });
      assert.ok(Math.abs(total - 1) < 1e-12, 'every outcome is there');
      assert.deepEqual([...calls], [BUDGET]);
      assert.ok(GRADIENT.every((one) => Math.abs(one) > 1e-2));
      for (const [k, value] of GRADIENT.entries()) {
        assert.ok(
          Math.abs((update[k] ?? NaN) - factor * value) < 1e-9,
          `${name} [${k}]: ${String(update[k])} is not ${factor * value}`,
        );
      }
    });
  }
});

/** What a case changes of the settings. */
type Changes = Partial<Pick<MethodSettings, 'shape' | 'fanout'> & MethodSettings['credit']>;
