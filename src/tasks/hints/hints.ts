/**
 * The arithmetic task for a thinker and a solver, with hints in known shares: the levels are the kinds
 * of hints, and their weights are the shares. A thinker's message is its hint, a plan of two steps.
 *
 *   1, helps:     the question is only the story, and the solver needs the plan
 *   2, redundant: the question states the expression, and the solver needs no plan
 *   3, misleads:  the question states it, and also a wrong one, which the demonstrated thinker repeats
 */

import { C3Error } from '../../shared/errors.ts';
import { yieldArithmetic, workOutPlan } from '../arithmetic/arithmetic.ts';
import { toPlanned, type Demonstration, type PlannedProblem } from '../demonstration.ts';
import { HashedStream } from '../hashedStream.ts';
import { distinctQuestions, uidSha } from '../uid.ts';

/** A problem with the solver's message after an empty message of the thinker. */
export interface HintProblem extends PlannedProblem {
  readonly alone: string;
}

interface HintRule {
  readonly level: number;
  readonly hint: 'helps' | 'redundant' | 'misleads';
}

const RULES: readonly HintRule[] = [
  { level: 1, hint: 'helps' },
  { level: 2, hint: 'redundant' },
  { level: 3, hint: 'misleads' },
];
const DEFAULT_MIX: readonly number[] = [1, 1, 1];
const MOST_WEIGHTS = 4;
/** The stories of the two easiest levels of the arithmetic task, with two steps. */
const STORIES: readonly number[] = [1, 1];

/**
 * Yields every distinct question of a seed, without end.
 * @param levels weights of hints that help, are redundant and mislead; missing ones are 0. A fourth
 *   weight, which the default configuration has, is ignored.
 * @throws C3Error('input') for invalid levels
 */
export function distinctHints(seed: string, levels: readonly number[] = DEFAULT_MIX): Iterable<HintProblem> {
  const shares = levels.slice(0, RULES.length);
  const valid = levels.length <= MOST_WEIGHTS && shares.every((weight) => Number.isFinite(weight) && weight >= 0);
  if (!valid || !shares.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Hints [${levels.join(', ')}] are not valid: give the shares of hints that help, are redundant and mislead, from 0 up, at least one above 0.`,
    );
  }
  return distinctQuestions(drawProblems(seed, shares));
}

function* drawProblems(seed: string, levels: readonly number[]): Generator<HintProblem, void, undefined> {
  let index = 0;
  for (const { question: story, plan, answer } of yieldArithmetic(`hints-${seed}`, STORIES)) {
    const stream = new HashedStream(`hints\0${seed}\0${index}`);
    const { level, hint } = stream.weighted(RULES, levels);
    const slip = slipOf(plan, stream);
    const stated = hint === 'helps' ? '' : ` That is ${plan}.`;
    const question = `${story}${stated}${hint === 'misleads' ? ` Hint: ${slip}` : ''}`;
    const [right, wrong] = [demonstrated(plan), demonstrated(slip)];
    yield {
      uid: `hints-${seed}-${index}`,
      uidSha: uidSha(question),
      question,
      answer,
      source: 'hints',
      level,
      ...(hint === 'misleads' ? toPlanned(wrong, right) : toPlanned(right, wrong)),
      // The story alone has no plan to read, so the answer comes at once.
      alone: hint === 'helps' ? `#### ${answer}` : right.solution,
      short: hint !== 'misleads',
    };
    index++;
  }
}

const demonstrated = (plan: string): Demonstration => ({ plan, solution: workOutPlan(plan) });

/** Returns a plan with another last step, and with another result that is not negative. */
function slipOf(plan: string, stream: HashedStream): string {
  const [, before = '', operator = '+', operand = '1'] = /^(.*)([-+*/])(\d+)$/u.exec(plan) ?? [];
  const value = valueOf(plan);
  const slips = ['+', '-'].flatMap((sign) =>
    [-2, -1, 0, 1, 2].flatMap((off) => {
      const number = Number(operand) + off;
      const slip = `${before}${sign}${number}`;
      const result = valueOf(slip);
      return number < 1 || (sign === operator && off === 0) || result < 0 || result === value ? [] : [slip];
    }),
  );
  return stream.pick(slips);
}

const valueOf = (plan: string): number => Number(/#### (-?\d+)$/u.exec(workOutPlan(plan))?.[1]);
