/** The training and evaluation sides of questions. The question alone decides, so that no seed can mix the sides. */

import { C3Error } from '../shared/errors.ts';
import { TEAM_SIZES, type TaskName } from '../shared/runNames.ts';
import { checkCount, yieldArithmetic } from './arithmetic/arithmetic.ts';
import { yieldBlocks } from './blocksworld/blocksworld.ts';
import { yieldChains } from './chain/chain.ts';
import { yieldHands } from './dealer/dealer.ts';
import type { DemonstratedProblem } from './demonstration.ts';
import { distinctFunctions } from './functions/functions.ts';
import { distinctHints } from './hints/hints.ts';
import { distinctLogic } from './logic/logic.ts';
import { distinctNumbers } from './numbers/numbers.ts';
import { distinctPythonProblems } from './python/python.ts';
import { distinctZebras } from './zebra/zebra.ts';

export { TASK_NAMES, type TaskName } from '../shared/runNames.ts';

const PROBLEMS: Readonly<
  Record<
    TaskName,
    (seed: string, levels: readonly number[] | undefined, sizes: readonly number[]) => Iterable<DemonstratedProblem>
  >
> = {
  arithmetic: yieldArithmetic,
  python: distinctPythonProblems,
  dealer: yieldHands,
  functions: distinctFunctions,
  logic: distinctLogic,
  chain: yieldChains,
  hints: distinctHints,
  zebra: distinctZebras,
  numbers: distinctNumbers,
  blocksworld: yieldBlocks,
};

export type Side = 'train' | 'evaluation';

/** One question in this number is for evaluation. */
const EVALUATION_PERIOD = 4;

export interface SplitRequest {
  /** The default is arithmetic. */
  readonly task?: TaskName;
  readonly seed: string;
  /** Number of training problems. */
  readonly train: number;
  /** Number of evaluation problems. */
  readonly evaluation: number;
  /** Weights of the levels, by position; missing ones are 0. */
  readonly levels?: readonly number[];
  /** Number of roles of the team; the default is every size that the task's teams have. */
  readonly roles?: number;
}

export type Split = Readonly<Record<Side, DemonstratedProblem[]>>;

/**
 * Returns the side of a question: evaluation if the first 8 hex digits of its uidSha are a multiple of
 * 4, else train.
 * @throws C3Error('input') if the text is not a SHA-256 in lowercase hex
 */
export function sideOf(uidSha: string): Side {
  if (!/^[0-9a-f]{64}$/u.test(uidSha)) {
    throw new C3Error(
      'input',
      `Cannot place ${JSON.stringify(uidSha.slice(0, 80))} in a split: give the 64 hex digits of a uidSha.`,
    );
  }
  return Number.parseInt(uidSha.slice(0, 8), 16) % EVALUATION_PERIOD === 0 ? 'evaluation' : 'train';
}

/**
 * Returns problems of a bundled task for both sides, from one sequence of draws. No question is on
 * both sides, also over calls with different seeds.
 * @throws C3Error('input') for impossible counts or invalid levels
 */
export function generateSplit(request: SplitRequest): Split {
  checkCount(request.train);
  checkCount(request.evaluation);
  const split: Split = { train: [], evaluation: [] };
  const { task = 'arithmetic', roles } = request;
  const sizes = roles === undefined ? TEAM_SIZES[task] : [roles];
  for (const problem of PROBLEMS[task](request.seed, request.levels, sizes)) {
    if (split.train.length === request.train && split.evaluation.length === request.evaluation) {
      break;
    }
    const side = sideOf(problem.uidSha);
    if (split[side].length < request[side]) {
      split[side].push(problem);
    }
  }
  return split;
}
