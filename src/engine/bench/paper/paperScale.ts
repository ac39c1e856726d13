/** What the paper table is made with: tasks, seeds, steps, rates; and which runs the search of the rates has. */
import { BUDGETS, type Budget } from '../../../diagnostics/methods/methodComparison.ts';
import type { TASK_NAMES } from '../../../tasks/split.ts';
import { METHOD_NAMES, methodWords, type MethodName } from '../../../training/methods/methods.ts';

export type TaskName = (typeof TASK_NAMES)[number];

/** The paper's order. */
const ORDER: readonly string[] = ['sft', 'mappo', 'magrpo', 'c3_no_replay', 'c3_full_mean', 'c3'];
const METHODS = METHOD_NAMES.filter((name) => ORDER.includes(name)).toSorted(
  (a, b) => ORDER.indexOf(a) - ORDER.indexOf(b),
);

/** What a table is made with; all methods alike. */
export interface Scale {
  /** Steps end before the task is saturated, where every method would be level; as many seeds as show two points. */
  readonly tasks: readonly {
    readonly name: TaskName;
    readonly seeds: readonly number[];
    readonly steps: number;
    /** Of the search. */
    readonly searchSteps: number;
  }[];
  /** In the order of rows. */
  readonly methods: readonly MethodName[];
  readonly budgets: readonly Budget[];
  /** Learning rates that every method tries on seeds outside the table; of one there is nothing to choose. */
  readonly rates: readonly number[];
  readonly searchSeeds: readonly number[];
  /** How many rates each method tries with the seeds after the first: those that did best with it. */
  readonly ratesKept: number;
  /** Configuration keys of the table's runs, and what differs in those of the search. */
  readonly run: Readonly<Record<string, number>>;
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

/** The paper has ten samples and a budget of eight evaluator calls; the rest is that of the bundled teams. */
export const FULL: Scale = {
  tasks: [
    { name: 'arithmetic', seeds: upTo(5), steps: 8, searchSteps: 8 },
    { name: 'python', seeds: upTo(20), steps: 24, searchSteps: 12 },
  ],
  methods: METHODS,
  budgets: BUDGETS,
  rates: [3e-5, 5.6e-5, 1e-4, 1.8e-4, 3e-4, 5.6e-4, 1e-3],
  searchSeeds: [1000, 1001],
  ratesKept: 3,
  run: { instances_per_step: 32, evaluator_budget: 8, 'evaluation.instances': 256, 'evaluation.samples': 10 },
  search: { 'evaluation.samples': 4 },
  sample: { contexts: 40, alternatives: 8, replays: 4, valueSamples: 8 },
};
export const QUICK: Scale = {
  ...FULL,
  tasks: [
    { name: 'arithmetic', seeds: upTo(2), steps: 8, searchSteps: 8 },
    { name: 'python', seeds: upTo(2), steps: 8, searchSteps: 8 },
  ],
  rates: [1e-4],
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
 * The runs of the search with one seed: all methods and tasks at a rate, then at the next, so that what there is after
 * a stop compares all methods.
 * @param tries whether a method tries a rate with this seed
 */
export const searchRuns = (
  { tasks, methods, rates }: Scale,
  seed: number,
  tries: (task: TaskName, method: MethodName, rate: number) => boolean,
): PaperRun[] =>
  rates.flatMap((rate) =>
    tasks.flatMap(({ name, searchSteps }) =>
      methods
        .filter((method) => methodWords(method).trains && tries(name, method, rate))
        .map((method): PaperRun => ({ part: 'search', task: name, method, seed, rate, steps: searchSteps })),
    ),
  );

/** How many runs the whole search has. */
export function searchLength({ tasks, methods, rates, searchSeeds, ratesKept }: Scale): number {
  const training = methods.filter((method) => methodWords(method).trains).length;
  const later = Math.max(0, searchSeeds.length - 1) * Math.min(ratesKept, rates.length);
  return searchSeeds.length === 0 ? 0 : tasks.length * training * (rates.length + later);
}
