/** What the engine can do, for both of its doors: one run at a time, replays beside it, one writer of the store. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { realFile } from '../files/realFile.ts';
import { checkRequest, type ReplayControl } from '../replay/request.ts';
import type { VerificationReport } from '../replay/verify.ts';
import { NEVER } from '../shared/cancellation.ts';
import { C3Error } from '../shared/errors.ts';
import type { ContextTokens } from '../shared/transcript/contextTokens.ts';
import type { RunPlan } from '../shared/models.ts';
import type { EndpointCost } from '../shared/endpointCost.ts';
import type { BucketView, RunSummary } from '../shared/records/records.ts';
import type { LogImport } from '../shared/records/logImport.ts';
import type { ImportLogParams, ReplaceParams, StartRunParams } from '../shared/protocols/engineProtocol.ts';
import type { Trial } from '../shared/records/trial.ts';
import type { RhoReport } from '../shared/records/rho.ts';
import type { ReplayResult } from '../shared/records/settle.ts';
import type { LabelParams, TaxonomyParams, TaxonomyThresholds, TaxonomyView } from '../shared/records/taxonomy.ts';
import type { StoreReader } from '../store/read/reader.ts';
import type { Label, StoreWriter } from '../store/write/writer.ts';
import { snapshotAfter } from '../training/state/restore.ts';
import type { RunControl } from '../training/runContext.ts';
import { messageTokens } from './replay/contextTokens.ts';
import type { SampleControl, SampleSettings } from './diagnose/diagnoseSample.ts';
import { Evaluators } from './recipe/evaluators.ts';
import { importLog } from './exchange/importLog.ts';
import { exportWeights, type WeightFormat } from './exchange/exportWeights.ts';
import type { Endpoints } from './models/endpoints.ts';
import { ModelPool, type LentPolicy } from './models/models.ts';
import { pilotHere, type PilotSettings } from './run/pilot.ts';
import { saveModel, speaking } from './run/runOutput.ts';
import { planRun } from './run/plan.ts';
import { parseRecipe, protocolOfRun, type Recipe } from './recipe/recipe.ts';
import { checkSettle, type EngineReplay } from './replay/settling.ts';
import type { Lease } from './run/storeHold.ts';
import { TaxonomyDesk } from './taxonomy/taxonomyDesk.ts';
import { newLabel } from './taxonomy/newLabel.ts';
import { taxonomyReport, type TaxonomyReport } from './taxonomy/taxonomyReport.ts';
import { readBuckets } from './taxonomy/taxonomyView.ts';
import { Timing } from './run/timing.ts';
import { replacementRun } from './run/replaceAgent.ts';
import { prepareRun, type Interrupted } from './run/prepareRun.ts';
import { trainHere, type TrainingPlace } from './run/trainHere.ts';
import { Weights } from './replay/weights.ts';
import { Lending } from './replay/lending.ts';
import { sampleHere } from './replay/sampleHere.ts';
import {
  knownReplays,
  proveHere,
  replayCostsHere,
  verifyCostsHere,
  replayHere,
  replaysToVerify,
  verifyReturns,
  type AgainControl,
  type ReplayPlace,
} from './replay/replayHere.ts';
import { tryChange, type TrialControl, type TrialRequest } from './replay/tryChange.ts';
import { StoreWork, type ServiceOptions } from './run/storeWork.ts';

export class EngineService {
  private readonly work: StoreWork;
  private readonly models = new ModelPool();
  private readonly evaluators = new Evaluators();
  private readonly taxonomies = new TaxonomyDesk();
  private readonly snapshotFolder: string;
  private readonly weights: Weights;
  private readonly timing: Timing;
  private readonly lending: Lending;
  private readonly training: TrainingPlace;
  private readonly replays: ReplayPlace;
  private running = false;

  constructor(storePath: string, options: ServiceOptions = {}) {
    const { models, evaluators } = this;
    this.work = new StoreWork(storePath, options);
    this.snapshotFolder = join(dirname(realFile(storePath)), 'snapshots');
    this.timing = new Timing(storePath, models);
    this.weights = new Weights(models, this.snapshotFolder);
    this.lending = new Lending(this.work, models, this.weights);
    const { timing, snapshotFolder } = this;
    this.training = { models, evaluators, timing, snapshotFolder, earlier: this.lending.earlierWeights };
    this.replays = { work: this.work, models, lending: this.lending, evaluators };
  }

  get storePath(): string {
    return this.work.storePath;
  }

  /** Works while this process has the writer lock; see StoreWork. */
  writing<Result>(
    what: string,
    signal: AbortSignal,
    work: (store: StoreWriter) => Promise<Result> | Result,
  ): Promise<Result> {
    return this.work.writing(what, signal, work);
  }

  /** Keeps the writer lock over several pieces of work of this service. */
  keeping<Result>(what: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    return this.work.keeping(what, signal, work);
  }

  /** Brings a store of an older version up to date, for commands that read it before they write. */
  readonly updated = (signal: AbortSignal): Promise<void> => this.work.updated(signal);

  /** Reads without taking the writer lock, whoever holds it. */
  reading<Result>(work: (store: StoreReader) => Result): Result {
    return this.work.reading(work);
  }

  /**
   * What a run would need, cost and take. A small model is tried for a moment where no earlier run shows how fast it
   * is.
   * @throws C3Error as starting it would
   */
  plan(recipe: Recipe, signal: AbortSignal = NEVER): Promise<RunPlan> {
    return this.work.tracked(
      planRun(recipe, this.lending.sources, (inputs) => this.timing.ofPlan(recipe, inputs), this.work.stopping(signal)),
    );
  }

  /**
   * Measures rho with the untrained team of a recipe; nothing is stored.
   * @throws C3Error as starting it would, and where the messages of its protocol are not known beforehand
   */
  pilot(recipe: Recipe, settings: PilotSettings, given: AbortSignal = NEVER): Promise<RhoReport> {
    const signal = this.work.stopping(given);
    return this.work.tracked(
      prepareRun(this.lending.sources, recipe, null, signal).then((prepared) =>
        pilotHere(this.training, prepared, settings, signal),
      ),
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
      this.train(recipe, null, { ...control, signal: this.work.stopping(control.signal) }, onRemark),
    );
  }

  /** The run that begins with an agent of another one's team replaced. @throws C3Error('input') where it cannot */
  readonly replacement = (params: ReplaceParams): StartRunParams =>
    this.work.reading((store) => replacementRun(store, params));

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
          this.work.reading((store) => store.runConfig(run)),
          run,
        );
        return this.train(
          recipe,
          { id: run, recipe },
          { ...control, signal: this.work.stopping(control.signal) },
          onRemark,
        );
      })
    );
  }

  /** The summary of a run that is done; null for any other. */
  private finishedSummary(run: string, onRemark: (remark: string) => void): RunSummary | null {
    const { status, summary } = this.work.reading((store) => store.run(run));
    if (status !== 'done' || summary === null) {
      return null;
    }
    onRemark(`Run ${run} is finished; there is nothing to resume.`);
    return summary;
  }

  private async alone(work: () => Promise<RunSummary>): Promise<RunSummary> {
    if (this.running) {
      throw new C3Error('engine', 'A run is already in progress; cancel it or wait for it to end.');
    }
    this.running = true;
    try {
      return await this.work.tracked(work());
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
    const take = (): Promise<Lease> => this.work.lease(purpose, control.signal);
    // A store that cannot be written is refused first; a new one is made only when all else is there.
    let lease = existsSync(this.storePath) ? await take() : null;
    let summary: RunSummary;
    try {
      // While it waited, another process may have taken the run to its end.
      const finished = interrupted === null ? null : this.finishedSummary(interrupted.id, onRemark);
      if (finished !== null) {
        return finished;
      }
      summary = await trainHere(
        this.training,
        await prepareRun(this.lending.sources, recipe, interrupted, control.signal),
        speaking(recipe, control, onRemark, (work) => this.work.reading(work)),
        onRemark,
        async () => (lease ??= await take()),
      );
    } finally {
      lease?.release();
    }
    await saveModel(recipe, summary, onRemark, (format, out) =>
      this.exportWeights(summary.run, null, format, out, control.signal),
    );
    return summary;
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
    const decision = this.work.reading((store) => store.decision(request.message));
    return this.work.writing(`replay of message ${String(request.message)}`, control.signal, (store) =>
      replayHere(this.replays, store, decision, request, control),
    );
  }

  /** What a replay may ask of servers at most, one entry for each role that one answers; nothing is asked. */
  async replayCosts(request: EngineReplay): Promise<readonly EndpointCost[]> {
    checkSettle(request);
    return replayCostsHere(this.work, request);
  }

  /** What verifying a message may ask of servers at most, where what no seed gives again is sampled again. */
  readonly verifyCosts = (message: number): readonly EndpointCost[] =>
    this.work.reading((store) => verifyCostsHere(store, message));

  /** The models elsewhere: what windows give to ask them with stays in memory. */
  readonly endpoints: Endpoints = this.models.endpoints;

  /** Re-executes a run's replays (all, or a sample spread evenly over them) and compares tokens. */
  async verify(run: string, sample: number | null, control: Omit<AgainControl, 'again'>): Promise<VerificationReport> {
    const { signal } = control;
    this.work.reading((store) => store.run(run));
    return this.work.writing('verification of replays', signal, (store) =>
      verifyReturns(this.replays, store, run, replaysToVerify(store, run, sample), { ...control, again: true }),
    );
  }

  /**
   * Re-executes the replays that a message represents.
   * @throws C3Error('input') where it was never replayed; CancelledError, keeping what was found
   */
  async verifyMessage(message: number, control: AgainControl): Promise<VerificationReport> {
    const { run } = this.work.reading((store) => store.message(message));
    return this.work.writing(`verification of message ${String(message)}`, control.signal, (store) =>
      verifyReturns(this.replays, store, run, knownReplays(store, message), control),
    );
  }

  /**
   * Re-executes every replay of one bucket that is complete and gives the bucket back with what that showed; a cancel
   * leaves the rest unverified and is no failure.
   */
  proveBucket(bucket: number, signal: AbortSignal): Promise<BucketView> {
    return proveHere(this.replays, bucket, signal);
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
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const work = (store: StoreReader): Promise<readonly string[]> =>
      this.exportFrom(store, run, step, format, out, signal);
    // Weights that were not kept are rebuilt beside the store.
    const kept = this.work.reading((store) =>
      this.weights.areKept(store, run, snapshotAfter(store, run, step ?? store.run(run).steps).id),
    );
    return kept ? this.work.readingOn(work) : this.work.writing('export of weights', signal, work);
  }

  private exportFrom(
    store: StoreReader,
    run: string,
    step: number | null,
    format: WeightFormat,
    out: string,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { steps } = store.run(run);
    if (step !== null && step > steps) {
      throw new C3Error('input', `Run ${run} has ${String(steps)} steps; --step ${String(step)} is not one of them.`);
    }
    const recipe = parseRecipe(store.runConfig(run), run);
    const snapshot = snapshotAfter(store, run, step ?? steps).id;
    const work = (lent: LentPolicy | string): Promise<readonly string[]> => {
      if (typeof lent === 'string') {
        throw new C3Error('model', lent);
      }
      return exportWeights(lent.runtime, snapshot, format, out, recipe.modelFolder);
    };
    return this.models.withPolicy(
      recipe,
      snapshot,
      this.lending.finder(run, recipe, this.work.stopping(signal), store),
      work,
    );
  }

  /**
   * Samples buckets of a run to be measured on, and stores them.
   * @returns the sample's number
   * @throws C3Error; CancelledError, keeping the complete buckets
   */
  async sampleDiagnostics(run: string, settings: SampleSettings, control: SampleControl): Promise<number> {
    this.work.reading((store) => store.run(run));
    return this.work.writing('sampling of diagnostics', control.signal, (store) =>
      sampleHere(this.replays, store, run, settings, control),
    );
  }

  /**
   * Tries a change of a run's team on its held-out problems; nothing is stored.
   * @throws C3Error; CancelledError
   */
  async tryChange(request: TrialRequest, control: TrialControl): Promise<Trial> {
    this.work.reading((store) => store.run(request.run));
    return this.work.writing(`trial of a change of run ${request.run}`, control.signal, (store) =>
      tryChange(this.replays, store, request, control),
    );
  }

  /**
   * The token boundaries of a stored decision's context and answer.
   * @throws C3Error('model') when the run's tokenizer is gone
   */
  async contextTokens(message: number, signal: AbortSignal = NEVER): Promise<ContextTokens> {
    const { decision, recipe } = this.work.reading((store) => {
      const found = store.decision(message);
      return { decision: found, recipe: parseRecipe(store.runConfig(found.run), found.run) };
    });
    return messageTokens(this.models.texts, recipe, decision, this.work.stopping(signal));
  }

  /** The failure taxonomy of a run, for the command line. */
  taxonomy(run: string, thresholds: TaxonomyThresholds): Promise<TaxonomyReport> {
    return this.work.readingOn(async (store) =>
      taxonomyReport(store, run, await readBuckets(store, run, protocolOfRun(store, run)), thresholds),
    );
  }

  /** The failure taxonomy of a run for a panel; what was read of the run is kept for the next time. */
  taxonomyView(params: TaxonomyParams): Promise<TaxonomyView> {
    return this.work.readingOn((store) => this.taxonomies.view(store, params, () => protocolOfRun(store, params.run)));
  }

  /**
   * Appends the user's label on a bucket, waiting for who writes.
   * @throws C3Error('input') for a label that cannot be stored; CancelledError
   */
  async label(params: LabelParams, signal: AbortSignal): Promise<Label> {
    const label = this.work.reading((store) => newLabel(store, params));
    return { ...label, id: await this.work.writing('label', signal, (store) => store.insertLabel(label)) };
  }

  /** Stores what other programs recorded of their agents as a run; see importLog. */
  readonly importLog = (params: ImportLogParams, signal: AbortSignal): Promise<LogImport> =>
    importLog(this.work, params, signal);

  /** Cancels what is in progress, waits for its end, then gives everything back. */
  async close(): Promise<void> {
    await this.work.stop();
    await this.models.close().finally(() => {
      this.evaluators.close();
      this.work.close();
    });
  }
}
