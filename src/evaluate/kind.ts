/** What describes an evaluator: one file of src/evaluate/kinds and one row of the table in kinds.ts add one. */
import type { Problem } from '../domain/problem.ts';
import type { Evaluator } from './evaluator.ts';
import type { LadderRules } from './ladder.ts';
import type { Grader } from './math/grade.ts';
import type { ZebraRule } from './puzzles/zebra.ts';
import { entryPointOf } from './python/functionSource.ts';
import type { PassRule } from './python/rules.ts';

/** What evaluators are made of. */
export interface EvaluatorParts {
  /** What scores problems without tests where nothing else is chosen. */
  readonly plain: Evaluator;
  /** Compares the number or text that a message states. */
  readonly answer: Evaluator;
  /** Runs the user's command. */
  readonly command: Evaluator;
  /** Asks a model that scores by a rubric. */
  readonly judge: Evaluator;
  /** Adds up the points of the parts of a message. */
  readonly points: Evaluator;
  /** Checks a chain of letters. */
  readonly chain: Evaluator;
  /** Checks grids of houses, guesses of a secret number, and plans. */
  readonly puzzles: {
    readonly zebra: (by: ZebraRule) => Evaluator;
    readonly numbers: Evaluator;
    readonly blocksworld: Evaluator;
  };
  /** Compares answers as mathematics. */
  readonly math: (grader: Grader) => Evaluator;
  /**
   * Runs code against the tests of its problem.
   * @param answers scores problems without tests
   */
  readonly python: (rule: PassRule, name: string, answers: Evaluator) => Evaluator;
  /** Scores a program in two functions by its levels. */
  readonly ladder: (rules: LadderRules, name: string) => Evaluator;
}

export interface EvaluatorKind {
  /** The name that a configuration gives it. */
  readonly name: string;
  /** What it scores, in one sentence, for the help of configurations. */
  readonly words: string;
  /** Whether it runs the code of problems that have tests, which takes sandboxes and their time. */
  readonly runsCode: boolean;
  /** True: a message may get a part of what a solved one gets, which bounds what rounds can add up to. */
  readonly fractional?: true;
  /** Why it cannot score these problems, in one sentence; null where it can. */
  readonly fault: (problems: readonly Problem[]) => string | null;
  readonly make: (parts: EvaluatorParts) => Evaluator;
}

/** Of a kind that scores every problem. */
export const noFault = (): null => null;

/**
 * Why a kind cannot read what the answers of its problems are to be, in one sentence; null where it can.
 * @param wrong why an answer is not usable, as a part of a sentence; null where it is
 */
export function unusable(
  name: string,
  what: string,
  problems: readonly Problem[],
  wrong: (answer: string) => string | null,
): string | null {
  for (const { uid, answer } of problems) {
    const reason = wrong(answer);
    if (reason !== null) {
      const shown = JSON.stringify(uid.slice(0, 120));
      return `evaluator: ${name} needs ${what} in each answer, and that of problem ${shown} is none (${reason.slice(0, 200)}); change it, or choose evaluator: auto.`;
    }
  }
  return null;
}

/** Why a kind that compares with the answer cannot score these problems. */
export const blankAnswer = (name: string, problems: readonly Problem[]): string | null =>
  unusable(name, 'a text', problems, (answer) => (answer.trim() === '' ? 'it is blank' : null));

/** Why a kind that only runs tests cannot score these problems. */
export function withoutTests(name: string, problems: readonly Problem[]): string | null {
  const bare = problems.find(({ tests }) => tests === undefined);
  if (bare === undefined) {
    return null;
  }
  const uid = JSON.stringify(bare.uid.slice(0, 120));
  return `evaluator: ${name} runs tests, and problem ${uid} has none; give it tests, or choose evaluator: auto.`;
}

/** Why a kind that examines a helper and a main function cannot score these problems. */
export function withoutFunction(name: string, problems: readonly Problem[]): string | null {
  const bare = problems.find((problem) => entryPointOf(problem) === null);
  if (bare === undefined) {
    return null;
  }
  const uid = JSON.stringify(bare.uid.slice(0, 120));
  return `evaluator: ${name} runs tests of a function, and problem ${uid} ${bare.tests === undefined ? 'has none; give it tests' : 'names no function; give it an entry_point'}, or choose evaluator: auto.`;
}

/**
 * Why a kind that reads answers of a form of its own cannot score these problems.
 * @param example of such an answer
 */
export function withoutForm(
  name: string,
  isOne: (answer: string) => boolean,
  example: string,
  problems: readonly Problem[],
): string | null {
  const wrong = problems.find(({ answer }) => !isOne(answer));
  return wrong === undefined
    ? null
    : `evaluator: ${name} needs answers such as \`${example}\`, and that of problem ${JSON.stringify(wrong.uid.slice(0, 120))} is none; change it, or choose evaluator: auto.`;
}
