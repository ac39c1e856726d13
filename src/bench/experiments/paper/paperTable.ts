/**
 * `c3 bench paper-table`: every method on both bundled tasks over seeds, at the same budget and
 * after the same search of the learning rate. A stopped table continues after its last finished
 * run.
 */

import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { MEASURES, type Budget, type MethodRun, type Solved } from '../../../diagnostics/methods/methodComparison.ts';
import { buildMethodTable, type MethodTable } from '../../../diagnostics/methods/methodTable.ts';
import { EVALUATION_ROUNDS, type EvaluationKind } from '../../../domain/evaluation.ts';
import type { Ledger } from '../../../domain/run.ts';
import { diagnose, readEvaluationSamples } from '../../../engine/diagnose/diagnose.ts';
import { listContextSamples } from '../../../engine/diagnose/trainingCredit.ts';
import { parseRecipe, type Recipe, parseRecipeProtocol } from '../../../engine/recipe/recipe.ts';
import { EngineService } from '../../../engine/service.ts';
import { VERSION } from '../../../engine/version.ts';
import { writeFileAtomically } from '../../../runtime/files/wholeFile.ts';
import { CancelledError, C3Error } from '../../../shared/errors.ts';
import type { StoreReader } from '../../../store/types.ts';
import { solvedReturn } from '../../../team/rounds.ts';
import {
  getMethodWords,
  type MethodName,
  valuesStates,
  getContextEstimator,
} from '../../../training/methods/methods.ts';
import { makeFigure, describeHardware, type BenchFigure, type BenchOptions, type BenchReport } from '../../report.ts';
import { formatPaperPage, type PaperReport } from './paperPage.ts';
import { PaperRecord, readPaperRecipe, type KeptRun } from './paperRecord.ts';
import {
  FULL,
  QUICK,
  countSearchRuns,
  listSearchRuns,
  listTableParts,
  type PaperRun,
  type Scale,
  type TablePart,
  type Task,
  type TaskName,
} from './paperScale.ts';
import {
  pickBestRate,
  describeHardwareRuns,
  pickKeptRates,
  findOnlyHardware,
  makeSearchLines,
  computeStepsAtBudget,
  type Searched,
} from './paperSearch.ts';

export interface PaperTableOptions extends BenchOptions {
  /** The current folder. */
  readonly folder: string;
  /** Folder of the table and its runs, or null for the default folder. */
  readonly out?: string | null;
  /** A file of finished runs of another table to continue from, or null for none. */
  readonly from?: string | null;
}

/** The method whose tokens and seconds are the budgets of the others. */
const MATCHED: MethodName = 'magrpo';
const HARDWARE = describeHardware('CPU provider');
const ENVIRONMENT = `Node ${process.versions.node}, ${process.platform} ${process.arch}`;

/**
 * Makes the table in `.c3/paper-table`, or in the folder of --out. It writes a store with the runs
 * made here, runs.jsonl with all finished runs, table.json and table.html.
 * @throws CancelledError, with the finished runs kept; C3Error, also if runs of `from` were made
 * differently
 */
export const benchPaperTable = (options: PaperTableOptions): Promise<BenchReport> =>
  makePaperTable(options, options.quick ? QUICK : FULL);

/** Makes the table at a given scale. @param hardware name of this machine */
export async function makePaperTable(
  options: PaperTableOptions,
  scale: Scale,
  hardware: string = HARDWARE,
): Promise<BenchReport> {
  const { folder, quick } = options;
  const out = resolve(folder, options.out ?? join('.c3', quick ? 'paper-table-quick' : 'paper-table'));
  await mkdir(out, { recursive: true });
  const service = new EngineService(join(out, 'c3.sqlite'));
  try {
    // Locks the folder for all runs, because two tables in one folder would do the same work twice.
    return await service.keeping('c3 bench paper-table', options.signal, async () => {
      const from = options.from === undefined || options.from === null ? null : resolve(folder, options.from);
      const maker = { hardware, environment: ENVIRONMENT, version: VERSION };
      const record = await PaperRecord.open(join(out, 'runs.jsonl'), from, { scale, folder, maker });
      return new PaperTable(service, record, { out, hardware, options, scale }).make();
    });
  } finally {
    await service.close();
  }
}

interface Work {
  readonly out: string;
  readonly hardware: string;
  readonly options: PaperTableOptions;
  readonly scale: Scale;
}

/** A run of the table at a budget. */
interface Place {
  readonly budget: Budget;
  readonly run: PaperRun;
  /** True if the run gets diagnostics. */
  readonly sampled: boolean;
}

const toTableKey = (task: TaskName, seed: number, method: MethodName, budget: Budget): string =>
  JSON.stringify([task, seed, method, budget]);

class PaperTable {
  private readonly service: EngineService;
  private readonly record: PaperRecord;
  private readonly out: string;
  private readonly hardware: string;
  private readonly options: PaperTableOptions;
  private readonly scale: Scale;
  private readonly searched: KeptRun[] = [];
  /**
   * Runs by task, seed, method and budget. Later parts of the table include runs of earlier parts.
   */
  private readonly kept = new Map<string, { readonly made: KeptRun; readonly run: MethodRun }>();
  private done = 0;

  constructor(service: EngineService, record: PaperRecord, { out, hardware, options, scale }: Work) {
    this.service = service;
    this.record = record;
    this.out = out;
    this.hardware = hardware;
    this.options = options;
    this.scale = scale;
  }

  async make(): Promise<BenchReport> {
    for (const seed of this.scale.searchSeeds) {
      await this.search(seed);
    }
    const parts = listTableParts(this.scale).map((part) => this.placesOf(part));
    // Runs of earlier sessions are shown from the start.
    for (const place of parts.flat()) {
      this.take(place, this.known(place));
    }
    if (this.kept.size > 0) {
      await this.write();
    }
    for (const part of parts) {
      for (const place of part) {
        this.take(place, await this.measured(place));
      }
      await this.write();
    }
    return { suite: 'paper-table', figures: this.figures(), hardware: this.hardware };
  }

  /** Tries all rates with the first seed, and only the best of them with each further seed. */
  private async search(seed: number): Promise<void> {
    const { scale } = this;
    const before = seed === scale.searchSeeds[0] ? null : [...this.searched];
    const runs = listSearchRuns(
      scale,
      seed,
      (task, method, rate) => before === null || pickKeptRates(scale, task, method, before).has(rate),
    );
    for (const round of Map.groupBy(runs, ({ rate }) => rate).values()) {
      for (const run of round) {
        this.searched.push(await this.finished(run, false));
      }
      await this.write();
    }
  }

  private bestOf(task: Task, method: MethodName): Searched {
    return pickBestRate(task, method, this.searched);
  }

  private placesOf({ task, seed, methods, budgets }: TablePart): Place[] {
    const matched = this.bestOf(task, MATCHED).cost;
    return methods.flatMap((method) => {
      const { rate, cost } = this.bestOf(task, method);
      return budgets.map((budget): Place => {
        const steps = computeStepsAtBudget(budget, task.steps, cost, matched);
        return {
          budget,
          run: { part: 'table', task: task.name, method, seed, rate, steps },
          sampled: budget === 'calls' && task.seeds.indexOf(seed) < this.scale.sampledSeeds,
        };
      });
    });
  }

  private take({ budget, run: { task, seed, method } }: Place, made: KeptRun | null): void {
    if (made !== null) {
      const seconds = made.hardware === this.timedOn(task) ? made.run.seconds : null;
      this.kept.set(toTableKey(task, seed, method, budget), { made, run: { ...made.run, budget, seconds } });
    }
  }

  /** Returns the hardware of the task's search, whose times are compared, or null for several. */
  private timedOn(task: TaskName): string | null {
    return findOnlyHardware(this.searched.filter((one) => one.task === task));
  }

  /** Returns the kept run or null. At equal time, only the hardware of the search counts. */
  private known({ budget, run, sampled }: Place): KeptRun | null {
    const known = this.record.find(run, sampled ? this.scale.sample : null);
    return budget === 'seconds' && known?.hardware !== this.timedOn(run.task) ? null : known;
  }

  /** Returns the run, or null at equal time on other hardware than that of the search. */
  private async measured(place: Place): Promise<KeptRun | null> {
    const { budget, run, sampled } = place;
    const elsewhere = this.timedOn(run.task) !== this.hardware || this.record.find(run, null) !== null;
    return budget === 'seconds' && elsewhere ? this.known(place) : this.finished(run, sampled);
  }

  /**
   * Returns a kept run, or a stored run, which is resumed if it was stopped, or makes a new run.
   */
  private async finished(place: PaperRun, sampled: boolean): Promise<KeptRun> {
    const sample = sampled ? this.scale.sample : null;
    const known = this.record.find(place, sample);
    if (known !== null) {
      return known;
    }
    const run = await this.run(await readPaperRecipe(this.scale, place, this.options.folder));
    if (sampled) {
      await this.sample(run);
    }
    return this.record.keep(
      place,
      sample,
      this.service.reading((store) => readMethodRun(store, run, 'calls')),
    );
  }

  private async run(recipe: Recipe): Promise<string> {
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
      `${recipe.config.title}: ${((performance.now() - started) / 1000).toFixed(0)} s, run ${this.done} of this session`,
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
      // Remakes samples of earlier versions, which had no credits for methods with a value head.
      const stored = valuesStates(parseRecipe(store.runConfig(run), run).config);
      return listContextSamples(store, run).some(({ id }) => {
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
    return buildMethodTable(this.runs(), this.scale.methods);
  }

  private runs(): MethodRun[] {
    return [...this.kept.values()].map(({ run }) => run);
  }

  /** Returns the number of seeds of a task for which all of these methods have runs. */
  private seedsWith(task: Task, methods: readonly MethodName[]): number {
    return task.seeds.filter((seed) =>
      methods.every((method) => this.kept.has(toTableKey(task.name, seed, method, 'calls'))),
    ).length;
  }

  private async write(): Promise<void> {
    const { quick, from } = this.options;
    const { tasks, methods, first, ratesKept, sampledSeeds, run, sample } = this.scale;
    const settings = Object.fromEntries(
      Object.entries({
        ...Object.fromEntries(
          tasks.flatMap(({ name, seeds, steps, rates }): [string, number | string][] => [
            [`${name}: seeds`, seeds.length],
            [`${name}: steps at equal calls`, steps],
            [`${name}: learning rates tried`, rates.join(', ')],
          ]),
        ),
        ...run,
        'learning rates with further seeds': ratesKept,
        'seeds with diagnostics': sampledSeeds,
        ...sample,
      }).map(([key, value]) => [key, String(value)]),
    );
    const planned = countSearchRuns(this.scale);
    const made = [...this.searched, ...[...this.kept.values()].map((one) => one.made)];
    const all = [...new Map(made.map((one) => [one.run.run, one])).values()];
    const compared = first.methods.map((method) => getMethodWords(method).label).join(' and ');
    const report: PaperReport = {
      command: `c3 bench paper-table${quick ? ' --quick' : ''}${from === undefined || from === null ? '' : ` --continue ${from}`}`,
      hardware: describeHardwareRuns(all),
      finishedAt: new Date().toISOString(),
      quick,
      progress: [
        { of: 'runs of the search', done: this.searched.length, all: planned },
        ...tasks.flatMap((task) => [
          ...(first.methods.length === 0
            ? []
            : [
                {
                  of: `seeds of ${task.name} with ${compared}`,
                  done: this.seedsWith(task, first.methods),
                  all: task.seeds.length,
                },
              ]),
          { of: `seeds of ${task.name} with all methods`, done: this.seedsWith(task, methods), all: task.seeds.length },
        ]),
      ],
      settings,
      search: makeSearchLines(
        this.scale,
        this.searched,
        this.searched.length < planned ? null : (task, method) => this.bestOf(task, method).rate,
      ),
      table: this.table(),
    };
    await writeFileAtomically(
      join(this.out, 'table.json'),
      Buffer.from(`${JSON.stringify({ ...report, runs: this.runs() })}\n`),
    );
    await writeFileAtomically(join(this.out, 'table.html'), Buffer.from(formatPaperPage(report)));
    this.options.note(`${join(this.out, 'table.html')} holds ${all.length} runs`);
  }

  private figures(): BenchFigure[] {
    return this.table().rows.flatMap(({ task, budget, method, measures }) =>
      MEASURES.flatMap((name) => {
        const found = measures[name];
        return found === null
          ? []
          : [
              makeFigure(
                `${task}, equal ${budget}, ${method}: ${name}, mean of ${found.n} seeds`,
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

/**
 * Returns a finished run for the comparison of methods: its last evaluation, its newest diagnostic
 * sample if it has one, and the cost of its training. A run with an evaluation before or during
 * training is refused, because its ledger does not contain only the cost of training.
 * @throws C3Error('input') if the run is not finished or was evaluated before or during training
 */
export function readMethodRun(store: StoreReader, run: string, budget: Budget): MethodRun {
  const { method, seed, status } = store.run(run);
  const { config, ...recipe } = parseRecipe(store.runConfig(run), run);
  if (status !== 'done') {
    throw new C3Error('input', `Run ${run} is not finished; resume it with c3 run --resume ${run}.`);
  }
  if (config.steps > 0 && (config.evaluation.before || config.evaluation.every > 0)) {
    throw new C3Error(
      'input',
      `Run ${run} was evaluated before or during training, and its ledger does not separate the two; set evaluation.before: false and evaluation.every: 0.`,
    );
  }
  const protocol = parseRecipeProtocol({ config, ...recipe });
  const scored = solvedReturn(protocol);
  const last = (kind: EvaluationKind): Solved[] => {
    const round = EVALUATION_ROUNDS.find(
      (one) => one.kind === kind && one.stage === (config.steps > 0 ? 'after' : 'before'),
    );
    return readEvaluationSamples(store, run, round?.iteration ?? 0, scored).map((samples) => {
      const measured = samples.filter((value) => value !== null);
      return { solved: measured.filter((value) => value === 1).length, samples: measured.length };
    });
  };
  const steps = store.steps(run, 0, store.countSteps(run));
  const ledger = steps.at(-1)?.ledger;
  const sampled = listContextSamples(store, run).length > 0;
  const diagnosis = sampled
    ? diagnose(store, run, { origin: 'diagnostic', estimator: getContextEstimator(config), protocol })
    : null;
  return {
    task: config.task.name,
    budget,
    method,
    seed,
    run,
    greedy: last('greedy'),
    sampled: last('sampled'),
    // Null for mappo on an old sample without stored credits: its baseline is the value head's
    // estimate of a context, which the returns do not contain.
    fidelity: diagnosis?.fidelity.all?.value ?? null,
    variance: diagnosis?.variance?.value ?? null,
    influence: diagnosis?.distinctInfluence?.value ?? null,
    publishedInfluence: diagnosis?.influence?.value ?? null,
    contexts: diagnosis?.contexts ?? 0,
    evaluatorCalls: countRequestedEvaluations(ledger),
    tokens: ledger?.tokens ?? { prompt: 0, reused: 0, completion: 0 },
    decisions: ledger?.decisions ?? {},
    seconds: steps.length === 0 ? 0 : (store.run(run).summary?.seconds ?? 0),
    curve: steps.flatMap(({ iteration, metrics, ledger: spent }) =>
      metrics === null || metrics.meanReturn === null
        ? []
        : [
            {
              step: iteration,
              meanReturn: metrics.meanReturn,
              evaluatorCalls: countRequestedEvaluations(spent),
              tokens: spent.tokens.prompt + spent.tokens.completion,
            },
          ],
    ),
  };
}

/**
 * Counts the evaluations that a run requested, made or reused, by which the methods are matched.
 */
const countRequestedEvaluations = (ledger: Ledger | undefined): number =>
  (ledger?.evaluatorCalls ?? 0) + (ledger?.reusedEvaluations ?? 0);
