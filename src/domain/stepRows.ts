/** What the training steps of a run showed and cost, one row for each, as charts draw them. */
import type { Tokens } from './records.ts';
import type { StepMetrics } from './stepMetrics.ts';

/**
 * Five numbers of some values: quartiles by linear interpolation between order statistics (Hyndman and Fan's type 7, as
 * in R and NumPy).
 */
export interface Spread {
  readonly n: number;
  readonly low: number;
  readonly lower: number;
  readonly middle: number;
  readonly upper: number;
  readonly high: number;
}

/** What a step's messages were credited with. */
export interface StepCredits {
  /** In the order in which the roles first spoke. */
  readonly roles: readonly { readonly role: string; readonly spread: Spread }[];
  /** Mean over contexts of the population variance of their credits (C3 section 5.3); null where no context has two. */
  readonly variance: { readonly value: number; readonly contexts: number } | null;
}

/** Cost of a part of a run. */
export interface RoundCost {
  readonly evaluatorCalls: number;
  readonly tokens: Tokens;
}

/** What an agent contributed so far: its running mean, and the deviation. */
export interface AgentContribution {
  readonly role: string;
  readonly mean: number;
  readonly deviation: number;
}

export interface StepRow {
  readonly iteration: number;
  readonly metrics: StepMetrics;
  /** Of this step alone. */
  readonly cost: RoundCost;
  readonly episodes: number;
  readonly credits: StepCredits;
  /** What each agent contributed so far; of runs that credit by removal. */
  readonly contributions?: readonly AgentContribution[];
}

/** The five numbers; null without values. */
export function spreadOf(values: readonly number[]): Spread | null {
  const sorted = [...values].sort((a, b) => a - b);
  const quantile = (share: number): number => {
    const place = share * (sorted.length - 1);
    const below = sorted[Math.floor(place)] ?? 0;
    const above = sorted[Math.ceil(place)] ?? below;
    return below + (place - Math.floor(place)) * (above - below);
  };
  if (sorted.length === 0) {
    return null;
  }
  return {
    n: sorted.length,
    low: quantile(0),
    lower: quantile(0.25),
    middle: quantile(0.5),
    upper: quantile(0.75),
    high: quantile(1),
  };
}

/** The sum of two counts of tokens. */
export function addTokens(a: Tokens, b: Tokens): Required<Tokens> {
  return {
    prompt: a.prompt + b.prompt,
    reused: a.reused + b.reused,
    completion: a.completion + b.completion,
    reusedCompletion: (a.reusedCompletion ?? 0) + (b.reusedCompletion ?? 0),
  };
}

/** The sum of some costs. */
export function addCosts(...costs: readonly RoundCost[]): RoundCost {
  return costs.reduce<RoundCost>(
    (a, b) => ({ evaluatorCalls: a.evaluatorCalls + b.evaluatorCalls, tokens: addTokens(a.tokens, b.tokens) }),
    NO_COST,
  );
}

const NO_COST: RoundCost = { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 } };

/** What was spent between two states of a cumulative ledger. */
export function costBetween(before: RoundCost, after: RoundCost): RoundCost {
  const { prompt, reused, completion, reusedCompletion = 0 } = before.tokens;
  return {
    evaluatorCalls: after.evaluatorCalls - before.evaluatorCalls,
    tokens: addTokens(after.tokens, {
      prompt: -prompt,
      reused: -reused,
      completion: -completion,
      reusedCompletion: -reusedCompletion,
    }),
  };
}
