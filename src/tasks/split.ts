/**
 * Which questions may be trained on and which only evaluated: decided by the question alone, so no seed can mix the
 * sides.
 */
import { C3Error } from '../shared/errors.ts';
import { TEAM_SIZES, type TaskName } from '../shared/runNames.ts';
import { checkCount, distinctProblems } from './arithmetic/arithmetic.ts';
import { distinctBlocks } from './blocksworld/blocksworld.ts';
import { distinctChains } from './chain/chain.ts';
import { distinctHands } from './dealer/dealer.ts';
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
  arithmetic: distinctProblems,
  python: distinctPythonProblems,
  dealer: distinctHands,
  functions: distinctFunctions,
  logic: distinctLogic,
  chain: distinctChains,
  hints: distinctHints,
  zebra: distinctZebras,
  numbers: distinctNumbers,
  blocksworld: distinctBlocks,
};

export type Side = 'train' | 'evaluation';

/** One question in four is evaluated. */
const EVALUATION_PERIOD = 4;

export interface SplitRequest {
  /** arithmetic unless set otherwise. */
  readonly task?: TaskName;
  readonly seed: string;
  /** Training problems wanted. */
  readonly train: number;
  /** Evaluation problems wanted. */
  readonly evaluation: number;
  /** Mix weights of the levels, by position; missing ones are 0. */
  readonly levels?: readonly number[];
  /** Roles of the team that is asked; every size that the task's teams have, unless set. */
  readonly roles?: number;
}

export type Split = Readonly<Record<Side, DemonstratedProblem[]>>;

/**
 * The side of a question: evaluation when the first 8 hex digits of its uidSha are a multiple of 4, else train.
 * @throws C3Error('input') when the text is no SHA-256 in lower-case hex
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
 * Problems of a bundled task for both sides, from one sequence of draws; no question is on both, whatever the seeds
 * of two calls.
 * @throws C3Error('input') for counts or levels that cannot be served
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
