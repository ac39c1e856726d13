/** What the engine can do, for both of its doors: one run at a time, replays beside it, one writer of the store. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOfCase } from '../diagnostics/taxonomy.ts';
import { evaluatorProblem, type Evaluator } from '../evaluate/evaluator.ts';
import { checkRendering, readRendering, rendererOf } from '../policy/rendering.ts';
import { unlessCancelled } from '../replay/arrivals.ts';
import { checkRequest, replayMessage, type ReplayControl, type ReplayRequest } from '../replay/request.ts';
import { replaysOfMessage, verifyReplays, type PolicyLender, type VerificationReport, type VerifyControl } from '../replay/verify.ts';
import { AS_RECORDED } from '../shared/continuation.ts';
import { C3Error, CancelledError, messageOf } from '../shared/errors.ts';
import type { ContextTokens } from '../shared/contextTokens.ts';
import type { RunPlan } from '../shared/models.ts';
import type { BucketView, Replay, RunSummary } from '../shared/records.ts';
import { LABEL_AUTHOR, labelProblem, type LabelParams, type TaxonomyParams, type TaxonomyThresholds, type TaxonomyView } from '../shared/taxonomy.ts';
import { openStoreForReading, type StoreReader } from '../store/reader.ts';
import { openStoreForWriting, type Label, type StoreWriter } from '../store/writer.ts';
import { runSampling } from '../training/config.ts';
import { creditRule } from '../training/credits.ts';
import { judgesStates } from '../training/methods/methods.ts';
import { snapshotAfter } from '../training/restore.ts';
import { checkContexts, runInstances } from '../training/room.ts';
import { resumeTraining, runTraining, type RunControl } from '../training/run.ts';
import { snapshotValue } from '../training/states.ts';
import { contextTokens } from './contextTokens.ts';
import { modelGone, noteModel, otherModel, snapshotNamed, withModel } from './continuation.ts';
import { sampleDiagnostics, type SampleControl, type SampleLender, type SampleSettings } from './diagnoseSample.ts';
import { Evaluators } from './evaluators.ts';
import { exportWeights, type WeightFormat } from './exportWeights.ts';
import { changeSince, fingerprintOf, templateRemark } from './fingerprint.ts';
import { ModelPool, type LentPolicy, type LoadedModel, type WeightsFinder } from './models.ts';
import { paced } from './pace.ts';
import { memoryLine, planHere, planRun, shortage } from './plan.ts';
import { loadData, parseRecipe, protocolOf, protocolOfRun, serialiseRecipe, type Recipe, type StoredRecipe } from './recipe.ts';
import { TaxonomyDesk } from './taxonomyDesk.ts';
import { taxonomyReport, type TaxonomyReport } from './taxonomyReport.ts';
import { readBuckets } from './taxonomyView.ts';
import { Timing } from './timing.ts';
import { checkLength } from './typedLength.ts';
import { Weights } from './weights.ts';
import { loadingWords } from './words.ts';

const PAGE = 500;

export class EngineService {
  readonly storePath: string;
  private readonly models = new ModelPool();
  private readonly evaluators = new Evaluators();
  private readonly taxonomies = new TaxonomyDesk();
  private readonly snapshotFolder: string;
  private readonly weights: Weights;
  private readonly timing: Timing;
  private store: StoreWriter | undefined;
  private running = false;
  private closing = false;
  /** Work that goes on; close waits for its end. */
  private readonly active = new Set<Promise<unknown>>();

  constructor(storePath: string) {
    this.storePath = storePath;
    this.snapshotFolder = join(dirname(storePath), 'snapshots');
    this.timing = new Timing(storePath, this.models);
    this.weights = new Weights(this.models, this.snapshotFolder);
  }

  /** The store, opened for writing with its lock when first needed. @throws C3Error('store') */
  writer(): StoreWriter {
    if (this.store === undefined) {
      const store = openStoreForWriting(this.storePath);
      try {
        endAbandoned(store);
      } catch (error) {
        store.close();
        throw error;
      }
      this.store = store;
    }
    return this.store;
  }

  /** Reads without taking the writer lock, whoever holds it. */
  reading<Result>(work: (store: StoreReader) => Result): Result {
    if (this.store !== undefined) return work(this.store);
    const reader = openStoreForReading(this.storePath);
    try {
      return work(reader);
    } finally {
      reader.close();
    }
  }

  /** Reads in turns with other work; nothing else may close the store meanwhile. */
  private async readingOn<Result>(work: (store: StoreReader) => Promise<Result>): Promise<Result> {
    const own = this.store === undefined ? openStoreForReading(this.storePath) : null;
    try {
      return await this.tracked(work(own ?? this.writer()));
    } finally {
      own?.close();
    }
  }

  /** What a run would need, cost and take. A small model is tried for a moment where no earlier run tells how fast it goes. @throws C3Error as starting it would */
  plan(recipe: Recipe): Promise<RunPlan> {
    return this.tracked(planRun(recipe, (inputs) => this.timing.ofPlan(recipe, inputs)));
  }

  /** Trains or evaluates. Nothing is stored before data and model are loaded. @throws C3Error('engine') while another run is going on in this engine; CancelledError */
  async run(recipe: Recipe, control: RunControl, onRemark: (remark: string) => void = () => undefined): Promise<RunSummary> {
    return this.alone(() => this.train(recipe, null, { ...control, cancelled: this.stopping(control.cancelled) }, onRemark));
  }

  /**
   * Takes an interrupted run to its end, as if it had not been interrupted; of a finished one, a remark says so and its summary is given.
   * @throws C3Error('input') for an unknown run, or one whose model, data or protocol have changed; C3Error('engine') while another run is going on; CancelledError
   */
  async resume(run: string, control: RunControl, onRemark: (remark: string) => void = () => undefined): Promise<RunSummary> {
    const { status, summary } = this.reading((store) => store.run(run));
    if (status === 'done' && summary !== null) {
      onRemark(`Run ${run} is finished; there is nothing to resume.`);
      return summary;
    }
    return this.alone(() => {
      const recipe = parseRecipe(this.writer().runConfig(run), run);
      return this.train(recipe, { id: run, recipe }, { ...control, cancelled: this.stopping(control.cancelled) }, onRemark);
    });
  }

  private async alone(work: () => Promise<RunSummary>): Promise<RunSummary> {
    if (this.running) throw new C3Error('engine', 'A run is going on already; cancel it or wait for its end.');
    this.running = true;
    try {
      return await this.tracked(work());
    } finally {
      this.running = false;
    }
  }

  private async train(recipe: Recipe, interrupted: { readonly id: string; readonly recipe: StoredRecipe } | null, control: RunControl, onRemark: (remark: string) => void): Promise<RunSummary> {
    // A store that cannot be written is refused first; a new one is made only when all else is there.
    if (existsSync(this.storePath)) this.writer();
    const data = await loadData(recipe);
    const protocol = protocolOf(recipe);
    const rendering = await readRendering(recipe.modelFolder, await this.models.tokenizer(recipe.modelFolder), recipe.config.chat);
    const fingerprint = await fingerprintOf(recipe, data, rendering);
    if (interrupted === null) checkRendering(rendering, protocol);
    else {
      const change = await changeSince(interrupted.recipe, fingerprint);
      if (change !== null) throw new C3Error('input', `Run ${interrupted.id} cannot be resumed: ${change}`);
    }
    const unscored = evaluatorProblem(recipe.config.evaluator, [...data.train, ...data.evaluation]);
    if (unscored !== null) throw new C3Error('input', unscored);
    const inputs = { protocol, tokenizer: await this.models.tokenizer(recipe.modelFolder), render: rendererOf(interrupted === null ? rendering : interrupted.recipe.rendering), data };
    const plan = await planHere(recipe, inputs);
    const short = shortage(plan);
    // A run that has begun was let begin; its configuration can no longer be changed.
    if (short !== null && interrupted === null) throw new C3Error('input', short);
    const work = async (model: LoadedModel, evaluator: Evaluator): Promise<RunSummary> => {
      const [{ runtime, tokenizer, info, remark }, { render }] = [model, inputs];
      if (remark !== null) onRemark(remark);
      const { maxPositions } = info.config;
      if (interrupted === null) checkContexts({ protocol, render, tokenizer, sampling: runSampling(recipe.config), maxPositions }, runInstances(recipe.config, data));
      const store = this.writer();
      await mkdir(this.snapshotFolder, { recursive: true });
      for (const line of data.remarks) onRemark(line);
      onRemark(short ?? memoryLine(plan));
      const dependencies = {
        store,
        runtime,
        base: info.snapshot,
        tokenizer,
        protocol,
        render,
        maxPositions,
        evaluator,
        ...data,
        recipe: serialiseRecipe(recipe, fingerprint, rendering),
        modelFolder: recipe.modelFolder,
        snapshotFolder: this.snapshotFolder,
        clock: () => performance.now() / 1000,
        expected: await this.timing.announce(recipe, inputs, model, interrupted === null ? 0 : store.run(interrupted.id).steps, control, onRemark),
        now: () => new Date().toISOString(),
      };
      if (interrupted !== null) return resumeTraining(interrupted.id, recipe.config, dependencies, control);
      return runTraining(`${recipe.config.method}-${String(recipe.config.seed)}-${randomUUID().slice(0, 8)}`, recipe.config, dependencies, control);
    };
    const onProgress = (done: number, total: number): void => {
      control.onProgress({ run: null, stage: 'load', done, total, metrics: null, remainingSeconds: null, message: loadingWords(done, total) });
    };
    return this.evaluators.using(recipe.config, (evaluator) => this.models.exclusively(recipe, (model) => work(model, evaluator), { onProgress, cancelled: control.cancelled }));
  }

  /** Replays one stored message under its own snapshot, or the weights that were chosen. @throws C3Error; CancelledError, keeping what arrived */
  async replay(request: ReplayRequest, control: ReplayControl): Promise<BucketView> {
    checkRequest(request);
    const decision = this.reading((store) => store.decision(request.message));
    const { run } = decision;
    const store = this.writer();
    const recipe = parseRecipe(store.runConfig(run), run);
    const { config } = recipe;
    const { snapshot: name, temperature, model } = request.continuation ?? AS_RECORDED;
    const sampling = { ...runSampling(config), temperature: temperature ?? store.ownContinuation(decision.id).temperature ?? runSampling(config).temperature };
    const named = name === null ? decision.snapshot : snapshotNamed(store, run, name);
    const remark = await templateRemark(recipe, run);
    if (remark !== null) control.onRemark?.(remark);
    const cancelled = this.stopping(control.cancelled);
    const work = async (lent: LentPolicy | string, evaluator: Evaluator): Promise<BucketView> => {
      if (typeof lent === 'string') throw new C3Error('model', lent);
      if (request.text !== null) checkLength(request.text, decision.context, lent);
      return replayMessage(
        request,
        { store, protocol: protocolOf(recipe), render: rendererOf(recipe.rendering), policy: lent.policy, evaluator, sampling, seed: config.seed, returnBound: config.credit.return_clip, credit: creditRule('loo') },
        { ...control, cancelled, due: paced() },
      );
    };
    return this.untilBegun(cancelled, async (begin) => {
      const snapshot = model === null ? named : await this.lendModel(run, recipe, model, cancelled);
      return this.evaluators.using(config, (evaluator) => this.withSnapshot(run, recipe, snapshot, cancelled, (lent) => {
        begin();
        return work(lent, evaluator);
      }));
    });
  }

  /** Loads another model and notes its weights with the run. @returns their snapshot */
  private async lendModel(run: string, recipe: StoredRecipe, folder: string, cancelled: () => boolean): Promise<string> {
    const snapshot = await this.models.base(withModel(recipe, folder), { cancelled });
    noteModel(this.writer(), run, snapshot, folder);
    return snapshot;
  }

  /** Whoever cancels does not wait for a model that is being loaded; work that has begun ends in its own way, keeping what arrived. */
  private untilBegun<Result>(cancelled: () => boolean, work: (begin: () => void) => Promise<Result>): Promise<Result> {
    let begun = false;
    const begin = (): void => {
      if (cancelled()) throw new CancelledError();
      begun = true;
    };
    return unlessCancelled(this.tracked(work(begin)), () => !begun && cancelled());
  }

  /** Lends a snapshot of a run, or of another model that continued replays of it. */
  private async withSnapshot<Result>(run: string, recipe: StoredRecipe, snapshot: string, cancelled: () => boolean, work: (lent: LentPolicy | string) => Promise<Result>): Promise<Result> {
    const folder = this.reading((store) => otherModel(store, run, snapshot));
    if (folder === null) return this.models.withPolicy(recipe, snapshot, this.finder(run, recipe, cancelled), work, { cancelled });
    const there = await this.models.tokenizer(folder).then(() => null, messageOf);
    if (there !== null) return work(modelGone(folder, snapshot, there));
    return this.models.withPolicy(withModel(recipe, folder), snapshot, () => Promise.resolve(null), (lent) => work(typeof lent === 'string' ? modelGone(folder, snapshot, lent) : lent), { cancelled });
  }

  /** Re-executes a run's replays (all, or a sample spread evenly over them) and compares tokens. */
  async verify(run: string, sample: number | null, cancelled: () => boolean): Promise<VerificationReport> {
    this.reading((store) => store.run(run));
    const store = this.writer();
    const total = store.countReplays(run);
    const replays: Replay[] = [];
    if (sample === null || sample >= total) for (let offset = 0; offset < total; offset += PAGE) replays.push(...store.replaysOfRun(run, offset, PAGE));
    else for (let index = 0; index < sample; index++) replays.push(...store.replaysOfRun(run, Math.floor((index * total) / sample), 1));
    return this.reexecute(run, replays, { cancelled });
  }

  /** Re-executes the replays that a message stands for. @throws C3Error('input') where it was never replayed; CancelledError, keeping what was found before */
  async verifyMessage(message: number, control: VerifyControl): Promise<VerificationReport> {
    const { run } = this.reading((store) => store.message(message));
    const replays = replaysOfMessage(this.writer(), message);
    if (replays.length === 0) throw new C3Error('input', `Message ${String(message)} has no replay to verify; replay its alternatives first.`);
    return this.reexecute(run, replays, control);
  }

  /** Re-executes every replay of one bucket that is complete and gives the bucket back with what that showed; a cancel leaves the rest unverified and is no failure. */
  async proveBucket(bucket: number, cancelled: () => boolean): Promise<BucketView> {
    const store = this.writer();
    try {
      await this.reexecute(store.bucket(bucket).run, store.replaysOfBucket(bucket), { cancelled });
    } catch (error) {
      if (!(error instanceof CancelledError)) throw error;
    }
    return this.reading((reader) => reader.bucketView(bucket));
  }

  private reexecute(run: string, replays: readonly Replay[], control: VerifyControl): Promise<VerificationReport> {
    const store = this.writer();
    const recipe = parseRecipe(store.runConfig(run), run);
    const rules = { protocol: protocolOf(recipe), returnBound: recipe.config.credit.return_clip };
    const cancelled = this.stopping(control.cancelled);
    return this.tracked(this.evaluators.using(recipe.config, (evaluator) => verifyReplays(store, replays, this.lender(run, recipe, cancelled), { ...rules, evaluator }, { ...control, cancelled })));
  }

  /** Writes what a run had trained after a step (the last unless given) into a new folder. @returns the folders to load @throws C3Error; CancelledError */
  async exportWeights(run: string, step: number | null, format: WeightFormat, out: string, cancelled: () => boolean): Promise<readonly string[]> {
    const store = this.writer();
    const { steps } = store.run(run);
    if (step !== null && step > steps) throw new C3Error('input', `Run ${run} has ${String(steps)} steps; --step ${String(step)} is none of them.`);
    const recipe = parseRecipe(store.runConfig(run), run);
    const snapshot = snapshotAfter(store, run, step ?? steps).id;
    const work = (lent: LentPolicy | string): Promise<readonly string[]> => {
      if (typeof lent === 'string') throw new C3Error('model', lent);
      return exportWeights(lent.runtime, snapshot, format, out, recipe.modelFolder);
    };
    return this.tracked(this.models.withPolicy(recipe, snapshot, this.finder(run, recipe, this.stopping(cancelled)), work));
  }

  /** Samples buckets of a run to be measured on, and stores them. @returns the sample's number @throws C3Error; CancelledError, keeping the complete buckets */
  async sampleDiagnostics(run: string, settings: SampleSettings, control: SampleControl): Promise<number> {
    this.reading((store) => store.run(run));
    const store = this.writer();
    const recipe = parseRecipe(store.runConfig(run), run);
    const { config } = recipe;
    const cancelled = this.stopping(control.cancelled);
    const dependencies = { store, protocol: protocolOf(recipe), render: rendererOf(recipe.rendering), sampling: runSampling(config), seed: config.seed, returnBound: config.credit.return_clip, lend: judgesStates(config) ? this.judgingLender(run, recipe, cancelled) : this.lender(run, recipe, cancelled) };
    return this.tracked(this.evaluators.using(config, (evaluator) => sampleDiagnostics(run, settings, { ...dependencies, evaluator }, { ...control, cancelled })));
  }

  /** The token boundaries of a stored decision's context and answer. @throws C3Error('model') when the run's tokenizer is gone */
  async contextTokens(message: number): Promise<ContextTokens> {
    const { decision, modelFolder } = this.reading((store) => {
      const found = store.decision(message);
      return { decision: found, modelFolder: parseRecipe(store.runConfig(found.run), found.run).modelFolder };
    });
    return contextTokens(await this.models.tokenizer(modelFolder), decision);
  }

  /** The failure taxonomy of a run, for the command line. */
  taxonomy(run: string, thresholds: TaxonomyThresholds): Promise<TaxonomyReport> {
    return this.readingOn(async (store) => taxonomyReport(store, run, await readBuckets(store, run, protocolOfRun(store, run)), thresholds));
  }

  /** The failure taxonomy of a run for a panel; what was read of the run is kept for the next time. */
  taxonomyView(params: TaxonomyParams): Promise<TaxonomyView> {
    return this.readingOn((store) => this.taxonomies.view(store, params, () => protocolOfRun(store, params.run)));
  }

  /** Appends the user's label on a bucket. @throws C3Error('input') for a label that cannot be stored, C3Error('store') while another process writes */
  label({ bucket, name, note }: LabelParams): Label {
    const problem = labelProblem(name, note);
    if (problem !== null) throw new C3Error('input', problem);
    const message = this.reading((store) => messageOfCase(store.bucketView(bucket)));
    const label = { message, bucket, name, note, author: LABEL_AUTHOR, createdAt: new Date().toISOString() };
    return { ...label, id: this.writer().insertLabel(label) };
  }

  /** Cancels what goes on, waits for its end, then gives everything back. */
  async close(): Promise<void> {
    this.closing = true;
    await Promise.allSettled(this.active);
    try {
      await this.models.close();
    } finally {
      this.evaluators.close();
      this.store?.close();
      this.store = undefined;
    }
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
    return (snapshot, work) => this.withSnapshot(run, recipe, snapshot, cancelled, (lent) => work(typeof lent === 'string' ? lent : lent.policy));
  }

  /** Lends policies with the value of states, as the run's value head judged them with these weights. */
  private judgingLender(run: string, recipe: StoredRecipe, cancelled: () => boolean): SampleLender {
    const form = { protocol: protocolOf(recipe), render: rendererOf(recipe.rendering) };
    return (snapshot, work) => this.models.withPolicy(recipe, snapshot, this.finder(run, recipe, cancelled), async (lent) => {
      if (typeof lent === 'string') return work(lent);
      const { policy, runtime, tokenizer, info } = lent;
      const head = await this.weights.valueHead({ store: this.writer(), run, recipe, snapshot, cancelled });
      return work(policy, (moment) => snapshotValue({ ...form, tokenizer, maxPositions: info.config.maxPositions }, runtime, { snapshot, head }, moment, cancelled));
    });
  }

  private finder(run: string, recipe: StoredRecipe, cancelled: () => boolean): WeightsFinder {
    return (snapshot) => this.weights.file({ store: this.writer(), run, recipe, snapshot, cancelled });
  }
}

/** Who holds the writer lock is the only one who runs anything: a run that still says so was left by a process that is gone. */
function endAbandoned(store: StoreWriter): void {
  for (const { id, status } of store.runs(0, store.countRuns())) {
    // No time of an end: nobody knows it, and such a run is shown as interrupted.
    if (status === 'running') store.updateRunStatus(id, 'failed', null, null);
  }
}
