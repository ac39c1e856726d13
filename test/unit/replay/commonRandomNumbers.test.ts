/**
 * Common random numbers (C3, Appendix L) on teams whose expected returns and credits can be written down: nothing is
 * biased, and coupled returns vary less.
 */

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { creditGroup } from '../../../src/credit/estimators.ts';
import type { Policy, PolicyAnswer, PolicyRequest } from '../../../src/policy/policy.ts';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import { countCalls, findLeaves, computeReturn } from '../../../src/replay/tree.ts';
import { Stream } from '../../../src/runtime/random.ts';
import { CountingEvaluator, ENVIRONMENT, problems, NEVER, PAIR, SNAPSHOT, starts, world } from './helpers.ts';

const SEEDS = 1200;
const REPLAYS = 4;
const [INSTANCE] = problems(1);
assert.ok(INSTANCE);

/**
 * A team of two plans: how often each is taken, and whether the solution after a plan is right when the stream says u.
 */
interface Team {
  readonly shares: { readonly a: number; readonly b: number };
  readonly right: { readonly a: (u: number) => boolean; readonly b: (u: number) => boolean };
  /** How often the solution is right: the exact value Q of a plan. */
  readonly values: { readonly a: number; readonly b: number };
}

/** Both plans succeed when u is small: their returns go together. */
const COUPLED: Team = {
  shares: { a: 0.6, b: 0.4 },
  right: { a: (u) => u < 0.7, b: (u) => u < 0.3 },
  values: { a: 0.7, b: 0.3 },
};
/** Each plan looks at another binary digit of u: knowing that one succeeds says nothing of the other. */
const UNRELATED: Team = {
  shares: { a: 0.6, b: 0.4 },
  right: { a: (u) => Math.floor(2 * u) % 2 === 0, b: (u) => Math.floor(4 * u) % 2 === 0 },
  values: { a: 0.5, b: 0.5 },
};

class FinitePolicy implements Policy {
  readonly snapshot = SNAPSHOT;
  readonly environment = ENVIRONMENT;
  readonly seeded = true;
  private readonly team: Team;

  constructor(team: Team) {
    this.team = team;
  }

  answer(
    requests: readonly PolicyRequest[],
    control: { readonly onAnswer?: (index: number, answer: PolicyAnswer) => void },
  ): Promise<PolicyAnswer[]> {
    const answers = requests.map((request) => this.say(request));
    for (const [index, answer] of answers.entries()) {
      control.onAnswer?.(index, answer);
    }
    return Promise.resolve(answers);
  }

  typed(): Promise<PolicyAnswer> {
    return Promise.reject(new Error('Nothing is typed here.'));
  }

  private say({ context, streamKey }: PolicyRequest): PolicyAnswer {
    const u = new Stream(streamKey).uniform(0);
    const plan = /\nContext:\n([ab])\n/.exec(context)?.[1];
    const text =
      plan === undefined
        ? u < this.team.shares.a
          ? 'a'
          : 'b'
        : (plan === 'a' ? this.team.right.a(u) : this.team.right.b(u))
          ? 'right'
          : 'wrong';
    return {
      text,
      prompt: new Int32Array(),
      tokens: Int32Array.from(Buffer.from(text)),
      logprobs: new Float32Array(text.length),
      finish: 'end',
      reusedTokens: 0,
    };
  }
}

/** What one tree of two plans showed of its first plan: the credit, and what the credit should be given both plans. */
interface Trial {
  readonly plan: 'a' | 'b';
  readonly other: 'a' | 'b';
  readonly credit: number;
}

/** One tree for every seed, at most one credit of each, so that trials are independent. */
async function trials(team: Team, commonRandomNumbers: boolean): Promise<Trial[]> {
  const found: Trial[] = [];
  for (let seed = 0; seed < SEEDS; seed++) {
    const made = world(PAIR, {
      seed,
      commonRandomNumbers,
      evaluator: new CountingEvaluator((text) => (text === 'right' ? 1 : 0)),
    });
    const roots = await growEpisodes(
      { ...made.settings, policy: new FinitePolicy(team) },
      starts([INSTANCE ?? assert.fail()]),
      [2, REPLAYS],
      NEVER,
    );
    const [credit] = creditGroup(
      {
        alternatives: roots.map((root) => ({
          returns: findLeaves(root).map((leaf) => computeReturn(leaf)),
          evaluatorCalls: countCalls(root),
        })),
      },
      'loo',
    );
    const [plan, other] = roots.map(({ answer }) => (answer.text === 'a' ? 'a' : 'b'));
    if (plan !== undefined && other !== undefined && credit !== null && credit !== undefined) {
      found.push({ plan, other, credit: credit.value });
    }
  }
  return found;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
/** Expected return of a round, V, and of a credit given its plan: Q - V. */
const exactCredit = ({ shares, values }: Team, plan: 'a' | 'b'): number =>
  values[plan] - (shares.a * values.a + shares.b * values.b);
/** Squared distance of each credit from its exact value given both plans, over the trials whose plans differ. */
const noise = (team: Team, of: readonly Trial[]): number[] =>
  of
    .filter(({ plan, other }) => plan !== other)
    .map(({ plan, other, credit }) => (credit - (team.values[plan] - team.values[other])) ** 2);

/** Percentile bootstrap over seeds of mean(first) / mean(second). */
function ratioInterval(
  first: readonly number[],
  second: readonly number[],
): { readonly value: number; readonly low: number; readonly high: number } {
  assert.equal(first.length, second.length);
  const ratios = Array.from({ length: 2000 }, (_, resample) => {
    const stream = openStream(1, resample);
    let [above, below] = [0, 0];
    for (let draw = 0; draw < first.length; draw++) {
      const place = Math.floor(uniform(stream, draw) * first.length);
      above += first[place] ?? 0;
      below += second[place] ?? 0;
    }
    return above / below;
  }).sort((a, b) => a - b);
  return { value: mean(first) / mean(second), low: ratios[4] ?? Number.NaN, high: ratios[1995] ?? Number.NaN };
}

describe('common random numbers', () => {
  const shown = new Map<Team, { readonly on: Trial[]; readonly off: Trial[] }>();
  before(async () => {
    for (const team of [COUPLED, UNRELATED]) {
      shown.set(team, { on: await trials(team, true), off: await trials(team, false) });
    }
  });
  const of = (team: Team): { readonly on: Trial[]; readonly off: Trial[] } => shown.get(team) ?? assert.fail();

  it('take the same plans on and off: only what continues them draws otherwise', () => {
    for (const team of [COUPLED, UNRELATED]) {
      const { on, off } = of(team);
      assert.deepEqual(
        on.map(({ plan, other }) => [plan, other]),
        off.map(({ plan, other }) => [plan, other]),
      );
      assert.ok(on.some(({ credit }, index) => credit !== off[index]?.credit));
    }
  });

  it('leave the mean credit of each plan at its exact value, on and off', () => {
    for (const team of [COUPLED, UNRELATED]) {
      for (const some of [of(team).on, of(team).off]) {
        for (const plan of ['a', 'b'] as const) {
          const credits = some.filter((trial) => trial.plan === plan).map(({ credit }) => credit);
          const centre = mean(credits);
          const deviation = Math.sqrt(mean(credits.map((credit) => (credit - centre) ** 2)) / (credits.length - 1));
          // 3.29 standard errors: 99.9 %.
          assert.ok(
            Math.abs(centre - exactCredit(team, plan)) < 3.29 * deviation,
            `${plan}: ${centre} against ${exactCredit(team, plan)}`,
          );
          assert.ok(deviation < 0.02, 'the interval is narrow enough to tell 0.16 from 0');
        }
      }
    }
  });

  it('make credits vary less where the returns of alternatives go together', () => {
    const { on, off } = of(COUPLED);
    const interval = ratioInterval(noise(COUPLED, on), noise(COUPLED, off));
    // Per replay: with one u for both, the returns differ with probability 0.7 - 0.3; with two, variances add up.
    const [qa, qb] = [COUPLED.values.a, COUPLED.values.b];
    const exact = (qa - qb - (qa - qb) ** 2) / (qa * (1 - qa) + qb * (1 - qb));
    assert.ok(interval.high < 1, JSON.stringify(interval));
    assert.ok(interval.low < exact && exact < interval.high, `${JSON.stringify(interval)} holds ${exact}`);
  });

  it('change nothing where they do not', () => {
    const { on, off } = of(UNRELATED);
    const interval = ratioInterval(noise(UNRELATED, on), noise(UNRELATED, off));
    assert.ok(interval.low < 1 && interval.high > 1 && interval.high - interval.low < 0.6, JSON.stringify(interval));
  });

  it('make replays of equal plans equal', () => {
    for (const team of [COUPLED, UNRELATED]) {
      for (const { plan, other, credit } of of(team).on) {
        if (plan === other) {
          assert.equal(credit, 0);
        }
      }
      assert.ok(of(team).off.some(({ plan, other, credit }) => plan === other && credit !== 0));
    }
  });
});
