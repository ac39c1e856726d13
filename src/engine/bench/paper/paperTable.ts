/**
 * `c3 bench paper-table`: every method on both bundled tasks over seeds, at the same budget and after the same search;
 * continues where it was stopped.
 */
import { isDeepStrictEqual } from 'node:util';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writeWhole } from '../../../runtime/files/wholeFile.ts';
import { BUDGETS, MEASURES, type Budget, type MethodRun } from '../../../diagnostics/methods/methodComparison.ts';
import { methodTable, type MethodTable } from '../../../diagnostics/methods/methodTable.ts';
import { CancelledError } from '../../../shared/errors.ts';
import type { TASK_NAMES } from '../../../tasks/split.ts';
import { METHOD_NAMES, type MethodName, methodWords, valuesStates } from '../../../training/methods/methods.ts';
import { mean } from '../../../credit/describe.ts';
import { parseRecipe, readRecipe, type Recipe } from '../../recipe/recipe.ts';
import { EngineService } from '../../service.ts';
import { methodRunOf } from './methodRun.ts';
import { paperPage, type PaperReport } from './paperPage.ts';
import { figure, hardwareName, type BenchFigure, type BenchOptions, type BenchReport } from '../report.ts';

export interface PaperTableOptions extends BenchOptions {
  /** The current folder. */
  readonly folder: string;
  /** Where the table and its runs are kept; null for the usual place. */
  readonly out?: string | null;
}

type TaskName = (typeof TASK_NAMES)[number];

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
  /** Configuration keys of the table's runs, and what differs in those of the search. */
  readonly run: Readonly<Record<string, number>>;
  readonly search: Readonly<Record<string, number>>;
  /** S, J, c and J_V of the diagnostics. */
  readonly sample: {
    readonly contexts: number;
    readonly alternatives: number;
    readonly replays: number;
    readonly valueSamples: number;
  };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** The paper has ten samples and a budget of eight evaluator calls; the rest is that of the bundled teams. */
const FULL: Scale = {
  tasks: [
    { name: 'arithmetic', seeds: upTo(5), steps: 8, searchSteps: 8 },
    { name: 'python', seeds: upTo(20), steps: 24, searchSteps: 12 },
  ],
  methods: METHODS,
  budgets: BUDGETS,
  rates: [3e-5, 5.6e-5, 1e-4, 1.8e-4, 3e-4, 5.6e-4, 1e-3],
  searchSeeds: [1000, 1001],
  run: { instances_per_step: 32, evaluator_budget: 8, 'evaluation.instances': 256, 'evaluation.samples': 10 },
  search: { 'evaluation.samples': 4 },
  sample: { contexts: 40, alternatives: 8, replays: 4, valueSamples: 8 },
};
const QUICK: Scale = {
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
/** The method whose tokens and seconds the others get. */
const MATCHED: MethodName = 'magrpo';
type SearchLine = PaperReport['search'][number];

/**
 * Makes the table in a folder of its own, `.c3/paper-table` unless --out names one: a store with all runs, table.json,
 * table.html.
 * @throws CancelledError, keeping what was done; C3Error
 */
export const benchPaperTable = (options: PaperTableOptions): Promise<BenchReport> =>
  makePaperTable(options, options.quick ? QUICK : FULL);

/** The same at a scale of the caller's. */
export async function makePaperTable(options: PaperTableOptions, scale: Scale): Promise<BenchReport> {
  const out = resolve(options.folder, options.out ?? join('.c3', options.quick ? 'paper-table-quick' : 'paper-table'));
  await mkdir(out, { recursive: true });
  const service = new EngineService(join(out, 'c3.sqlite'));
  try {
    // Held from the first to the last run: two of them in one folder would only double the work.
    return await service.keeping('c3 bench paper-table', options.signal, () =>
      new PaperTable(service, out, options, scale).make(),
    );
  } finally {
    await service.close();
  }
}

type Task = Scale['tasks'][number];

/** What the search of a method came to; no cost where it does not train. */
interface Searched {
  readonly rate: number;
  readonly cost: Cost | null;
}
/** Of the search's runs, which take as many steps with every method. */
interface Cost {
  readonly tokens: number;
  readonly seconds: number;
}

/**
 * The steps of a run at a budget: as many as given at equal evaluator calls; else so many that they cost what those of
 * the matched method do.
 */
export function stepsAt(budget: Budget, steps: number, cost: Cost | null, matched: Cost | null): number {
  return budget === 'calls' || cost === null || matched === null
    ? steps
    : Math.max(1, Math.round((steps * matched[budget]) / cost[budget]));
}

class PaperTable {
  private readonly service: EngineService;
  private readonly out: string;
  private readonly options: PaperTableOptions;
  private readonly scale: Scale;
  private readonly searched: SearchLine[] = [];
  private readonly runs: MethodRun[] = [];
  private done = 0;

  constructor(service: EngineService, out: string, options: PaperTableOptions, scale: Scale) {
    this.service = service;
    this.out = out;
    this.options = options;
    this.scale = scale;
  }

  async make(): Promise<BenchReport> {
    const { tasks, methods } = this.scale;
    const searched = new Map<Task, ReadonlyMap<MethodName, Searched>>();
    for (const task of tasks) {
      const found = new Map<MethodName, Searched>();
      for (const method of methods) {
        found.set(method, await this.search(task, method));
      }
      searched.set(task, found);
    }
    // Seed by seed, so that what there is after a stop compares all methods.
    for (const seed of new Set(tasks.flatMap(({ seeds }) => seeds))) {
      for (const [task, found] of searched) {
        if (task.seeds.includes(seed)) {
          await this.methodsOf(task, seed, found);
          await this.write();
        }
      }
    }
    return { suite: 'paper-table', figures: this.figures(), hardware: hardwareName('CPU provider') };
  }

  /** All methods of a task with one seed, at each budget. */
  private async methodsOf(task: Task, seed: number, searched: ReadonlyMap<MethodName, Searched>): Promise<void> {
    const matched = searched.get(MATCHED)?.cost ?? null;
    for (const [method, { rate, cost }] of searched) {
      for (const budget of this.scale.budgets) {
        const steps = stepsAt(budget, task.steps, cost, matched);
        const run = await this.run(task.name, method, seed, rate, { ...this.scale.run, steps });
        if (budget === 'calls') {
          await this.sample(run);
        }
        this.runs.push(this.service.reading((store) => methodRunOf(store, run, budget)));
      }
    }
  }

  /** The rate with which a method solves most of what is sampled on the seeds of the search, and its cost there. */
  private async search(task: Task, method: MethodName): Promise<Searched> {
    const { rates, run, search, searchSeeds } = this.scale;
    if (!methodWords(method).trains) {
      return { rate: rates[0] ?? 0, cost: null };
    }
    const keys = { ...run, ...search, steps: task.searchSteps };
    const lines: (Omit<SearchLine, 'chosen'> & { readonly ids: readonly string[] })[] = [];
    for (const rate of rates) {
      const ids: string[] = [];
      for (const seed of searchSeeds) {
        ids.push(await this.run(task.name, method, seed, rate, keys));
      }
      const values = this.service.reading((store) =>
        ids.flatMap((id) => store.run(id).summary?.passAt1.after?.value ?? []),
      );
      lines.push({ task: task.name, method, rate, value: values.length === 0 ? null : mean(values), ids });
    }
    const best = lines.reduce((a, b) => ((b.value ?? -1) > (a.value ?? -1) ? b : a));
    if (rates.length > 1) {
      this.searched.push(...lines.map(({ ids: _, ...line }) => ({ ...line, chosen: line.rate === best.rate })));
    }
    const made = this.service.reading((store) => best.ids.map((id) => methodRunOf(store, id, 'calls')));
    return {
      rate: best.rate,
      cost: {
        tokens: mean(made.map(({ tokens }) => tokens.prompt + tokens.completion)),
        seconds: mean(made.map(({ seconds }) => seconds)),
      },
    };
  }

  /** A finished run of this kind: one that is stored, taken to its end where it was stopped, or a new one. */
  private async run(
    task: TaskName,
    method: MethodName,
    seed: number,
    rate: number,
    keys: Readonly<Record<string, number>>,
  ): Promise<string> {
    const title = `Paper table: ${task}, ${method}, seed ${String(seed)}, rate ${String(rate)}`;
    const overrides = Object.entries({
      ...keys,
      seed,
      'ppo.learning_rate': rate,
      snapshot_every: keys['steps'] ?? 1,
      checkpoint_every: 12,
      'evaluation.before': false,
      method,
      'task.name': task,
      title,
    });
    const recipe = await readRecipe(
      null,
      overrides.map(([key, value]) => `${key}=${JSON.stringify(value)}`),
      this.options.folder,
    );
    const started = performance.now();
    const known = this.stored(recipe);
    if (known?.status === 'done') {
      return known.id;
    }
    const { signal } = this.options;
    const control = { signal, onProgress: (): void => undefined };
    const { run } = await (known === null ? this.service.run(recipe, control) : this.service.resume(known.id, control));
    this.done++;
    this.options.note(
      `${title}: ${((performance.now() - started) / 1000).toFixed(0)} s, run ${String(this.done)} of this session`,
    );
    return run;
  }

  private stored({ config }: Recipe): { readonly id: string; readonly status: string } | null {
    return this.service.reading(
      (store) =>
        store
          .runs(0, store.countRuns())
          .find(
            ({ id, title }) =>
              title === config.title && isDeepStrictEqual(parseRecipe(store.runConfig(id), id).config, config),
          ) ?? null,
    );
  }

  private async sample(run: string): Promise<void> {
    const { signal } = this.options;
    const settings = { ...this.scale.sample, role: null, seed: 0 };
    const complete = this.service.reading((store) => {
      // Samples of a method with a value head were once made without its credits: those are made anew.
      const stored = valuesStates(parseRecipe(store.runConfig(run), run).config);
      return store.diagnosticSamples(run).some(({ id }) => {
        const buckets = store.diagnosticBuckets(id, 0, settings.contexts);
        return (
          buckets.length === settings.contexts &&
          (!stored || buckets.some(({ bucket }) => store.credits(bucket).length > 0))
        );
      });
    });
    if (complete) {
      return;
    }
    if (signal.aborted) {
      throw new CancelledError();
    }
    await this.service.sampleDiagnostics(run, settings, { signal });
  }

  private table(): MethodTable {
    return methodTable(this.runs, this.scale.methods);
  }

  private async write(): Promise<void> {
    const { quick } = this.options;
    const { tasks, rates, run, sample } = this.scale;
    const settings = Object.fromEntries(
      Object.entries({
        ...Object.fromEntries(
          tasks.flatMap(({ name, seeds, steps }) => [
            [`${name}: seeds`, seeds.length],
            [`${name}: steps at equal calls`, steps],
          ]),
        ),
        ...run,
        'learning rates tried': rates.join(', '),
        ...sample,
      }).map(([key, value]) => [key, String(value)]),
    );
    const report: PaperReport = {
      command: `c3 bench paper-table${quick ? ' --quick' : ''}`,
      hardware: hardwareName('CPU provider'),
      environment: `Node ${process.versions.node}, ${process.platform} ${process.arch}`,
      finishedAt: new Date().toISOString(),
      quick,
      settings,
      search: this.searched,
      table: this.table(),
    };
    await replaceFile(join(this.out, 'table.json'), `${JSON.stringify({ ...report, runs: this.runs })}\n`);
    await replaceFile(join(this.out, 'table.html'), paperPage(report));
    this.options.note(`${join(this.out, 'table.html')} holds ${String(this.runs.length)} runs`);
  }

  private figures(): BenchFigure[] {
    return this.table().rows.flatMap(({ task, budget, method, measures }) =>
      MEASURES.flatMap((name) => {
        const found = measures[name];
        return found === null
          ? []
          : [
              figure(
                `${task}, equal ${budget}, ${method}: ${name}, mean of ${String(found.n)} seeds`,
                found.mean,
                UNITS[name],
              ),
            ];
      }),
    );
  }
}

const UNITS: Readonly<Record<(typeof MEASURES)[number], string>> = {
  greedy: 'share',
  pass1: 'share',
  pass10: 'share',
  fidelity: '',
  variance: '',
  influence: 'nats',
  publishedInfluence: 'nats',
  tokens: '',
  evaluatorCalls: '',
  seconds: 's',
};

/** Whoever looks meanwhile sees the old file or the new one. */
async function replaceFile(path: string, text: string): Promise<void> {
  await writeWhole(path, Buffer.from(text));
}
