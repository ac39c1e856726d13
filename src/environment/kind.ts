/**
 * What describes an environment: where events come from that no policy says. One file of src/environment/kinds and one
 * row of the table in kinds.ts add one.
 */
import type { Json, SaidEvent, LogEvent } from '../domain/episode.ts';
import type { Examined } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';

/**
 * Asks a model, sampled anew with each number of an attempt; the same for the same arguments where the policy takes
 * seeds.
 * @returns its answer, or one sentence why there is none
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
   * Executes a program in two functions against some of the tests of a problem; absent where the evaluator executes
   * nothing.
   * @param slice the first n tests, the last |n| where it is below 0, all for 0
   */
  readonly examine?: (problem: Problem, program: string, slice: number) => Promise<Examined>;
  /** Asks the policy of the role `expert`; absent where no episode is sampled. */
  readonly ask?: Ask;
  /** The number at a place of the event's own stream, uniform in [0, 1). */
  readonly uniform: (place: number) => number;
}

export interface EnvironmentOutcome {
  /** What the roles read; empty where there is nothing to read. */
  readonly text: string;
  readonly json?: Json;
  /** What an evaluator scores instead of the text: the mean over these, and 0 where there are none. */
  readonly answers?: readonly string[];
  /** Why the episode ends here, in a few words. */
  readonly done?: string;
  /** False where this one is recorded as it came, though its kind is derived. */
  readonly derived?: false;
}

/** An option that is a whole number, as text; some words may stand for 0. */
export interface WholeOption {
  /** What holds where a protocol gives none. */
  readonly number: string;
  readonly all: readonly string[];
}

export interface EnvironmentKind {
  /** The name that a protocol gives it. */
  readonly name: string;
  /** What it adds to an episode, in one sentence. */
  readonly words: string;
  /** The values of each option; the first holds where a protocol gives none. */
  readonly options: Readonly<Record<string, readonly [string, ...string[]] | WholeOption>>;
  /**
   * True: `run` gives the same outcome for the same input, so that an event can be executed again. False: what it gives
   * is recorded as it came.
   */
  readonly derived: boolean;
  /** Whether it executes code of messages. */
  readonly runsCode?: boolean;
  readonly run: (input: EnvironmentInput) => EnvironmentOutcome | Promise<EnvironmentOutcome>;
}
