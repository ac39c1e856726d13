/** A problem: one task item. Its text is the question; a list of problems has a row for each. */
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
  /** What a message is compared with; beside tests, a reference solution, empty where none is known. */
  readonly answer: string;
  readonly source: string;
  readonly level: number | null;
  /** What scores a message of code; absent where the answer does. */
  readonly tests?: ProblemTests;
}

/**
 * Unit tests in Python. The forms of MBPP (`tests`, `setup`), MBPP+ (`test`) and HumanEval (`test`, `entryPoint`,
 * `prefix`).
 */
export interface ProblemTests {
  /** Statements, each a test of its own. */
  readonly tests: readonly string[];
  /** A whole program that tests; empty where there is none. */
  readonly test: string;
  /** The function that check(candidate) of `test` receives; null where the tests call the candidate by its names. */
  readonly entryPoint: string | null;
  /** Runs before the tests, where they run. */
  readonly setup: string;
  /** Code that a message continues from: it is before the message's own. Empty where a message is whole. */
  readonly prefix: string;
  /** Present where a message is no code: it states the value that `entryPoint` gives back, as AutoLogi has it. */
  readonly reads?: 'value';
}

export interface RightAnswer {
  readonly answer: string;
  readonly evaluator: 'auto' | 'pattern';
}

const NUMBER = /^[+\-\u2212]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\/\d+|\s*%)?$/u;

/** A number must be what a message states; any other text must be somewhere in it. */
export function rightAnswer(said: string): RightAnswer {
  const text = said.trim();
  return NUMBER.test(text)
    ? { answer: text, evaluator: 'auto' }
    : { answer: text.replaceAll(/[\\^$.*+?()[\]{}|]/gu, '\\$&'), evaluator: 'pattern' };
}

/** The evaluator of an answer that `rightAnswer` gave. */
export const evaluatorOfAnswer = (answer: string): RightAnswer['evaluator'] =>
  NUMBER.test(answer) ? 'auto' : 'pattern';

/** What rows are sorted by; `appearance` is the order in which the run came to them. */
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
 * won: the mean return reaches that of solved episodes; lost: it does not; between: it does not, and is above the
 * least. changed, improved, worsened compare the first known outcome with the latest one.
 */
export const OUTCOME_FILTERS = ['all', 'lost', 'between', 'won', 'changed', 'improved', 'worsened'] as const;

export type OutcomeFilter = (typeof OUTCOME_FILTERS)[number];

/** decided: helped or hurt; none: no message was compared with another. */
export const VERDICT_FILTERS = ['all', 'helped', 'hurt', 'undecided', 'none'] as const;

export type VerdictFilter = (typeof VERDICT_FILTERS)[number];

/** Which part of the task a problem came up in. */
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
  /** Words, and `level:`, `source:`, `uid:`, `question:`, `message:`, `tag:`, `note:` in front of one. */
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

/** The class of a problem of which no class is known. */
export const NOT_CLASSIFIED = 'not classified';

export interface ProblemSort {
  readonly column: ProblemColumn;
  readonly descending: boolean;
}

/** The clearest credit first: what a reader of a run looks for. */
export const CLEAREST_FIRST: ProblemSort = { column: 'credit', descending: true };

/** What searches found of the lost episode of a problem in the last evaluation. */
export interface LostProblem {
  readonly verdict: BlameVerdict;
  /** The chance of success before the first message, as a share of the highest return. */
  readonly start: Chance;
  /** The role whose message lost it, and what that changed, as a share likewise; null where none is named. */
  readonly role: string | null;
  readonly drop: number | null;
}

/** The same of one problem, by its uidSha. */
export interface LostProblemRow extends LostProblem {
  readonly problem: string;
}

/** Decided episodes first, among them those in which most was within reach. */
export const LOST_FIRST: ProblemSort = { column: 'lostBy', descending: true };

/** By which lost problems are ordered: what was found of them, then the chance at the start. */
export const lossOrder = ({ verdict, start }: LostProblem): number =>
  ['rare', 'undecided', 'several', 'message'].indexOf(verdict) + Math.min(0.999, start.value);

/** The taxonomy class of a problem: that of most of its buckets. */
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
  /** Null where every evaluation failed. */
  readonly mean: number | null;
  readonly episodes: number;
}

/** The clearest credit of a problem with its message. */
export interface ClearestCredit {
  readonly message: number;
  readonly role: string;
  readonly text: string;
  readonly credit: Headline;
}

/** What is known of one problem in one run. Costs are the run's own; replay requests are left out. */
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
  /** Rounds in the order of time; at most MOST_ROUNDS, thinned out evenly where there are more. */
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
  /** Mean of the scores that the user gave its episodes; null where none. */
  readonly handScore: number | null;
  /** How many of these are what the episode returned: nothing else scored it. */
  readonly handReturns: number;
  /** What its episodes are tagged with, each tag once. */
  readonly tags: readonly string[];
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly completion: number };
  /**
   * Its share, by tokens, of the seconds that its training steps took; null where it was not trained on, or the step
   * has not finished.
   */
  readonly seconds: number | null;
  readonly evaluatorCalls: number;
}

export const QUESTION_LIMIT = 4000;

export const MOST_ROUNDS = 64;

/** What the filters of a run's problems offer, and how many problems there are. */
export interface ProblemFacets {
  readonly total: number;
  readonly trained: number;
  readonly evaluated: number;
  /** Roles that said a clearest message, in alphabetical order. */
  readonly roles: readonly string[];
  /** Columns that some problem of the run fills; classes are not the store's. */
  readonly filled: readonly ProblemColumn[];
}
