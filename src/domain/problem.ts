/** A problem: one task item, whose text is the question; and the rows of lists of problems. */

import type { Headline } from '../shared/credit/headline.ts';
import type { BlameVerdict, Chance } from './answer.ts';
import type { Phase } from './episode.ts';

/**
 * One item of a task: a question, and what scores the answers to it.
 * @term problem
 */
export interface Problem {
  readonly uid: string;
  /** SHA-256 of the question, NFC, its newlines and trailing spaces normalised. */
  readonly uidSha: string;
  readonly question: string;
  /**
   * The text that a message is compared with. For a problem with tests, a reference solution, empty if
   * none is known.
   */
  readonly answer: string;
  readonly source: string;
  readonly level: number | null;
  /** The tests that score a message of code; absent if the answer scores it. */
  readonly tests?: ProblemTests;
}

/**
 * Unit tests in Python, in the forms of MBPP (`tests`, `setup`), MBPP+ (`test`) and HumanEval (`test`,
 * `entryPoint`, `prefix`).
 */
export interface ProblemTests {
  /** Statements, each a test of its own. */
  readonly tests: readonly string[];
  /** A whole test program; empty if there is none. */
  readonly test: string;
  /** The function that check(candidate) receives; null if tests call the candidate by its own names. */
  readonly entryPoint: string | null;
  /** Code that runs before the tests. */
  readonly setup: string;
  /** Code that a message continues; it goes in front of the message. Empty if a message is complete code. */
  readonly prefix: string;
  /** Present if a message is not code but states the value that `entryPoint` returns, as in AutoLogi. */
  readonly reads?: 'value';
}

export interface RightAnswer {
  readonly answer: string;
  readonly evaluator: 'auto' | 'pattern';
}

const NUMBER = /^[+\-\u2212]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\/\d+|\s*%)?$/u;

/**
 * Returns the answer and the evaluator of a right answer. A message must state it if it is a number;
 * any other text must be somewhere in the message.
 */
export function rightAnswer(said: string): RightAnswer {
  const text = said.trim();
  return NUMBER.test(text)
    ? { answer: text, evaluator: 'auto' }
    : { answer: text.replaceAll(/[\\^$.*+?()[\]{}|]/gu, '\\$&'), evaluator: 'pattern' };
}

/** Returns the evaluator of an answer from `rightAnswer`. */
export const chooseAnswerEvaluator = (answer: string): RightAnswer['evaluator'] =>
  NUMBER.test(answer) ? 'auto' : 'pattern';

/** The columns that sort rows; `appearance` is the order in which the run came to the problems. */
export const PROBLEM_COLUMNS = [
  'appearance',
  'question',
  'outcome',
  'before',
  'after',
  'return',
  'credit',
  'chance',
  'lostBy',
  'class',
  'tokens',
  'seconds',
  'calls',
  'byHand',
  'tags',
] as const;

export type ProblemColumn = (typeof PROBLEM_COLUMNS)[number];

/**
 * won: the mean return reaches that of solved episodes. lost: the mean return is the least. between:
 * it lies between the two. changed, improved and worsened compare the first known outcome with the
 * latest one.
 */
export const OUTCOME_FILTERS = ['all', 'lost', 'between', 'won', 'changed', 'improved', 'worsened'] as const;

export type OutcomeFilter = (typeof OUTCOME_FILTERS)[number];

/** decided: helped or hurt; none: no message was compared with another. */
export const VERDICT_FILTERS = ['all', 'helped', 'hurt', 'undecided', 'none'] as const;

export type VerdictFilter = (typeof VERDICT_FILTERS)[number];

/** The part of the task that a problem came up in. */
export const SPLIT_FILTERS = ['all', 'train', 'evaluation'] as const;

export type SplitFilter = (typeof SPLIT_FILTERS)[number];

export interface ProblemFilter {
  readonly outcome: OutcomeFilter;
  readonly verdict: VerdictFilter;
  readonly split: SplitFilter;
  /** The role of the clearest credit; null for any. */
  readonly role: string | null;
  /** A taxonomy class, or NOT_CLASSIFIED; null for any. */
  readonly className: string | null;
  /** Words, each optionally after `level:`, `source:`, `uid:`, `question:`, `message:`, `tag:`, `note:`. */
  readonly search: string;
}

export const NO_PROBLEM_FILTER: ProblemFilter = {
  outcome: 'all',
  verdict: 'all',
  split: 'all',
  role: null,
  className: null,
  search: '',
};

/** The class name of a problem without a known class. */
export const NOT_CLASSIFIED = 'not classified';

export interface ProblemSort {
  readonly column: ProblemColumn;
  readonly descending: boolean;
}

/** The default order: the clearest credit first. */
export const CLEAREST_FIRST: ProblemSort = { column: 'credit', descending: true };

/** The search results for the lost episode of a problem in the last evaluation. */
export interface LostProblem {
  readonly verdict: BlameVerdict;
  /** The chance of success before the first message, as a share of the highest return. */
  readonly start: Chance;
  /**
   * The role whose message lost it, and its change as a share of the highest return; null if no message
   * is named.
   */
  readonly role: string | null;
  readonly drop: number | null;
}

/** The search results for one problem, by its uidSha. */
export interface LostProblemRow extends LostProblem {
  readonly problem: string;
}

/** Decided episodes first, among them those with the highest chance at the start. */
export const LOST_FIRST: ProblemSort = { column: 'lostBy', descending: true };

/** Returns the sort key of a lost problem: the verdict first, then the chance at the start. */
export const lossSortKey = ({ verdict, start }: LostProblem): number =>
  ['rare', 'undecided', 'several', 'message'].indexOf(verdict) + Math.min(0.999, start.value);

/** The taxonomy class of a problem: the one that most of its buckets have. */
export interface ProblemClass {
  readonly name: string;
  /** Buckets of this class, and all buckets of the problem; requested replays are left out. */
  readonly cases: number;
  readonly of: number;
}

/** The class of one problem, by its uidSha. */
export interface ProblemClassRow extends ProblemClass {
  readonly problem: string;
}

/** One point of an outcome sparkline: the mean return of the problem's episodes in one round. */
export interface ProblemRound {
  readonly phase: Phase;
  readonly iteration: number;
  /** Null if every evaluation failed. */
  readonly mean: number | null;
  readonly episodes: number;
}

/** The clearest credit of a problem, with its message. */
export interface ClearestCredit {
  readonly message: number;
  readonly role: string;
  readonly text: string;
  readonly credit: Headline;
}

/** One problem in one run. Costs are the run's own; replay requests are left out. */
export interface ProblemRow {
  readonly id: number;
  /** Hash of the normalized question. */
  readonly problem: string;
  readonly uid: string;
  readonly source: string;
  readonly level: number | null;
  /** At most QUESTION_LIMIT characters. */
  readonly question: string;
  readonly cut: boolean;
  /** Rounds in the order of time: at most MOST_ROUNDS, evenly thinned out if there are more. */
  readonly rounds: readonly ProblemRound[];
  readonly greedyBefore: number | null;
  readonly sampledBefore: number | null;
  readonly greedyAfter: number | null;
  readonly sampledAfter: number | null;
  /** Mean return of its scored training episodes. */
  readonly meanReturn: number | null;
  readonly returns: number;
  readonly masked: number;
  readonly clearest: ClearestCredit | null;
  /** Mean of the scores that the user gave its episodes, or null if there are none. */
  readonly handScore: number | null;
  /** Number of these scores that are the return of the episode because nothing else scored it. */
  readonly handReturns: number;
  /** The tags of its episodes, each tag once. */
  readonly tags: readonly string[];
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly completion: number };
  /**
   * Its share, by tokens, of the seconds of its training steps; null if it was not trained on, or while
   * the step has not finished.
   */
  readonly seconds: number | null;
  readonly evaluatorCalls: number;
}

export const QUESTION_LIMIT = 4000;

export const MOST_ROUNDS = 64;

/** The choices of the filters of a run's problems, and numbers of problems. */
export interface ProblemFacets {
  readonly total: number;
  readonly trained: number;
  readonly evaluated: number;
  /** Roles that said a clearest message, in alphabetical order. */
  readonly roles: readonly string[];
  /** Columns with a value for at least one problem of the run. Classes are not in the store. */
  readonly filled: readonly ProblemColumn[];
}
