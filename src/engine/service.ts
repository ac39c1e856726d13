/** The engine's service, for its server and the command line: one run at a time, one writer of the store. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Blame, RunBlame, CheckedFinding, KeptFinding } from '../domain/answer.ts';
import type { RhoReport } from '../domain/credit.ts';
import type { LogImport } from '../domain/episode.ts';
import { NO_EPISODE_NOTE, type NotedEpisode, type NoteEpisodeParams } from '../domain/episodeNote.ts';
import type { LostProblemRow } from '../domain/problem.ts';
import type { BucketView, ReplayResult } from '../domain/replay.ts';
import type { RunSummary, NoteRunParams, RunNote } from '../domain/run.ts';
import {
  LABEL_AUTHOR,
  type LabelParams,
  type TaxonomyParams,
  type TaxonomyThresholds,
  type TaxonomyView,
} from '../domain/taxonomy.ts';
import type { Trial } from '../domain/trial.ts';
import { resolveRealFile } from '../files/realFile.ts';
import type { ReplayControl } from '../replay/request.ts';
import type { VerificationReport } from '../replay/verify.ts';
import { NEVER } from '../shared/cancellation.ts';
import type { EndpointCost } from '../shared/endpointCost.ts';
import { C3Error } from '../shared/errors.ts';
import type { RunPlan } from '../shared/models.ts';
import type {
  BlameParams,
  CheckFindingParams,
  ImportLogParams,
  KeepFindingParams,
  ReplaceParams,
  RunBlameParams,
  StartRunParams,
  TrialParams,
} from '../shared/protocols/engineProtocol.ts';
import type { ContextTokens } from '../shared/transcript/contextTokens.ts';
import type { StoreReader } from '../store/read/reader.ts';
import type { Label, StoreWriter } from '../store/write/writer.ts';
import type { RunControl } from '../training/runContext.ts';
import { findSnapshotAfter } from '../training/state/restore.ts';
import type { SampleControl, SampleSettings } from './diagnose/diagnoseSample.ts';
import type { TrainingCreditSettings } from './diagnose/trainingCredit.ts';
import { exportWeights, type WeightFormat } from './exchange/exportWeights.ts';
import { importLog } from './exchange/importLog.ts';
import { checkTuples, exportTuples, type TupleReport, type TupleRequest } from './exchange/tuples.ts';
import { checkFinding } from './findings/checkFinding.ts';
import { keepFinding } from './findings/keepFinding.ts';
import type { Endpoints } from './models/endpoints.ts';
import { ModelPool } from './models/models.ts';
import { Evaluators } from './recipe/evaluators.ts';
import { computeTextsFingerprint } from './recipe/fingerprint.ts';
import { parseRecipe, parseRecipeProtocol, readRunProtocol, type Recipe } from './recipe/recipe.ts';
import { estimateBlameCosts, findWhatLost, type BlameControl } from './replay/blame.ts';
import {
  findWhatLosesRun,
  readBlamed,
  readLostProblems,
  estimateRunBlameCosts,
  type RunBlameControl,
} from './replay/blameRun.ts';
import type { TrialControl } from './replay/comparePairs.ts';
import { findMessageTokens } from './replay/contextTokens.ts';
import { checkReplay, estimateReplayCosts, replayStored } from './replay/replay.ts';
import { replayLearned, sampleStored } from './replay/sample.ts';
import type { EngineReplay } from './replay/settling.ts';
import { estimateChangeCosts, tryChange } from './replay/tryChange.ts';
import {
  requireReplays,
  verifyBucket,
  selectReplaysToVerify,
  estimateVerifyCosts,
  verifyReturns,
  type AgainControl,
} from './replay/verifyStored.ts';
import { applyEpisodeNoteChanges, findEpisodeLeaf } from './run/ownEpisodes.ts';
import { applyNoteChanges, deleteRun } from './run/ownRuns.ts';
import { pilotRun, type PilotSettings } from './run/pilot.ts';
import { planRun } from './run/plan.ts';
import type { RunSources } from './run/prepareRoles.ts';
import { prepareRun, type Interrupted } from './run/prepareRun.ts';
import { createReplacementRun } from './run/replacePolicy.ts';
import { saveModel, printSteps } from './run/runOutput.ts';
import { Timing } from './run/timing.ts';
import { trainRun } from './run/trainRun.ts';
import { createSnapshotFinder } from './session/earlier.ts';
import { RunSession, type Engine, type SessionSettings } from './session/session.ts';
import type { Lease } from './session/storeHold.ts';
import { StoreWork, type ServiceOptions } from './session/storeWork.ts';
import { Weights } from './session/weights.ts';
import { createLabel } from './taxonomy/newLabel.ts';
import { TaxonomyDesk } from './taxonomy/taxonomyDesk.ts';
import { createTaxonomyReport, type TaxonomyReport } from './taxonomy/taxonomyReport.ts';
import { readBuckets } from './taxonomy/taxonomyView.ts';

export class EngineService {
  private readonly engine: Engine;
  private readonly taxonomies = new TaxonomyDesk();
  private readonly timing: Timing;
  private readonly sources: RunSources;
  private running = false;

  constructor(storePath: string, options: ServiceOptions = {}) {
    const models = new ModelPool();
    const work = new StoreWork(storePath, options);
    const weights = new Weights(models, join(dirname(resolveRealFile(storePath)), 'snapshots'));
    this.engine = { work, models, evaluators: new Evaluators(), weights };
    this.timing = new Timing(storePath, models);
    this.sources = { texts: models.texts, earlier: createSnapshotFinder(work) };
  }

  private get work(): StoreWork {
    return this.engine.work;
  }

  /** Begins work on a run as soon as no other process writes its store. */
  private session(settings: SessionSettings, signal: AbortSignal): Promise<RunSession> {
    return RunSession.open(this.engine, settings, signal);
  }

  get storePath(): string {
    return this.work.storePath;
  }

  /** Runs `work` while this process has the writer lock; see StoreWork. */
  writing<Result>(
    what: string,
    signal: AbortSignal,
    work: (store: StoreWriter) => Promise<Result> | Result,
  ): Promise<Result> {
    return this.work.writing(what, signal, work);
  }

  /** Keeps the writer lock over several calls of this service. */
  keeping<Result>(what: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    return this.work.keeping(what, signal, work);
  }

  /** Brings a store of an older version up to date, for commands that read it before they write. */
  updated(signal: AbortSignal): Promise<void> {
    return this.work.updated(signal);
  }

  /** Reads without taking the writer lock, even while another process holds it. */
  reading<Result>(work: (store: StoreReader) => Result): Result {
    return this.work.reading(work);
  }

  /**
   * Returns what a run would need, cost and take. If no earlier run shows the speed of a small model,
   * the model is timed briefly.
   * @throws the C3Error that starting the run would throw
   */
  plan(recipe: Recipe, signal: AbortSignal = NEVER): Promise<RunPlan> {
    return this.work.tracked(
      planRun(recipe, this.sources, (inputs) => this.timing.ofPlan(recipe, inputs), this.work.stopping(signal)),
    );
  }

  /**
   * Measures rho with the untrained team of a recipe; nothing is stored.
   * @throws the C3Error that starting the run would throw; C3Error if the messages of its protocol are
   *   not known beforehand
   */
  pilot(recipe: Recipe, settings: PilotSettings, given: AbortSignal = NEVER): Promise<RhoReport> {
    const signal = this.work.stopping(given);
    return this.work.tracked(
      prepareRun(this.sources, recipe, null, signal).then((prepared) =>
        pilotRun(this.engine, prepared, settings, signal),
      ),
    );
  }

  /**
   * Trains or evaluates. Nothing is stored before the data and the model are loaded.
   * @throws C3Error('engine') while another run is in progress in this engine; CancelledError
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

  /**
   * Returns the run that begins with one policy of another run's team replaced.
   * @throws C3Error('input')
   */
  replacement(params: ReplaceParams): StartRunParams {
    return this.reading((store) => createReplacementRun(store, params));
  }

  /**
   * Takes an interrupted run to its end, with the same result as without the interruption. For a
   * finished run, makes a remark and returns its summary.
   * @throws C3Error('input') for an unknown run, or a run whose model, data or protocol have changed;
   *   C3Error('engine') while another run is in progress; CancelledError
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

  /** Returns the summary of a finished run, or null. */
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
    // A store that cannot be written is refused first; a new store is made only after everything
    // else is loaded.
    let lease = existsSync(this.storePath) ? await take() : null;
    let summary: RunSummary;
    try {
      // Another process may have finished the run during the wait for the lock.
      const finished = interrupted === null ? null : this.finishedSummary(interrupted.id, onRemark);
      if (finished !== null) {
        return finished;
      }
      summary = await trainRun(
        { engine: this.engine, timing: this.timing },
        await prepareRun(this.sources, recipe, interrupted, control.signal),
        printSteps(recipe, control, onRemark, (work) => this.work.reading(work)),
        onRemark,
        async () => (lease ??= await take()),
      );
    } finally {
      lease?.[Symbol.dispose]();
    }
    await saveModel(recipe, summary, onRemark, (format, out) =>
      this.exportWeights(summary.run, null, format, out, control.signal),
    );
    return summary;
  }

  /**
   * Replays one stored message with its own snapshot, or with the weights that the request names.
   * @throws C3Error; CancelledError, which keeps the replays that arrived
   */
  async replay(request: EngineReplay, control: ReplayControl): Promise<ReplayResult> {
    checkReplay(request);
    const { message, spending: limit } = request;
    const run = this.reading((store) => store.messageRun(message));
    const work = { what: `replay of message ${message}`, run, limit };
    await using session = await this.session(work, control.signal);
    return await replayStored(session, request, control);
  }

  /** Returns the upper bound of a replay's cost at the server of each role, without asking it. */
  replayCosts(request: EngineReplay): Promise<readonly EndpointCost[]> {
    return estimateReplayCosts(this.work, request);
  }

  /** Returns the upper bound of the cost of sampling messages again that no seed reproduces. */
  verifyCosts(message: number): readonly EndpointCost[] {
    return this.reading((store) => estimateVerifyCosts(store, message));
  }

  /** Models on servers. Credentials that windows supply stay in memory. */
  get endpoints(): Endpoints {
    return this.engine.models.endpoints;
  }

  /**
   * Finds which message lost an episode; see findWhatLost.
   * @throws C3Error; CancelledError, which keeps the replays that arrived
   */
  blame(request: BlameParams, control: BlameControl): Promise<Blame> {
    return findWhatLost(this.engine, request, control);
  }

  /**
   * Returns the upper bound of its cost at the servers of a recorded team, without asking them.
   * @throws as blame
   */
  blameCosts(request: BlameParams): Promise<readonly EndpointCost[]> {
    return estimateBlameCosts(this.engine, request);
  }

  /** Finds the messages that lose the episodes of a run; see findWhatLosesRun. @throws as blame */
  blameRun(request: RunBlameParams, control: RunBlameControl): Promise<RunBlame> {
    return findWhatLosesRun(this.engine, request, control);
  }

  /**
   * Returns the upper bound of its cost at the servers of a recorded team, without asking them.
   * @throws as blame
   */
  runBlameCosts(request: RunBlameParams): Promise<readonly EndpointCost[]> {
    return estimateRunBlameCosts(this.engine, request);
  }

  /**
   * Returns what earlier searches found for the lost problems of a run; see readLostProblems.
   * @throws C3Error
   */
  lostProblems(run: string): Promise<LostProblemRow[]> {
    return this.work.readingOn((store) => readLostProblems(store, run));
  }

  /**
   * Returns what the stored replays show for each lost episode of a run's last evaluation.
   * @throws as readBlamed
   */
  blamed(run: string): ReturnType<typeof readBlamed> {
    return this.work.readingOn((store) => readBlamed(store, run));
  }

  /**
   * Saves a message as a test in a file; see keepFinding.
   * @throws C3Error; CancelledError
   */
  keepFinding(request: KeepFindingParams, signal: AbortSignal): Promise<KeptFinding> {
    return keepFinding(this.engine, request, signal);
  }

  /**
   * Samples the message of a finding again; the finding may be from any store; see checkFinding.
   * @throws as keepFinding
   */
  checkFinding(request: CheckFindingParams, signal: AbortSignal): Promise<CheckedFinding> {
    return checkFinding(this.engine, request, signal);
  }

  /** Re-executes a run's replays (all, or a sample spread evenly over them) and compares tokens. */
  async verify(run: string, sample: number | null, control: Omit<AgainControl, 'again'>): Promise<VerificationReport> {
    this.reading((store) => store.run(run));
    await using session = await this.session({ what: 'verification of replays', run }, control.signal);
    return await verifyReturns(session, selectReplaysToVerify(session.store, run, sample), { ...control, again: true });
  }

  /**
   * Re-executes the stored replays of a message.
   * @throws C3Error('input') if it was never replayed; CancelledError, which keeps what was found
   */
  async verifyMessage(message: number, control: AgainControl): Promise<VerificationReport> {
    const run = this.reading((store) => store.messageRun(message));
    const work = { what: `verification of message ${message}`, run };
    await using session = await this.session(work, control.signal);
    return await verifyReturns(session, requireReplays(session.store, message), control);
  }

  /**
   * Re-executes every replay of one complete bucket and returns the bucket with the results. Cancelling
   * leaves the rest unverified and does not throw.
   */
  proveBucket(bucket: number, signal: AbortSignal): Promise<BucketView> {
    return verifyBucket(this.engine, bucket, signal);
  }

  /**
   * Writes the weights of a run after a step into a new folder.
   * @param step null for the last one
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
    // Weights that were not kept are rebuilt in the folder of the store, which needs the writer
    // lock.
    const kept = this.reading((store) =>
      this.engine.weights.areKept(store, run, findSnapshotAfter(store, run, step ?? store.run(run).steps).id),
    );
    return kept ? this.work.readingOn(work) : this.work.writing('export of weights', signal, work);
  }

  private async exportFrom(
    store: StoreReader,
    run: string,
    step: number | null,
    format: WeightFormat,
    out: string,
    asked: AbortSignal,
  ): Promise<readonly string[]> {
    const { steps } = store.run(run);
    if (step !== null && step > steps) {
      throw new C3Error('input', `Run ${run} has ${steps} steps; --step ${step} is not one of them.`);
    }
    const recipe = parseRecipe(store.runConfig(run), run);
    const snapshot = findSnapshotAfter(store, run, step ?? steps).id;
    const signal = this.work.stopping(asked);
    const { models, weights } = this.engine;
    await using model = await models.take(recipe, snapshot, weights.finder({ store, run, recipe, signal }));
    return await exportWeights(model.runtime, snapshot, format, out, recipe.modelFolder);
  }

  /**
   * Writes the messages that the updates of a run learned from; see exportTuples.
   * @throws C3Error as exportTuples; C3Error('model') if the run's tokenizer is missing or has changed
   */
  exportTuples(run: string, request: TupleRequest): Promise<TupleReport> {
    return this.work.readingOn(async (store) => {
      checkTuples(store, run, request);
      const recipe = parseRecipe(store.runConfig(run), run);
      const { config, modelFolder, fingerprint } = recipe;
      const { tokenizer: hash } = await computeTextsFingerprint(modelFolder, { template: null });
      if (fingerprint !== null && fingerprint.tokenizer !== hash) {
        throw new C3Error(
          'model',
          `The tokenizer in ${modelFolder} has changed since run ${run} began; put the old one back.`,
        );
      }
      const signal = this.work.stopping(request.signal);
      const tokenizer = await this.engine.models.texts.tokenizer(modelFolder, signal);
      const protocol = parseRecipeProtocol(recipe);
      return exportTuples({ store, run, config, protocol, tokenizer, tokenizerHash: hash }, { ...request, signal });
    });
  }

  /**
   * Samples buckets of a run for measurements, and stores them.
   * @returns the sample's number
   * @throws C3Error; CancelledError, which keeps the complete buckets
   */
  async sampleDiagnostics(run: string, settings: SampleSettings, control: SampleControl): Promise<number> {
    this.reading((store) => store.run(run));
    await using session = await this.session({ what: 'sampling of diagnostics', run }, control.signal);
    return await sampleStored(session, settings, control);
  }

  /**
   * Replays messages that a run learned from, to measure the credits that were used in training.
   * @throws as sampleTrainingCredit
   */
  async replayLearned(run: string, settings: TrainingCreditSettings, control: SampleControl): Promise<void> {
    this.reading((store) => store.run(run));
    await using session = await this.session(
      { what: 'replays of messages that were learned from', run },
      control.signal,
    );
    await replayLearned(session, settings, control);
  }

  /**
   * Returns the upper bound of a trial's cost at servers, without asking them.
   * @throws as tryChange
   */
  trialCosts(request: TrialParams): Promise<readonly EndpointCost[]> {
    return this.work.readingOn((store) => estimateChangeCosts(store, request));
  }

  /**
   * Tries a change of a run's team on its held-out problems, or in the context of a message; nothing is stored.
   * @throws C3Error; CancelledError
   */
  async tryChange({ run, ...request }: TrialParams, control: TrialControl): Promise<Trial> {
    this.reading((store) => store.run(run));
    const work = { what: `trial of a change of run ${run}`, run, limit: request.spending };
    await using session = await this.session(work, control.signal);
    return await tryChange(session, request, control);
  }

  /**
   * Returns the token boundaries of a stored message's context and answer.
   * @throws C3Error('model') if the run's tokenizer is gone
   */
  async contextTokens(message: number, signal: AbortSignal = NEVER): Promise<ContextTokens> {
    const { message: said, recipe } = this.work.reading((store) => {
      const found = store.fullMessage(message);
      return { message: found, recipe: parseRecipe(store.runConfig(found.run), found.run) };
    });
    return findMessageTokens(this.engine.models.texts, recipe, said, this.work.stopping(signal));
  }

  /** Returns the failure taxonomy of a run, for the command line. */
  taxonomy(run: string, thresholds: TaxonomyThresholds): Promise<TaxonomyReport> {
    return this.work.readingOn(async (store) =>
      createTaxonomyReport(store, run, await readBuckets(store, run, readRunProtocol(store, run)), thresholds),
    );
  }

  /** Returns the failure taxonomy of a run for a panel, and caches what was read of the run. */
  taxonomyView(params: TaxonomyParams): Promise<TaxonomyView> {
    return this.work.readingOn((store) =>
      this.taxonomies.view(store, params, () => readRunProtocol(store, params.run)),
    );
  }

  /**
   * Appends the user's label on a bucket, after waiting for the writer lock.
   * @throws C3Error('input') for a label that cannot be stored; CancelledError
   */
  async label(params: LabelParams, signal: AbortSignal): Promise<Label> {
    const label = this.work.reading((store) => createLabel(store, params));
    return { ...label, id: await this.work.writing('label', signal, (store) => store.insertLabel(label)) };
  }

  /** Appends the user's name and note for a run. @throws as applyNoteChanges; CancelledError */
  async noteRun({ run, ...changes }: NoteRunParams, signal: AbortSignal): Promise<RunNote> {
    // Throws for an unknown run before a store could be created.
    this.work.reading((store) => store.run(run));
    return this.work.writing('note', signal, (store) => {
      const note = applyNoteChanges(store.run(run), changes);
      store.insertRunNote({ run, ...note, createdAt: new Date().toISOString() });
      return note;
    });
  }

  /**
   * Appends the user's note on an episode.
   * @throws as findEpisodeLeaf and applyEpisodeNoteChanges; CancelledError
   */
  async noteEpisode({ message, ...changes }: NoteEpisodeParams, signal: AbortSignal): Promise<NotedEpisode> {
    // Throws for an unknown message before a store could be created.
    this.work.reading((store) => findEpisodeLeaf(store, message));
    return this.work.writing('note', signal, (store) => {
      const episode = findEpisodeLeaf(store, message);
      const run = store.messageRun(episode);
      const before = store.episodeNote(episode) ?? NO_EPISODE_NOTE;
      const note = applyEpisodeNoteChanges(before, changes, store.returnScale(run));
      const createdAt = new Date().toISOString();
      store.insertEpisodeNote({ run, leaf: episode, ...note, author: LABEL_AUTHOR, createdAt });
      return { episode, ...note, isReturn: store.episodeNote(episode)?.isReturn === true };
    });
  }

  /**
   * Deletes a run with the files of its weights.
   * @returns the bytes that were freed
   * @throws as deleteRun
   */
  async deleteRun(run: string, signal: AbortSignal): Promise<number> {
    this.work.reading((store) => store.run(run));
    return this.work.writing('deletion of a run', signal, (store) => deleteRun(store, this.engine.weights.folder, run));
  }

  /** Stores a log of another program's agents as a run; see importLog. */
  importLog(params: ImportLogParams, signal: AbortSignal): Promise<LogImport> {
    return importLog(this.work, params, signal);
  }

  /** Cancels all work in progress, waits for its end, then releases all resources. */
  async close(): Promise<void> {
    const { work, models, evaluators } = this.engine;
    await work.stop();
    await models.close().finally(() => {
      evaluators.close();
      work.close();
    });
  }
}
