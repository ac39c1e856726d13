/**
 * The interface of an environment, the source of events that no policy says. A new one needs one file
 * in src/environment/kinds and one row of the table in kinds.ts.
 */

import type { Json, SaidEvent, LogEvent } from '../domain/episode.ts';
import type { Examined } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';

/**
 * Asks a model. Each attempt number samples anew; equal arguments give equal answers if the policy
 * takes seeds.
 * @returns its answer, or one sentence on why there is none
 */
export type Ask = (
  prompt: { readonly system: string; readonly user: string },
  attempt: number,
) => Promise<{ readonly text: string } | { readonly failed: string }>;

export interface EnvironmentInput {
  readonly problem: Problem;
  /** All events so far. */
  readonly log: readonly LogEvent[];
  /** The messages of this round that it reads, in order. */
  readonly messages: readonly SaidEvent[];
  /** One value for each option of its kind. */
  readonly options: Readonly<Record<string, string>>;
  /**
   * Executes a program of two functions with some of the tests of a problem; absent if the evaluator
   * executes nothing.
   * @param slice the first n tests; the last |n| if it is negative; all tests for 0
   */
  readonly examine?: (problem: Problem, program: string, slice: number) => Promise<Examined>;
  /** Asks the policy of the role `expert`; absent if no episode is sampled. */
  readonly ask?: Ask;
  /** Returns the number at a place of the event's own stream, uniform in [0, 1). */
  readonly uniform: (place: number) => number;
}

export interface EnvironmentOutcome {
  /** The text for the roles; empty if there is nothing to read. */
  readonly text: string;
  readonly json?: Json;
  /** Texts to score instead of `text`: the reward is their mean, and 0 if there are none. */
  readonly answers?: readonly string[];
  /** The reason why the episode ends here, in a few words. */
  readonly done?: string;
  /** False if this outcome is recorded as it came, although its kind is derived. */
  readonly derived?: false;
}

/** An option that is a whole number, as text; some words may stand for 0. */
export interface WholeOption {
  /** The default value. */
  readonly number: string;
  readonly all: readonly string[];
}

export interface EnvironmentKind {
  /** The name in protocols. */
  readonly name: string;
  /** Describes its addition to an episode in one sentence. */
  readonly words: string;
  /** The values of each option; the first is the default. */
  readonly options: Readonly<Record<string, readonly [string, ...string[]] | WholeOption>>;
  /**
   * True if `run` gives equal outcomes for equal input, so that an event can be executed again. False if
   * its outcome is recorded as it came.
   */
  readonly derived: boolean;
  /** True if it executes code of messages. */
  readonly runsCode?: boolean;
  readonly run: (input: EnvironmentInput) => EnvironmentOutcome | Promise<EnvironmentOutcome>;
}
