/**
 * CCPO's raw credit on a thinker and a solver in a table, through the product's own sampling: its gradient is the true
 * one, and its variance is less than that of the shared return exactly where Theorem 5.3 says so.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../../src/credit/counter.ts';
import type { Evaluator } from '../../../../src/evaluate/evaluator.ts';
import type {
  Policy,
  PolicyAnswer,
  PolicyControl,
  PolicyRequest,
  TypedRequest,
} from '../../../../src/policy/policy.ts';
import { EvaluatorBudget } from '../../../../src/replay/budget.ts';
import { growEpisodes } from '../../../../src/replay/episodes.ts';
import { growWithoutFirst } from '../../../../src/replay/withoutFirst.ts';
import { Stream } from '../../../../src/runtime/random.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import { renderPlain } from '../../../../src/team/render.ts';
import type { RunConfig } from '../../../../src/training/config/config.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { ccpo } from '../../../../src/training/methods/ccpo.ts';
import { NO_STATISTICS, toStatisticsState } from '../../../../src/training/methods/ccpoStatistics.ts';
import { softmax } from '../../../support/tabularTeam.ts';
import { ENVIRONMENT, problems, NEVER, SAMPLING, SNAPSHOT, starts } from '../../../unit/replay/helpers.ts';

const ACTIONS = 3;
const PROTOCOL = parseProtocol(
  JSON.stringify([
    { role: 'thinker', prompt: 'Think.' },
    { role: 'solver', prompt: 'Solve.', depends_on: ['thinker'], with_answer: true },
  ]),
  'dyad.json',
);

interface Team {
  /** Of the thinker; of the solver after each action of the thinker, and last of all without any. */
  readonly thinker: readonly number[];
  readonly solver: readonly (readonly number[])[];
  /** What each answer of the solver scores. */
  readonly scores: readonly number[];
}

function teamOf(seed: number, spread: number): Team {
  const numbers = openStream(seed, 18);
  let place = 0;
  const some = (scale: number): number[] =>
    Array.from({ length: ACTIONS }, () => scale * (uniform(numbers, place++) - 0.5));
  return {
    thinker: some(spread),
    solver: Array.from({ length: ACTIONS + 1 }, () => some(spread)),
    scores: Array.from({ length: ACTIONS }, () => (uniform(numbers, place++) < 0.5 ? 0 : 1)),
  };
}

class DyadPolicy implements Policy {
  readonly snapshot = SNAPSHOT;
  readonly environment = ENVIRONMENT;
  readonly seeded = true;
  private readonly team: Team;

  constructor(team: Team) {
    this.team = team;
  }

  answer(requests: readonly PolicyRequest[], control: PolicyControl): Promise<PolicyAnswer[]> {
    const answers = requests.map(({ role, context, streamKey }) => {
      const plan = /Context:\n(\d)/u.exec(context)?.[1];
      const row =
        role === 'thinker' ? this.team.thinker : this.team.solver[plan === undefined ? ACTIONS : Number(plan)];
      let left = new Stream(streamKey).uniform(0);
      const drawn = softmax(row ?? []).findIndex((chance) => (left -= chance) < 0);
      return said(drawn < 0 ? ACTIONS - 1 : drawn);
    });
    for (const [index, answer] of answers.entries()) {
      control.onAnswer?.(index, answer);
    }
    return Promise.resolve(answers);
  }

  typed({ text }: TypedRequest): Promise<PolicyAnswer> {
    return Promise.resolve({ ...said(0), text, finish: 'typed' });
  }
}

const said = (action: number): PolicyAnswer => ({
  text: String(action),
  prompt: new Int32Array(1),
  tokens: Int32Array.of(action),
  logprobs: new Float32Array(1),
  finish: 'end',
  reusedTokens: 0,
});

/** The gradient of log softmax by its logits. */
const scoreOf = (logits: readonly number[], action: number): number[] =>
  softmax(logits).map((chance, index) => (index === action ? 1 : 0) - chance);
const squared = (vector: readonly number[]): number => vector.reduce((sum, one) => sum + one ** 2, 0);

/** Every joint episode with its chance. */
function outcomesOf({
  thinker,
  solver,
}: Team): { readonly plan: number; readonly answer: number; readonly chance: number }[] {
  return softmax(thinker).flatMap((first, plan) =>
    softmax(solver[plan] ?? []).map((second, answer) => ({ plan, answer, chance: first * second })),
  );
}

/** The gradient of the expected return by the logits of the thinker, then by those of the solver after each plan. */
function exactGradient(team: Team): number[] {
  const gradient = Array.from({ length: ACTIONS * (ACTIONS + 1) }, () => 0);
  for (const { plan, answer, chance } of outcomesOf(team)) {
    const weight = chance * (team.scores[answer] ?? NaN);
    scoreOf(team.thinker, plan).forEach((one, index) => {
      gradient[index] = (gradient[index] ?? 0) + weight * one;
    });
    scoreOf(team.solver[plan] ?? [], answer).forEach((one, index) => {
      const at = ACTIONS * (plan + 1) + index;
      gradient[at] = (gradient[at] ?? 0) + weight * one;
    });
  }
  return gradient;
}

const EPISODES = 4;
const INSTANCES = 64;
const settingsOf = (draws: 'own' | 'shared'): RunConfig =>
  readConfig('', 'raw', [
    'method=ccpo',
    `evaluator_budget=${2 * EPISODES}`,
    'ccpo.shaping=none',
    'ccpo.normalise=none',
    `ccpo.solo_draws=${draws}`,
  ]);

interface Estimates {
  /** Of each episode, its credit times the gradient of its log-probability, for both roles. */
  readonly gradients: readonly (readonly number[])[];
  readonly calls: number;
}

/** What some steps of a run sample and credit. */
async function estimates(team: Team, steps: number, draws: 'own' | 'shared' = 'own'): Promise<Estimates> {
  const config = settingsOf(draws);
  const gradients: number[][] = [];
  const all = problems(INSTANCES);
  const budget = new EvaluatorBudget(Infinity);
  const evaluator: Evaluator = {
    name: 'table',
    evaluate: (_, text) => Promise.resolve({ score: team.scores[Number(text)] ?? NaN, rule: 'table' }),
  };
  const [joint, without] = ccpo.plan(config, PROTOCOL, 0);
  for (let step = 1; step <= steps; step++) {
    const settings = {
      protocol: PROTOCOL,
      render: renderPlain,
      policy: new DyadPolicy(team),
      evaluator,
      budget,
      sampling: SAMPLING,
      seed: 1,
      scope: `iteration:${step}`,
      commonRandomNumbers: false,
    };
    const roots = await growEpisodes(settings, starts(all), joint?.fanout ?? [], NEVER);
    const solo = without?.sharesDraws === true ? settings : { ...settings, scope: `${settings.scope}:rollout:1` };
    const asked = { count: EPISODES, reading: 'bare', apart: without?.sharesDraws === true } as const;
    const emptied = await growWithoutFirst(solo, all, asked, NEVER);
    const { credits } = ccpo.credit({
      settings: config,
      stage: 0,
      problems: all.map((_, index) => roots.slice(index * EPISODES, (index + 1) * EPISODES)),
      measured: emptied,
      values: new Map(),
      state: toStatisticsState(NO_STATISTICS),
    });
    for (const root of roots) {
      const [answer] = root.children;
      const plan = Number(root.answer.text);
      const gradient = Array.from({ length: ACTIONS * (ACTIONS + 1) }, () => 0);
      const add = (from: number, logits: readonly number[], action: number, credit: number): void => {
        scoreOf(logits, action).forEach((one, index) => {
          gradient[from + index] = credit * one;
        });
      };
      assert.ok(answer !== undefined);
      add(0, team.thinker, plan, credits.get(root)?.value ?? NaN);
      add(ACTIONS * (plan + 1), team.solver[plan] ?? [], Number(answer.answer.text), credits.get(answer)?.value ?? NaN);
      gradients.push(gradient);
    }
  }
  return { gradients, calls: budget.calls };
}

/** Exact second moments of the thinker's estimates, and both sides of the condition of Theorem 5.3. */
function exactly(team: Team): {
  readonly contribution: number;
  readonly shared: number;
  readonly left: number;
  readonly right: number;
} {
  const solo = softmax(team.solver[ACTIONS] ?? []).map((chance, answer) => ({
    chance,
    score: team.scores[answer] ?? NaN,
  }));
  const expected = (value: (score: number, solo: number, squares: number) => number): number =>
    outcomesOf(team).reduce(
      (sum, { plan, answer, chance }) =>
        sum +
        solo.reduce(
          (inner, alone) =>
            inner +
            chance *
              alone.chance *
              value(team.scores[answer] ?? NaN, alone.score, squared(scoreOf(team.thinker, plan))),
          0,
        ),
      0,
    );
  const gradient = squared(exactGradient(team).slice(0, ACTIONS));
  const squares = expected((_, __, g) => g);
  const best = expected((score, _, g) => g * score) / squares;
  return {
    contribution: expected((score, alone, g) => g * (score - alone) ** 2) - gradient,
    shared: expected((score, _, g) => g * score ** 2) - gradient,
    left: expected((_, alone, g) => g * (alone - best) ** 2),
    right: squares * best ** 2,
  };
}

describe('the raw credit of CCPO', () => {
  for (const draws of ['own', 'shared'] as const) {
    it(`has the gradient of the expected return, for thinker and solver, where solo rollouts have ${draws} draws`, async () => {
      const team = { ...teamOf(3, 3), scores: [1, 0, 0.4] };
      const { gradients, calls } = await estimates(team, 40, draws);
      assert.equal(calls, 40 * INSTANCES * 2 * EPISODES);
      const truth = exactGradient(team);
      assert.ok(truth.slice(0, ACTIONS).some((one) => Math.abs(one) > 0.02));
      for (const [index, value] of truth.entries()) {
        const own = gradients.map((one) => one[index] ?? NaN);
        const mean = own.reduce((sum, one) => sum + one, 0) / own.length;
        const variance = own.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (own.length - 1);
        // All 12 at once, at 95 %: 2.87 standard errors each (Bonferroni).
        const half = 2.87 * Math.sqrt(variance / own.length);
        assert.ok(Math.abs(mean - value) < half, `[${index}] ${mean} +- ${half}: ${value}`);
        assert.ok(half < 0.02, 'the interval says something');
      }
    });
  }

  it('is 0 for a thinker that changes nothing, in every episode, where solo rollouts share draws', async () => {
    const made = teamOf(3, 3);
    const redundant = { ...made, solver: made.solver.map(() => made.solver[ACTIONS] ?? []), scores: [1, 0, 0.4] };
    const moved = ({ gradients }: Estimates): number =>
      gradients.filter((one) => one.slice(0, ACTIONS).some((value) => value !== 0)).length;
    assert.equal(moved(await estimates(redundant, 4, 'shared')), 0);
    assert.ok(moved(await estimates(redundant, 4)) > 100, 'by chance alone');
  });

  it('varies less than the shared return where the condition of Theorem 5.3 holds, and nowhere else', () => {
    let [held, failed] = [0, 0];
    for (let seed = 0; seed < 400; seed++) {
      const team = teamOf(seed, 4);
      if (new Set(team.scores).size < 2) {
        continue;
      }
      const { contribution, shared, left, right } = exactly(team);
      const isLess = contribution <= shared + 1e-12;
      assert.equal(left <= right + 1e-12, isLess, `seed ${seed}`);
      held += isLess ? 1 : 0;
      failed += isLess ? 0 : 1;
    }
    assert.ok(held > 30 && failed > 30, `${held} held, ${failed} failed`);
  });

  it('has the variance that the table gives, in what is sampled', async () => {
    const team = { ...teamOf(5, 3), scores: [1, 0, 1] };
    const { gradients } = await estimates(team, 40);
    const thinker = gradients.map((one) => one.slice(0, ACTIONS));
    const truth = exactGradient(team).slice(0, ACTIONS);
    const squares = thinker.map((one) => squared(one.map((value, index) => value - (truth[index] ?? NaN))));
    const mean = squares.reduce((sum, one) => sum + one, 0) / squares.length;
    const deviation = Math.sqrt(squares.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (squares.length - 1));
    const half = (3 * deviation) / Math.sqrt(squares.length);
    const { contribution, shared } = exactly(team);
    assert.ok(Math.abs(mean - contribution) < half, `${mean} +- ${half}: ${contribution}`);
    // It is not the variance of the shared return.
    assert.ok(Math.abs(shared - contribution) > 2 * half);
  });
});
