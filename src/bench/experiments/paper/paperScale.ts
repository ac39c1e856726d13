/** The scale of the paper table: tasks, seeds, steps and rates, and its runs. */

import { BUDGETS, type Budget } from '../../../diagnostics/methods/methodComparison.ts';
import type { TASK_NAMES } from '../../../tasks/split.ts';
import { METHOD_NAMES, getMethodWords, type MethodName } from '../../../training/methods/methods.ts';

export type TaskName = (typeof TASK_NAMES)[number];

/** The methods in the order of the paper. */
const ORDER: readonly string[] = ['sft', 'mappo', 'magrpo', 'c3_no_replay', 'c3_full_mean', 'c3'];
const METHODS = METHOD_NAMES.filter((name) => ORDER.includes(name)).toSorted(
  (a, b) => ORDER.indexOf(a) - ORDER.indexOf(b),
);

/** The settings of a table. They are the same for all methods. */
export interface Scale {
  /**
   * Steps end before the task is saturated, because all methods would be level there. The number of
   * seeds is enough to show a difference of two points.
   */
  readonly tasks: readonly {
    readonly name: TaskName;
    readonly seeds: readonly number[];
    readonly steps: number;
    /** Steps of a run of the search. */
    readonly searchSteps: number;
    /** Learning rates that every method tries on other seeds. A single rate needs no choice. */
    readonly rates: readonly number[];
  }[];
  /** In the order of the rows. */
  readonly methods: readonly MethodName[];
  readonly budgets: readonly Budget[];
  /** The comparison that is measured first, with all seeds. Without methods there is none. */
  readonly first: { readonly methods: readonly MethodName[]; readonly budgets: readonly Budget[] };
  /** Number of seeds with diagnostics, which vary less between seeds than the solved share. */
  readonly sampledSeeds: number;
  readonly searchSeeds: readonly number[];
  /** Number of rates that each method tries with further seeds: the best ones of the first seed. */
  readonly ratesKept: number;
  /** Configuration keys of all runs. */
  readonly run: Readonly<Record<string, number>>;
  /** Configuration keys that differ in the runs of the search. */
  readonly search: Readonly<Record<string, number>>;
  readonly sample: SampleSettings;
}
/** S, J, c and J_V of the diagnostics. */
export interface SampleSettings {
  readonly contexts: number;
  readonly alternatives: number;
  readonly replays: number;
  readonly valueSamples: number;
}
export type Task = Scale['tasks'][number];

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/**
 * The paper has ten samples and a budget of eight evaluator calls. The other settings are those of
 * the bundled teams. One thread is used, so that a program on another core does not change the
 * seconds.
 */
export const FULL: Scale = {
  tasks: [
    // Two rates below and two above the one that an earlier search of four rates always chose.
    { name: 'arithmetic', seeds: upTo(5), steps: 8, searchSteps: 8, rates: [3e-5, 5.6e-5, 1e-4, 1.8e-4, 3e-4] },
    { name: 'python', seeds: upTo(20), steps: 24, searchSteps: 12, rates: [1e-4, 1.8e-4, 3e-4, 5.6e-4, 1e-3] },
  ],
  methods: METHODS,
  budgets: BUDGETS,
  first: { methods: ['magrpo', 'c3'], budgets: ['calls', 'tokens'] },
  sampledSeeds: 5,
  searchSeeds: [1000, 1001],
  ratesKept: 3,
  run: {
    instances_per_step: 32,
    evaluator_budget: 8,
    'evaluation.instances': 256,
    'evaluation.samples': 10,
    'device.threads': 1,
  },
  search: { 'evaluation.samples': 4 },
  sample: { contexts: 40, alternatives: 8, replays: 4, valueSamples: 8 },
};
export const QUICK: Scale = {
  ...FULL,
  tasks: [
    { name: 'arithmetic', seeds: upTo(2), steps: 8, searchSteps: 8, rates: [1e-4] },
    { name: 'python', seeds: upTo(2), steps: 8, searchSteps: 8, rates: [1e-4] },
  ],
  searchSeeds: [1000],
  run: { ...FULL.run, 'evaluation.instances': 64 },
  search: {},
  sample: { contexts: 10, alternatives: 4, replays: 2, valueSamples: 4 },
};

/** One run of the table, or of the search of the learning rate. */
export interface PaperRun {
  readonly part: 'search' | 'table';
  readonly task: TaskName;
  readonly method: MethodName;
  readonly seed: number;
  readonly rate: number;
  readonly steps: number;
}

/**
 * Returns the runs of the search with one seed: all methods and tasks at one rate, then at the
 * next, so that a stopped search compares all methods.
 * @param tries returns true if a method tries a rate with this seed
 */
export const listSearchRuns = (
  { tasks, methods }: Scale,
  seed: number,
  tries: (task: Task, method: MethodName, rate: number) => boolean,
): PaperRun[] =>
  [...new Set(tasks.flatMap(({ rates }) => rates))].flatMap((rate) =>
    tasks
      .filter(({ rates }) => rates.includes(rate))
      .flatMap((task) =>
        methods
          .filter((method) => getMethodWords(method).trains && tries(task, method, rate))
          .map((method): PaperRun => ({
            part: 'search',
            task: task.name,
            method,
            seed,
            rate,
            steps: task.searchSteps,
          })),
      ),
  );

/** A part of the table: methods of a task with one seed at some budgets. */
export interface TablePart {
  readonly task: Task;
  readonly seed: number;
  readonly methods: readonly MethodName[];
  readonly budgets: readonly Budget[];
}

/**
 * Returns the parts of the table in the order of measuring: the first comparison with all its
 * seeds, then all methods. Both go seed by seed, so that a stopped table compares methods.
 */
export function listTableParts({ tasks, methods, budgets, first }: Scale): TablePart[] {
  const seeds = [...new Set(tasks.flatMap((task) => task.seeds))];
  return [first, { methods, budgets }]
    .filter((part) => part.methods.length > 0)
    .flatMap((part) =>
      seeds.flatMap((seed) =>
        tasks.filter((task) => task.seeds.includes(seed)).map((task) => ({ task, seed, ...part })),
      ),
    );
}

/** Returns the number of runs of the whole search. */
export function countSearchRuns({ tasks, methods, searchSeeds, ratesKept }: Scale): number {
  const training = methods.filter((method) => getMethodWords(method).trains).length;
  const later = Math.max(0, searchSeeds.length - 1);
  const ofTask = ({ rates }: Task): number => rates.length + later * Math.min(ratesKept, rates.length);
  return searchSeeds.length === 0 ? 0 : training * tasks.reduce((sum, task) => sum + ofTask(task), 0);
}
