/** Runs of methods on tasks, and comparisons of two methods on the same problems and seeds. */

import { mean } from '../../credit/describe.ts';
import { studentInterval } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';
import { C3Error } from '../../shared/errors.ts';
import { passAtK } from '../statistics/passAtK.ts';
import type { Pair } from '../statistics/rank.ts';
import { pairedTTest, signFlipTest, type PairedTest } from '../statistics/seeds.ts';

/** One point of a training run, after a step. */
export interface CurvePoint {
  readonly step: number;
  readonly meanReturn: number;
  /** Evaluator calls of training up to this step, as for `tokens`. */
  readonly evaluatorCalls: number;
  readonly tokens: number;
}

/** The results of one problem, without masked episodes. */
export interface Solved {
  /** Episodes that solved it. */
  readonly solved: number;
  /** All episodes that were scored. */
  readonly samples: number;
}

/**
 * The quantity that is equal for all methods in a comparison: the evaluator calls, as in the paper,
 * the tokens of training, or its seconds.
 */
export const BUDGETS = ['calls', 'tokens', 'seconds'] as const;
export type Budget = (typeof BUDGETS)[number];

/** A finished run, as the input of the table. */
export interface MethodRun {
  readonly task: string;
  readonly budget: Budget;
  readonly method: string;
  readonly seed: number;
  /** The run's name in the store. */
  readonly run: string;
  /** One per held-out problem, in their order; the same problems for all methods of a task and seed. */
  readonly greedy: readonly Solved[];
  readonly sampled: readonly Solved[];
  /** Null where it was not measured. */
  readonly fidelity: number | null;
  readonly variance: number | null;
  /**
   * Influence between distinct texts, minus its permutation null; `publishedInfluence` is by the
   * published formula.
   */
  readonly influence: number | null;
  readonly publishedInfluence: number | null;
  /** Contexts on which fidelity, variance and influence were measured. */
  readonly contexts: number;
  /** Calls of training alone, as for `tokens`. */
  readonly evaluatorCalls: number;
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly completion: number };
  readonly decisions: Readonly<Record<string, number>>;
  /** Null if seconds cannot be compared, because the run used other hardware. */
  readonly seconds: number | null;
  readonly curve: readonly CurvePoint[];
}

/** Pass@1 is first: the mean of ten samples is more robust than one greedy answer. */
export const MEASURES = [
  'pass1',
  'greedy',
  'pass10',
  'fidelity',
  'variance',
  'influence',
  'publishedInfluence',
  'tokens',
  'evaluatorCalls',
  'seconds',
] as const;
export type MeasureName = (typeof MEASURES)[number];

/** Two methods of a task at one budget on the same problems and seeds: second - first. */
export interface MethodComparison {
  readonly task: string;
  readonly budget: Budget;
  readonly first: string;
  readonly second: string;
  readonly measure: MeasureName;
  /**
   * Student's t over the differences of the seeds. The paper's interval resamples problems within seeds
   * (appendix G), and so omits the variation between seeds of training.
   */
  readonly difference: Interval;
  /** Over seeds; null for more than 20. */
  readonly signFlip: PairedTest | null;
  /** Over seeds; null for fewer than two, or equal differences. */
  readonly pairedT: PairedTest | null;
}

/** Least number of samples for an estimate of pass@10. */
const TEN = 10;

/** Returns one measure of a run, or null if it was not measured. */
export function readMeasure(run: Omit<MethodRun, 'budget'>, name: MeasureName): number | null {
  if (name === 'tokens') {
    return run.tokens.prompt + run.tokens.completion;
  }
  if (name === 'greedy' || name === 'pass1' || name === 'pass10') {
    const values = listProblemValues(run, name).filter((value) => value !== null);
    return values.length === 0 ? null : mean(values);
  }
  return run[name];
}

type AccuracyName = 'greedy' | 'pass1' | 'pass10';

/** Returns the value of each held-out problem, in order; null if it is unknown. */
function listProblemValues(
  { greedy, sampled }: Pick<MethodRun, 'greedy' | 'sampled'>,
  name: AccuracyName,
): (number | null)[] {
  if (name === 'pass10') {
    return sampled.map(({ solved, samples }) => passAtK(samples, solved, TEN));
  }
  return (name === 'greedy' ? greedy : sampled).map(({ solved, samples }) => (samples === 0 ? null : solved / samples));
}

/**
 * Compares two methods over their common seeds. Null if no seed has the measure for both.
 * @throws C3Error('input') for runs of one seed on different problems
 */
export function compareMethods(
  first: readonly MethodRun[],
  second: readonly MethodRun[],
  measure: MeasureName,
): MethodComparison | null {
  const both = first
    .toSorted((a, b) => a.seed - b.seed)
    .flatMap((run) => second.filter(({ seed }) => seed === run.seed).map((other) => [run, other] as const));
  const pairs = both.flatMap(([one, other]): Pair[] => {
    checkSameProblems(one, other);
    const [a, b] = [readMeasure(one, measure), readMeasure(other, measure)];
    return a === null || b === null ? [] : [[a, b]];
  });
  const [head] = both;
  const over = studentInterval(pairs.map(([a, b]) => b - a));
  if (head === undefined || over === null) {
    return null;
  }
  return {
    task: head[0].task,
    budget: head[0].budget,
    first: head[0].method,
    second: head[1].method,
    measure,
    difference: over,
    signFlip: signFlipTest(pairs),
    pairedT: pairedTTest(pairs),
  };
}

/** Checks that two runs have the same number of problems. @throws C3Error('input') if they do not */
function checkSameProblems(one: MethodRun, other: MethodRun): void {
  for (const kind of ['greedy', 'sampled'] as const) {
    if (one[kind].length !== other[kind].length) {
      throw new C3Error(
        'input',
        `Runs ${one.run} and ${other.run} were evaluated on ${one[kind].length} and ${other[kind].length} problems; compare runs of one seed on the same ones.`,
      );
    }
  }
}
