/** What the engine can do, for both of its doors: one run at a time, replays beside it, one writer of the store. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { realFile } from '../files/realFile.ts';
import { comparedCredits } from '../credit/compared.ts';
import { messageOfCase } from '../diagnostics/taxonomy.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { unlessCancelled } from '../replay/arrivals.ts';
import { capabilitiesOf, requireCapability } from '../team/rolePolicies.ts';
import { checkRequest, type ReplayControl } from '../replay/request.ts';
import { replayMessage } from '../replay/replayMessage.ts';
import {
  replaysOfMessage,
  verifyReplays,
  type PolicyLender,
  type VerificationReport,
  type VerifyControl,
} from '../replay/verify.ts';
import { AS_RECORDED } from '../shared/records/continuation.ts';
import { C3Error, CancelledError, messageOf } from '../shared/errors.ts';
import type { ContextTokens } from '../shared/transcript/contextTokens.ts';
import type { RunPlan } from '../shared/models.ts';
import type { BucketView, Decision, Replay, RunSummary } from '../shared/records/records.ts';
import type { ReplayResult } from '../shared/records/settle.ts';
import type { HolderPurpose } from '../shared/protocols/storeHolder.ts';
import {
  LABEL_AUTHOR,
  labelProblem,
  type LabelParams,
  type TaxonomyParams,
  type TaxonomyThresholds,
  type TaxonomyView,
} from '../shared/records/taxonomy.ts';
import { openStoreForReading, type StoreReader } from '../store/read/reader.ts';
import type { Label, StoreWriter } from '../store/write/writer.ts';
import { runSampling } from '../training/config.ts';
import { valuesStates } from '../training/methods/methods.ts';
import { snapshotAfter } from '../training/restore.ts';
import type { RunControl } from '../training/runContext.ts';
import { snapshotValue } from '../training/states.ts';
import { contextTokens } from './replay/contextTokens.ts';
import { modelGone, noteModel, otherModel, snapshotNamed, withModel } from './replay/continuation.ts';
import {
  sampleDiagnostics,
  type SampleControl,
  type SampleLender,
  type SampleSettings,
} from './diagnose/diagnoseSample.ts';
import { Evaluators } from './recipe/evaluators.ts';
import { exportWeights, type WeightFormat } from './exchange/exportWeights.ts';
import { templateRemark } from './recipe/fingerprint.ts';
import { ModelPool, type LentPolicy, type WeightsFinder } from './models/models.ts';
import { paced } from './run/pace.ts';
import { planRun } from './run/plan.ts';
import { parseRecipe, protocolOf, protocolOfRun, type Recipe, type StoredRecipe } from './recipe/recipe.ts';
import { checkSettle, decidedIn, withPairs, type EngineReplay } from './replay/settling.ts';
import { StoreHold, type Lease } from './run/storeHold.ts';
import { TaxonomyDesk } from './taxonomy/taxonomyDesk.ts';
import { taxonomyReport, type TaxonomyReport } from './taxonomy/taxonomyReport.ts';
import { readBuckets } from './taxonomy/taxonomyView.ts';
import { Timing } from './run/timing.ts';
import { trainHere, type Interrupted } from './run/trainHere.ts';
import { checkLength } from './replay/typedLength.ts';
import { Weights } from './replay/weights.ts';

const PAGE = 500;

export interface ServiceOptions {
  /** The command that works here, as it is typed; a window's engine where it is left out. */
  readonly command?: string;
  /** Hears for whom the store is waited for, in words; null when the wait is over. */
  readonly onWaiting?: (words: string | null) => void;
}

export class EngineService {
  readonly storePath: string;
  private readonly models = new ModelPool();
  private readonly evaluators = new Evaluators();
  private readonly taxonomies = new TaxonomyDesk();
  private readonly snapshotFolder: string;
  private readonly weights: Weights;
  private readonly timing: Timing;
  private readonly hold: StoreHold;
  private readonly options: ServiceOptions;
  private running = false;
  private closing = false;
  /** Work that goes on; close waits for its end. */
  private readonly active = new Set<Promise<unknown>>();

  constructor(storePath: string, options: ServiceOptions = {}) {
    this.storePath = storePath;
    this.options = options;
    this.snapshotFolder = join(dirname(realFile(storePath)), 'snapshots');
    this.timing = new Timing(storePath, this.models);
    this.weights = new Weights(this.models, this.snapshotFolder);
    this.hold = new StoreHold(storePath);
  }

  /** The store while it is held for work that writes. */
  private writer(): StoreWriter {
    return this.hold.writer();
  }

  /** A share of the writer lock, as soon as no other process has it. */
  private lease(purpose: HolderPurpose, cancelled: () => boolean, companions = purpose.kind === 'run'): Promise<Lease> {
    const { onWaiting } = this.options;
    return this.hold.lease(purpose, { cancelled, companions, ...(onWaiting !== undefined && { onWaiting }) });
  }

  /**
   * Works while this process has the writer lock, waiting for whoever has it; the store is brought up to date first.
   * @param work what the lock file says of it: what a window's engine does. A command is named as it was typed
   * @throws CancelledError while it waits; C3Error('store') for what waiting does not solve
   */
  async writing<Result>(
    what: string,
    cancelled: () => boolean,
    work: (store: StoreWriter) => Promise<Result> | Result,
  ): Promise<Result> {
    const { command } = this.options;
    const lease = await this.lease(
      command === undefined ? { kind: 'window', what } : { kind: 'command', what: command },
      this.stopping(cancelled),
    );
    try {
      return await this.tracked(Promise.resolve(work(lease.store)));
    } finally {
      lease.release();
    }
  }

  /** Keeps the writer lock over several pieces of work of this service. */
  async keeping<Result>(what: string, cancelled: () => boolean, work: () => Promise<Result>): Promise<Result> {
    const lease = await this.lease({ kind: 'command', what }, this.stopping(cancelled), true);
    try {
      return await work();
    } finally {
      lease.release();
    }
  }

  /** Reads without taking the writer lock, whoever holds it. */
  reading<Result>(work: (store: StoreReader) => Result): Result {
    if (this.hold.open !== undefined) {
      return work(this.hold.open);
    }
    const reader = openStoreForReading(this.storePath);
    try {
      return work(reader);
    } finally {
      reader.close();
    }
  }

  /** Reads in turns with other work. */
  private async readingOn<Result>(work: (store: StoreReader) => Promise<Result>): Promise<Result> {
    const reader = openStoreForReading(this.storePath);
    try {
      return await this.tracked(work(reader));
    } finally {
      reader.close();
    }
  }

  /**
   * What a run would need, cost and take. A small model is tried for a moment where no earlier run shows how fast it
   * is.
   * @throws C3Error as starting it would
   */
  plan(recipe: Recipe, cancelled: () => boolean = () => false): Promise<RunPlan> {
    return this.tracked(
      planRun(recipe, this.models.texts, (inputs) => this.timing.ofPlan(recipe, inputs), this.stopping(cancelled)),
    );
  }

  /**
   * Trains or evaluates. Nothing is stored before data and model are loaded.
   * @throws C3Error('engine') while another run is going on in this engine; CancelledError
   */
  async run(
    recipe: Recipe,
    control: RunControl,
    onRemark: (remark: string) => void = () => undefined,
  ): Promise<RunSummary> {
    return this.alone(() =>
      this.train(recipe, null, { ...control, cancelled: this.stopping(control.cancelled) }, onRemark),
    );
  }

  /**
   * Takes an interrupted run to its end, as if it had not been interrupted; of a finished one, a remark says so and its
   * summary is given.
   * @throws C3Error('input') for an unknown run, or one whose model, data or protocol have changed; C3Error('engine')
   *   while another run is going on; CancelledError
   */
  async resume(
    run: string,
    control: RunControl,
    onRemark: (remark: string) => void = () => undefined,
  ): Promise<RunSummary> {
    return (
      this.finishedSummary(run, onRemark) ??
      this.alone(() => {
        const recipe = parseRecipe(
          this.reading((store) => store.runConfig(run)),
          run,
        );
        return this.train(
          recipe,
          { id: run, recipe },
          { ...control, cancelled: this.stopping(control.cancelled) },
          onRemark,
        );
      })
    );
  }

  /** The summary of a run that is done; null for any other. */
  private finishedSummary(run: string, onRemark: (remark: string) => void): RunSummary | null {
    const { status, summary } = this.reading((store) => store.run(run));
    if (status !== 'done' || summary === null) {
      return null;
    }
    onRemark(`Run ${run} is finished; there is nothing to resume.`);
    return summary;
  }

  private async alone(work: () => Promise<RunSummary>): Promise<RunSummary> {
    if (this.running) {
      throw new C3Error('engine', 'A run is going on already; cancel it or wait for its end.');
    }
    this.running = true;
    try {
      return await this.tracked(work());
    } finally {
      this.running = false;
    }
  }

  private async train(
    recipe: Recipe,
    interrupted: Interrupted | null,
    control: RunControl,
    onRemark: (remark: string) => void,
  ): Promise<RunSummary> {
    const purpose = { kind: 'run', what: interrupted?.id ?? `"${recipe.config.title}", which is starting,` } as const;
    const take = (): Promise<Lease> => this.lease(purpose, control.cancelled);
    // A store that cannot be written is refused first; a new one is made only when all else is there.
    let lease = existsSync(this.storePath) ? await take() : null;
    try {
      // While it waited, another process may have taken the run to its end.
      const finished = interrupted === null ? null : this.finishedSummary(interrupted.id, onRemark);
      return (
        finished ??
        (await trainHere(
          {
            models: this.models,
            evaluators: this.evaluators,
            timing: this.timing,
            snapshotFolder: this.snapshotFolder,
          },
          recipe,
          interrupted,
          control,
          onRemark,
          async () => (lease ??= await take()),
        ))
      );
    } finally {
      lease?.release();
    }
  }

  /**
   * Replays one stored message under its own snapshot, or the weights that were chosen.
   * @throws C3Error; CancelledError, keeping what arrived
   */
  async replay(request: EngineReplay, control: ReplayControl): Promise<ReplayResult> {
    checkSettle(request);
    checkRequest(
      request.settle === undefined ? request : { ...request, design: 'paired', alternatives: 1, replays: 1 },
    );
    const decision = this.reading((store) => store.decision(request.message));
    return this.writing(`replay of message ${String(request.message)}`, control.cancelled, (store) =>
      this.replayHeld(store, decision, request, control),
    );
  }

  private async replayHeld(
    store: StoreWriter,
    decision: Decision,
    request: EngineReplay,
    control: ReplayControl,
  ): Promise<ReplayResult> {
    const { run } = decision;
    const recipe = parseRecipe(store.runConfig(run), run);
    const { config } = recipe;
    if (request.settle !== undefined || request.alternatives > 0) {
      requireCapability(
        config.policies,
        decision.eventType,
        'samples',
        'replay it with a text of your own and no alternatives, or replay a message of another role',
      );
    }
    const { snapshot: name, temperature, model } = request.continuation ?? AS_RECORDED;
    const sampling = {
      ...runSampling(config),
      temperature: temperature ?? store.ownContinuation(decision.id).temperature ?? runSampling(config).temperature,
    };
    const named = name === null ? decision.snapshot : snapshotNamed(store, run, name);
    const remark = await templateRemark(recipe, run);
    if (remark !== null) {
      control.onRemark?.(remark);
    }
    const cancelled = this.stopping(control.cancelled);
    const own = name === null && temperature === null && model === null;
    const protocol = protocolOf(recipe);
    const asked = withPairs(request, store.message(decision.id), own, protocol);
    const work = async (lent: LentPolicy | string, evaluator: Evaluator): Promise<ReplayResult> => {
      if (typeof lent === 'string') {
        throw new C3Error('model', lent);
      }
      if (request.text !== null && capabilitiesOf(config.policies, decision.eventType).tokens) {
        await checkLength(request.text, decision.context, lent);
      }
      return replayMessage(
        asked,
        {
          store,
          protocol,
          render: this.models.texts.renderer(recipe.modelFolder, recipe.rendering, cancelled),
          policy: lent.policy,
          evaluator,
          sampling,
          seed: config.seed,
          returnBound: config.credit.return_clip,
          credit: (alternatives) => comparedCredits(alternatives, 'loo'),
          decided: decidedIn,
        },
        { ...control, cancelled, due: paced() },
      );
    };
    return this.untilBegun(cancelled, async (begin) => {
      const snapshot = model === null ? named : await this.lendModel(run, recipe, model, cancelled);
      return this.evaluators.using(config, (evaluator) =>
        this.withSnapshot(run, recipe, snapshot, cancelled, (lent) => {
          begin();
          return work(lent, evaluator);
        }),
      );
    });
  }

  /** Loads another model and notes its weights with the run. @returns their snapshot */
  private async lendModel(
    run: string,
    recipe: StoredRecipe,
    folder: string,
    cancelled: () => boolean,
  ): Promise<string> {
    const snapshot = await this.models.base(withModel(recipe, folder), { cancelled });
    noteModel(this.writer(), run, snapshot, folder);
    return snapshot;
  }

  /**
   * Whoever cancels does not wait for a model that is being loaded; work that has begun ends in its own way, keeping
   * what arrived.
   */
  private untilBegun<Result>(cancelled: () => boolean, work: (begin: () => void) => Promise<Result>): Promise<Result> {
    let begun = false;
    const begin = (): void => {
      if (cancelled()) {
        throw new CancelledError();
      }
      begun = true;
    };
    return unlessCancelled(this.tracked(work(begin)), () => !begun && cancelled());
  }

  /** Lends a snapshot of a run, or of another model that continued replays of it. */
  private async withSnapshot<Result>(
    run: string,
    recipe: StoredRecipe,
    snapshot: string,
    cancelled: () => boolean,
    work: (lent: LentPolicy | string) => Promise<Result>,
  ): Promise<Result> {
    const folder = this.reading((store) => otherModel(store, run, snapshot));
    if (folder === null) {
      return this.models.withPolicy(recipe, snapshot, this.finder(run, recipe, cancelled), work, { cancelled });
    }
    const there = await this.models.texts.tokenizer(folder, cancelled).then(
      () => null,
      (error: unknown) => {
        if (error instanceof CancelledError) {
          throw error;
        }
        return messageOf(error);
      },
    );
    if (there !== null) {
      return work(modelGone(folder, snapshot, there));
    }
    return this.models.withPolicy(
      withModel(recipe, folder),
      snapshot,
      () => Promise.resolve(null),
      (lent) => work(typeof lent === 'string' ? modelGone(folder, snapshot, lent) : lent),
      { cancelled },
    );
  }

  /** Re-executes a run's replays (all, or a sample spread evenly over them) and compares tokens. */
  async verify(run: string, sample: number | null, cancelled: () => boolean): Promise<VerificationReport> {
    this.reading((store) => store.run(run));
    return this.writing('verification of replays', cancelled, (store) => {
      const total = store.countReplays(run);
      const replays: Replay[] = [];
      if (sample === null || sample >= total) {
        for (let offset = 0; offset < total; offset += PAGE) {
          replays.push(...store.replaysOfRun(run, offset, PAGE));
        }
      } else {
        for (let index = 0; index < sample; index++) {
          replays.push(...store.replaysOfRun(run, Math.floor((index * total) / sample), 1));
        }
      }
      return this.reexecute(store, run, replays, { cancelled });
    });
  }

  /**
   * Re-executes the replays that a message stands for.
   * @throws C3Error('input') where it was never replayed; CancelledError, keeping what was found before
   */
  async verifyMessage(message: number, control: VerifyControl): Promise<VerificationReport> {
    const { run } = this.reading((store) => store.message(message));
    return this.writing(`verification of message ${String(message)}`, control.cancelled, (store) => {
      const replays = replaysOfMessage(store, message);
      if (replays.length === 0) {
        throw new C3Error(
          'input',
          `Message ${String(message)} has no replay to verify; replay its alternatives first.`,
        );
      }
      return this.reexecute(store, run, replays, control);
    });
  }

  /**
   * Re-executes every replay of one bucket that is complete and gives the bucket back with what that showed; a cancel
   * leaves the rest unverified and is no failure.
   */
  async proveBucket(bucket: number, cancelled: () => boolean): Promise<BucketView> {
    try {
      await this.writing('verification of a replay', cancelled, (store) =>
        this.reexecute(store, store.bucket(bucket).run, store.replaysOfBucket(bucket), { cancelled }),
      );
    } catch (error) {
      if (!(error instanceof CancelledError)) {
        throw error;
      }
    }
    return this.reading((reader) => reader.bucketView(bucket));
  }

  private reexecute(
    store: StoreWriter,
    run: string,
    replays: readonly Replay[],
    control: VerifyControl,
  ): Promise<VerificationReport> {
    const recipe = parseRecipe(store.runConfig(run), run);
    const rules = { protocol: protocolOf(recipe), returnBound: recipe.config.credit.return_clip };
    const cancelled = this.stopping(control.cancelled);
    return this.evaluators.using(recipe.config, (evaluator) =>
      verifyReplays(
        store,
        replays,
        this.lender(run, recipe, cancelled),
        { ...rules, evaluator },
        { ...control, cancelled },
      ),
    );
  }

  /**
   * Writes what a run had trained after a step (the last unless given) into a new folder.
   * @returns the folders to load
   * @throws C3Error; CancelledError
   */
  async exportWeights(
    run: string,
    step: number | null,
    format: WeightFormat,
    out: string,
    cancelled: () => boolean,
  ): Promise<readonly string[]> {
    const work = (store: StoreReader): Promise<readonly string[]> =>
      this.exportFrom(store, run, step, format, out, cancelled);
    // Weights that were not kept are rebuilt beside the store.
    const kept = this.reading((store) =>
      this.weights.areKept(store, run, snapshotAfter(store, run, step ?? store.run(run).steps).id),
    );
    return kept ? this.readingOn(work) : this.writing('export of weights', cancelled, work);
  }

  private exportFrom(
    store: StoreReader,
    run: string,
    step: number | null,
    format: WeightFormat,
    out: string,
    cancelled: () => boolean,
  ): Promise<readonly string[]> {
    const { steps } = store.run(run);
    if (step !== null && step > steps) {
      throw new C3Error('input', `Run ${run} has ${String(steps)} steps; --step ${String(step)} is none of them.`);
    }
    const recipe = parseRecipe(store.runConfig(run), run);
    const snapshot = snapshotAfter(store, run, step ?? steps).id;
    const work = (lent: LentPolicy | string): Promise<readonly string[]> => {
      if (typeof lent === 'string') {
        throw new C3Error('model', lent);
      }
      return exportWeights(lent.runtime, snapshot, format, out, recipe.modelFolder);
    };
    return this.models.withPolicy(recipe, snapshot, this.finder(run, recipe, this.stopping(cancelled), store), work);
  }

  /**
   * Samples buckets of a run to be measured on, and stores them.
   * @returns the sample's number
   * @throws C3Error; CancelledError, keeping the complete buckets
   */
  async sampleDiagnostics(run: string, settings: SampleSettings, control: SampleControl): Promise<number> {
    this.reading((store) => store.run(run));
    return this.writing('sampling of diagnostics', control.cancelled, (store) =>
      this.sampleHeld(store, run, settings, control),
    );
  }

  private sampleHeld(
    store: StoreWriter,
    run: string,
    settings: SampleSettings,
    control: SampleControl,
  ): Promise<number> {
    const recipe = parseRecipe(store.runConfig(run), run);
    const { config } = recipe;
    if (settings.role !== null) {
      requireCapability(config.policies, settings.role, 'samples', 'measure another role');
    }
    const cancelled = this.stopping(control.cancelled);
    const dependencies = {
      store,
      protocol: protocolOf(recipe),
      render: this.models.texts.renderer(recipe.modelFolder, recipe.rendering, cancelled),
      sampling: runSampling(config),
      seed: config.seed,
      returnBound: config.credit.return_clip,
      samples: (role: string) => capabilitiesOf(config.policies, role).samples,
      lend: valuesStates(config) ? this.judgingLender(run, recipe, cancelled) : this.lender(run, recipe, cancelled),
    };
    return this.evaluators.using(config, (evaluator) =>
      sampleDiagnostics(run, settings, { ...dependencies, evaluator }, { ...control, cancelled }),
    );
  }

  /**
   * The token boundaries of a stored decision's context and answer.
   * @throws C3Error('model') when the run's tokenizer is gone
   */
  async contextTokens(message: number, cancelled: () => boolean = () => false): Promise<ContextTokens> {
    const { decision, recipe } = this.reading((store) => {
      const found = store.decision(message);
      return { decision: found, recipe: parseRecipe(store.runConfig(found.run), found.run) };
    });
    const { modelFolder, config } = recipe;
    requireCapability(config.policies, decision.eventType, 'tokens', 'look at its text');
    return contextTokens(await this.models.texts.tokenizer(modelFolder, this.stopping(cancelled)), decision);
  }

  /** The failure taxonomy of a run, for the command line. */
  taxonomy(run: string, thresholds: TaxonomyThresholds): Promise<TaxonomyReport> {
    return this.readingOn(async (store) =>
      taxonomyReport(store, run, await readBuckets(store, run, protocolOfRun(store, run)), thresholds),
    );
  }

  /** The failure taxonomy of a run for a panel; what was read of the run is kept for the next time. */
  taxonomyView(params: TaxonomyParams): Promise<TaxonomyView> {
    return this.readingOn((store) => this.taxonomies.view(store, params, () => protocolOfRun(store, params.run)));
  }

  /**
   * Appends the user's label on a bucket, waiting for who writes.
   * @throws C3Error('input') for a label that cannot be stored; CancelledError
   */
  async label({ bucket, name, note }: LabelParams, cancelled: () => boolean): Promise<Label> {
    const problem = labelProblem(name, note);
    if (problem !== null) {
      throw new C3Error('input', problem);
    }
    const message = this.reading((store) => messageOfCase(store.bucketView(bucket)));
    const label = { message, bucket, name, note, author: LABEL_AUTHOR, createdAt: new Date().toISOString() };
    return { ...label, id: await this.writing('label', cancelled, (store) => store.insertLabel(label)) };
  }

  /** Cancels what goes on, waits for its end, then gives everything back. */
  async close(): Promise<void> {
    this.closing = true;
    await Promise.allSettled(this.active);
    await this.models.close().finally(() => {
      this.evaluators.close();
      this.hold.close();
    });
  }

  private stopping(cancelled: () => boolean): () => boolean {
    return () => this.closing || cancelled();
  }

  private async tracked<Result>(work: Promise<Result>): Promise<Result> {
    this.active.add(work);
    try {
      return await work;
    } finally {
      this.active.delete(work);
    }
  }

  private lender(run: string, recipe: StoredRecipe, cancelled: () => boolean): PolicyLender {
    return (snapshot, work) =>
      this.withSnapshot(run, recipe, snapshot, cancelled, (lent) =>
        work(typeof lent === 'string' ? lent : lent.policy),
      );
  }

  /** Lends policies with the value of states, as the run's value head judged them with these weights. */
  private judgingLender(run: string, recipe: StoredRecipe, cancelled: () => boolean): SampleLender {
    const form = {
      protocol: protocolOf(recipe),
      render: this.models.texts.renderer(recipe.modelFolder, recipe.rendering, cancelled),
    };
    return (snapshot, work) =>
      this.models.withPolicy(recipe, snapshot, this.finder(run, recipe, cancelled), async (lent) => {
        if (typeof lent === 'string') {
          return work(lent);
        }
        const { policy, runtime, tokenizer, info } = lent;
        const head = await this.weights.valueHead({ store: this.writer(), run, recipe, snapshot, cancelled });
        return work(policy, (moment) =>
          snapshotValue(
            { ...form, tokenizer, maxPositions: info.config.maxPositions },
            runtime,
            { snapshot, head },
            moment,
            cancelled,
          ),
        );
      });
  }

  private finder(run: string, recipe: StoredRecipe, cancelled: () => boolean, store?: StoreReader): WeightsFinder {
    return (snapshot) => this.weights.file({ store: store ?? this.writer(), run, recipe, snapshot, cancelled });
  }
}
