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
    /** Learning rates that every method tries on seeds outside the table; of one there is nothing to choose. */
    readonly rates: readonly number[];
  }[];
  /** In the order of rows. */
  readonly methods: readonly MethodName[];
  readonly budgets: readonly Budget[];
  /** The comparison that is made with all seeds before anything else of the table is; none where it has no method. */
  readonly first: { readonly methods: readonly MethodName[]; readonly budgets: readonly Budget[] };
  /** How many seeds of a task have diagnostics, which vary less from seed to seed than what is solved. */
  readonly sampledSeeds: number;
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

/**
 * The paper has ten samples and a budget of eight evaluator calls; the rest is that of the bundled teams. One thread:
 * then another program on another core does not change the seconds.
 */
export const FULL: Scale = {
  tasks: [
    // Two rates below and two above what an earlier search of four rates chose for every method.
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
 * The runs of the search with one seed: all methods and tasks at a rate, then at the next, so that what there is after
 * a stop compares all methods.
 * @param tries whether a method tries a rate with this seed
 */
export const searchRuns = (
  { tasks, methods }: Scale,
  seed: number,
  tries: (task: Task, method: MethodName, rate: number) => boolean,
): PaperRun[] =>
  [...new Set(tasks.flatMap(({ rates }) => rates))].flatMap((rate) =>
    tasks
      .filter(({ rates }) => rates.includes(rate))
      .flatMap((task) =>
        methods
          .filter((method) => methodWords(method).trains && tries(task, method, rate))
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

/** A piece of the table: methods of a task with one seed at some budgets. */
export interface TablePart {
  readonly task: Task;
  readonly seed: number;
  readonly methods: readonly MethodName[];
  readonly budgets: readonly Budget[];
}

/**
 * The table in the order in which it is measured: the first comparison with all its seeds, then all methods; seed by
 * seed, so that what there is after a stop compares methods.
 */
export function tableParts({ tasks, methods, budgets, first }: Scale): TablePart[] {
  const seeds = [...new Set(tasks.flatMap((task) => task.seeds))];
  return [first, { methods, budgets }]
    .filter((part) => part.methods.length > 0)
    .flatMap((part) =>
      seeds.flatMap((seed) =>
        tasks.filter((task) => task.seeds.includes(seed)).map((task) => ({ task, seed, ...part })),
      ),
    );
}

/** How many runs the whole search has. */
export function searchLength({ tasks, methods, searchSeeds, ratesKept }: Scale): number {
  const training = methods.filter((method) => methodWords(method).trains).length;
  const later = Math.max(0, searchSeeds.length - 1);
  const ofTask = ({ rates }: Task): number => rates.length + later * Math.min(ratesKept, rates.length);
  return searchSeeds.length === 0 ? 0 : training * tasks.reduce((sum, task) => sum + ofTask(task), 0);
}
