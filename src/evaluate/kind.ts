/** Descriptions of evaluators. A new one takes a file in src/evaluate/kinds and a row in kinds.ts. */

import type { Problem } from '../domain/problem.ts';
import type { Evaluator } from './evaluator.ts';
import type { LadderRules } from './ladder.ts';
import type { Grader } from './math/grade.ts';
import type { ZebraRule } from './puzzles/zebra.ts';
import { findEntryPoint } from './python/functionSource.ts';
import type { PassRule } from './python/rules.ts';

/** The parts that evaluators are made from. */
export interface EvaluatorParts {
  /** Scores problems without tests if the configuration names no other evaluator for them. */
  readonly plain: Evaluator;
  /** Compares the number or text that a message states. */
  readonly answer: Evaluator;
  readonly command: Evaluator;
  readonly judge: Evaluator;
  /** Adds up the points of the parts of a message. */
  readonly points: Evaluator;
  readonly chain: Evaluator;
  /** Checks grids of houses, guesses of a secret number, and plans. */
  readonly puzzles: {
    readonly zebra: (by: ZebraRule) => Evaluator;
    readonly numbers: Evaluator;
    readonly blocksworld: Evaluator;
  };
  readonly math: (grader: Grader) => Evaluator;
  /**
   * Runs code against the tests of its problem.
   * @param answers scores problems without tests
   */
  readonly python: (rule: PassRule, name: string, answers: Evaluator) => Evaluator;
  /** Scores a program of two functions by its levels. */
  readonly ladder: (rules: LadderRules, name: string) => Evaluator;
}

export interface EvaluatorKind {
  /** The name that a configuration gives it. */
  readonly name: string;
  /** A description of the score in one sentence, for the help of configurations. */
  readonly words: string;
  /** True if it runs the code of problems with tests, which takes sandboxes and their time. */
  readonly runsCode: boolean;
  /** True if a message can get a part of the full score, which bounds the sum over rounds. */
  readonly fractional?: true;
  /** Returns the reason why it cannot score these problems, in one sentence, or null if it can. */
  readonly fault: (problems: readonly Problem[]) => string | null;
  readonly make: (parts: EvaluatorParts) => Evaluator;
}

/** The `fault` of a kind that scores every problem. */
export const findNoFault = (): null => null;

/**
 * Returns the reason why a kind cannot read the answers of its problems, in one sentence, or null if
 * it can.
 * @param wrong returns the reason why an answer is not usable, as part of a sentence, or null if it is
 */
export function findUnusableAnswer(
  name: string,
  what: string,
  problems: readonly Problem[],
  wrong: (answer: string) => string | null,
): string | null {
  for (const { uid, answer } of problems) {
    const reason = wrong(answer);
    if (reason !== null) {
      const shown = JSON.stringify(uid.slice(0, 120));
      return `evaluator: ${name} needs ${what} in each answer, and the answer of problem ${shown} is not one (${reason.slice(0, 200)}); change it, or choose evaluator: auto.`;
    }
  }
  return null;
}

/** Returns the reason why a kind that compares with the answer cannot score these problems, or null. */
export const findBlankAnswer = (name: string, problems: readonly Problem[]): string | null =>
  findUnusableAnswer(name, 'a text', problems, (answer) => (answer.trim() === '' ? 'it is blank' : null));

/** Returns the reason why a kind that only runs tests cannot score these problems, or null. */
export function findProblemWithoutTests(name: string, problems: readonly Problem[]): string | null {
  const bare = problems.find(({ tests }) => tests === undefined);
  if (bare === undefined) {
    return null;
  }
  const uid = JSON.stringify(bare.uid.slice(0, 120));
  return `evaluator: ${name} runs tests, and problem ${uid} has none; give it tests, or choose evaluator: auto.`;
}

/** Returns the reason why a kind that examines two functions cannot score these problems, or null. */
export function findProblemWithoutFunction(name: string, problems: readonly Problem[]): string | null {
  const bare = problems.find((problem) => findEntryPoint(problem) === null);
  if (bare === undefined) {
    return null;
  }
  const uid = JSON.stringify(bare.uid.slice(0, 120));
  return `evaluator: ${name} runs tests of a function, and problem ${uid} ${bare.tests === undefined ? 'has none; give it tests' : 'names no function; give it an entry_point'}, or choose evaluator: auto.`;
}

/**
 * Returns the reason why a kind that reads answers of its own form cannot score these problems, or
 * null.
 * @param example an answer of that form
 */
export function findAnswerWithoutForm(
  name: string,
  isOne: (answer: string) => boolean,
  example: string,
  problems: readonly Problem[],
): string | null {
  const wrong = problems.find(({ answer }) => !isOne(answer));
  return wrong === undefined
    ? null
    : `evaluator: ${name} needs answers such as \`${example}\`, and the answer of problem ${JSON.stringify(wrong.uid.slice(0, 120))} has another form; change it, or choose evaluator: auto.`;
}
