/**
 * `c3 bench paper-table`: every method on both bundled tasks over seeds, at the same budget and after the same search;
 * continues where it was stopped.
 */
import { isDeepStrictEqual } from 'node:util';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writeWhole } from '../../../runtime/files/wholeFile.ts';
import { MEASURES, type MethodRun } from '../../../diagnostics/methods/methodComparison.ts';
import { methodTable, type MethodTable } from '../../../diagnostics/methods/methodTable.ts';
import { CancelledError } from '../../../shared/errors.ts';
import { TASK_NAMES } from '../../../tasks/split.ts';
import { METHOD_NAMES, type MethodName, methodWords, valuesStates } from '../../../training/methods/methods.ts';
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
const METHODS = METHOD_NAMES.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));

/** What a table is made with; all methods alike. */
export interface Scale {
  readonly tasks: readonly TaskName[];
  /** In the order of rows. */
  readonly methods: readonly MethodName[];
  readonly seeds: readonly number[];
  /** Learning rates that every method tries on a seed outside the table; of one there is nothing to choose. */
  readonly rates: readonly number[];
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

/**
 * The paper has five seeds, ten samples and a budget of eight evaluator calls; steps and sizes are those of the bundled
 * teams.
 */
const FULL: Scale = {
  tasks: TASK_NAMES,
  methods: METHODS,
  seeds: [0, 1, 2, 3, 4],
  rates: [3e-5, 1e-4, 3e-4, 1e-3],
  run: {
    steps: 24,
    instances_per_step: 32,
    evaluator_budget: 8,
    'evaluation.instances': 256,
    'evaluation.samples': 10,
  },
  search: { steps: 12, 'evaluation.samples': 4 },
  sample: { contexts: 40, alternatives: 8, replays: 4, valueSamples: 8 },
};
const QUICK: Scale = {
  tasks: TASK_NAMES,
  methods: METHODS,
  seeds: [0, 1],
  rates: [1e-4],
  run: { steps: 8, instances_per_step: 32, evaluator_budget: 8, 'evaluation.instances': 64, 'evaluation.samples': 10 },
  search: {},
  sample: { contexts: 10, alternatives: 4, replays: 2, valueSamples: 4 },
};
/** Of the search: not one of the table's. */
const SEARCH_SEED = 1000;
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

class PaperTable {
  private readonly service: EngineService;
  private readonly out: string;
  private readonly options: PaperTableOptions;
  private readonly scale: Scale;
  private readonly search: SearchLine[] = [];
  private readonly runs: MethodRun[] = [];
  private done = 0;

  constructor(service: EngineService, out: string, options: PaperTableOptions, scale: Scale) {
    this.service = service;
    this.out = out;
    this.options = options;
    this.scale = scale;
  }

  async make(): Promise<BenchReport> {
    const { seeds, tasks, methods } = this.scale;
    const rates = new Map<string, number>();
    for (const task of tasks) {
      for (const method of methods) {
        rates.set(`${task} ${method}`, await this.bestRate(task, method));
      }
    }
    // Seed by seed, so that what there is after a stop compares all methods.
    for (const seed of seeds) {
      for (const task of tasks) {
        for (const method of methods) {
          const run = await this.run(task, method, seed, rates.get(`${task} ${method}`) ?? 0, this.scale.run);
          await this.sample(run);
          this.runs.push(this.service.reading((store) => methodRunOf(store, run)));
        }
        await this.write();
      }
    }
    return { suite: 'paper-table', figures: this.figures(), hardware: hardwareName('CPU provider') };
  }

  /** The rate with which a method solves most of what is sampled on the seed of the search. */
  private async bestRate(task: TaskName, method: MethodName): Promise<number> {
    const { rates, run, search } = this.scale;
    const [first = 0] = rates;
    if (rates.length === 1 || !methodWords(method).trains) {
      return first;
    }
    const lines: Omit<SearchLine, 'chosen'>[] = [];
    for (const rate of rates) {
      const id = await this.run(task, method, SEARCH_SEED, rate, { ...run, ...search });
      lines.push({
        task,
        method,
        rate,
        value: this.service.reading((store) => store.run(id).summary)?.passAt1.after?.value ?? null,
      });
    }
    const best = lines.reduce((a, b) => ((b.value ?? -1) > (a.value ?? -1) ? b : a));
    this.search.push(...lines.map((line) => ({ ...line, chosen: line === best })));
    return best.rate;
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
    const { seeds, rates, run, sample } = this.scale;
    const settings = Object.fromEntries(
      Object.entries({ ...run, seeds: seeds.join(', '), 'learning rates tried': rates.join(', '), ...sample }).map(
        ([key, value]) => [key, String(value)],
      ),
    );
    const report: PaperReport = {
      command: `c3 bench paper-table${quick ? ' --quick' : ''}`,
      hardware: hardwareName('CPU provider'),
      environment: `Node ${process.versions.node}, ${process.platform} ${process.arch}`,
      finishedAt: new Date().toISOString(),
      quick,
      settings,
      search: this.search,
      table: this.table(),
    };
    await replaceFile(join(this.out, 'table.json'), `${JSON.stringify({ ...report, runs: this.runs })}\n`);
    await replaceFile(join(this.out, 'table.html'), paperPage(report));
    this.options.note(`${join(this.out, 'table.html')} holds ${String(this.runs.length)} runs`);
  }

  private figures(): BenchFigure[] {
    return this.table().rows.flatMap(({ task, method, measures }) =>
      MEASURES.flatMap((name) => {
        const found = measures[name];
        return found === null
          ? []
          : [figure(`${task}, ${method}: ${name}, mean of ${String(found.n)} seeds`, found.mean, UNITS[name])];
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
  tokens: '',
  evaluatorCalls: '',
  seconds: 's',
};

/** Whoever looks meanwhile sees the old file or the new one. */
async function replaceFile(path: string, text: string): Promise<void> {
  await writeWhole(path, Buffer.from(text));
}
