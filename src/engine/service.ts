/** What the engine can do, for both of its doors: one run at a time, replays beside it, one writer of the store. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { classifyBuckets } from '../diagnostics/taxonomy.ts';
import { answerEvaluator } from '../evaluate/evaluator.ts';
import { checkRequest, replayMessage, type ReplayControl, type ReplayRequest } from '../replay/request.ts';
import { verifyReplays, type PolicyLender, type VerificationReport } from '../replay/verify.ts';
import { C3Error } from '../shared/errors.ts';
import type { BucketView, Replay, RunSummary, TaxonomyClass } from '../shared/records.ts';
import { openStoreForReading, type StoreReader } from '../store/reader.ts';
import { openStoreForWriting, type StoreWriter } from '../store/writer.ts';
import { isTerminal } from '../team/protocol.ts';
import { runSampling } from '../training/config.ts';
import { creditRule } from '../training/credits.ts';
import { runTraining, type RunControl } from '../training/run.ts';
import { ModelPool, type LentPolicy } from './models.ts';
import { loadData, parseRecipe, protocolOf, serialiseRecipe, type Recipe } from './recipe.ts';

const PAGE = 500;

export class EngineService {
  readonly storePath: string;
  private readonly models = new ModelPool();
  private store: StoreWriter | undefined;
  private running = false;
  private closing = false;
  /** Work that goes on; close waits for its end. */
  private readonly active = new Set<Promise<unknown>>();

  constructor(storePath: string) {
    this.storePath = storePath;
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

  /** Trains or evaluates. Nothing is stored before data and model are loaded. @throws C3Error('engine') while another run is going on in this engine; CancelledError */
  async run(recipe: Recipe, control: RunControl, onRemark: (remark: string) => void = () => undefined): Promise<RunSummary> {
    if (this.running) throw new C3Error('engine', 'A run is going on already; cancel it or wait for its end.');
    this.running = true;
    try {
      return await this.tracked(this.train(recipe, { ...control, cancelled: this.stopping(control.cancelled) }, onRemark));
    } finally {
      this.running = false;
    }
  }

  private async train(recipe: Recipe, control: RunControl, onRemark: (remark: string) => void): Promise<RunSummary> {
    // A store that cannot be written is refused first; a new one is made only when all else is there.
    if (existsSync(this.storePath)) this.writer();
    const data = await loadData(recipe);
    for (const remark of data.remarks) onRemark(remark);
    return this.models.exclusively(recipe, async ({ runtime, tokenizer, info }) => {
      const store = this.writer();
      const snapshotFolder = join(dirname(this.storePath), 'snapshots');
      await mkdir(snapshotFolder, { recursive: true });
      const id = `${recipe.config.method}-${String(recipe.config.seed)}-${randomUUID().slice(0, 8)}`;
      return runTraining(
        id,
        recipe.config,
        {
          store,
          runtime,
          base: info.snapshot,
          tokenizer,
          protocol: protocolOf(recipe),
          evaluator: answerEvaluator,
          ...data,
          recipe: serialiseRecipe(recipe),
          modelFolder: recipe.modelFolder,
          snapshotFolder,
          clock: () => performance.now() / 1000,
          now: () => new Date().toISOString(),
        },
        control,
      );
    });
  }

  /** Replays one stored message under its own snapshot. @throws C3Error; CancelledError, keeping what arrived */
  async replay(request: ReplayRequest, control: ReplayControl): Promise<BucketView> {
    checkRequest(request);
    const { run, snapshot } = this.reading((store) => store.message(request.message));
    const store = this.writer();
    const recipe = parseRecipe(store.runConfig(run), run);
    const { config } = recipe;
    const work = async (lent: LentPolicy | string): Promise<BucketView> => {
      if (typeof lent === 'string') throw new C3Error('model', lent);
      if (request.text !== null) checkLength(request.text, store.decision(request.message).promptTokens, lent);
      return replayMessage(
        request,
        { store, protocol: protocolOf(recipe), policy: lent.policy, evaluator: answerEvaluator, sampling: runSampling(config), seed: config.seed, returnBound: config.credit.return_clip, credit: creditRule('loo') },
        { ...control, cancelled: this.stopping(control.cancelled) },
      );
    };
    return this.tracked(this.models.withPolicy(recipe, snapshot, (name) => this.weightsFile(name), work));
  }

  /** Re-executes a run's replays (all, or a sample spread evenly over them) and compares tokens. */
  async verify(run: string, sample: number | null, cancelled: () => boolean): Promise<VerificationReport> {
    this.reading((store) => store.run(run));
    const store = this.writer();
    const total = store.countReplays(run);
    const replays: Replay[] = [];
    if (sample === null || sample >= total) for (let offset = 0; offset < total; offset += PAGE) replays.push(...store.replaysOfRun(run, offset, PAGE));
    else for (let index = 0; index < sample; index++) replays.push(...store.replaysOfRun(run, Math.floor((index * total) / sample), 1));
    return this.tracked(verifyReplays(store, replays, this.lender(run), this.stopping(cancelled)));
  }

  /** Re-executes every replay of one bucket and gives the bucket back with what that showed. */
  async verifyBucket(bucket: number, cancelled: () => boolean): Promise<BucketView> {
    const store = this.writer();
    await this.tracked(verifyReplays(store, store.replaysOfBucket(bucket), this.lender(store.bucket(bucket).run), this.stopping(cancelled)));
    return store.bucketView(bucket);
  }

  /** The paper's failure classes over every bucket of a run. */
  taxonomy(run: string): TaxonomyClass[] {
    return this.reading((store) => {
      store.run(run);
      const protocol = protocolOf(parseRecipe(store.runConfig(run), run));
      const buckets: Parameters<typeof classifyBuckets>[0][number][] = [];
      const questions = new Map<string, string>();
      for (let offset = 0; ; offset += PAGE) {
        const page = store.bucketsOfRun({ run, offset, limit: PAGE });
        for (const bucket of page) {
          const question = questions.get(bucket.instance) ?? store.instance(bucket.instance).question;
          questions.set(bucket.instance, question);
          const occurrence = protocol.occurrences.find(({ role, turn }) => role === bucket.eventType && turn === bucket.turn);
          buckets.push({ ...bucket, question, terminal: occurrence === undefined || isTerminal(protocol, occurrence.position) });
        }
        if (page.length < PAGE) return classifyBuckets(buckets);
      }
    });
  }

  /** Cancels what goes on, waits for its end, then gives everything back. */
  async close(): Promise<void> {
    this.closing = true;
    await Promise.allSettled(this.active);
    try {
      await this.models.close();
    } finally {
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

  private lender(run: string): PolicyLender {
    const recipe = parseRecipe(this.writer().runConfig(run), run);
    return (snapshot, work) => this.models.withPolicy(recipe, snapshot, (name) => this.weightsFile(name), (lent) => work(typeof lent === 'string' ? lent : lent.policy));
  }

  private weightsFile(snapshot: string): string | null {
    return this.reading((store) => store.snapshots(snapshot)).find(({ file }) => file !== null)?.file ?? null;
  }
}

/** Who holds the writer lock is the only one who runs anything: a run that still says so was left by a process that is gone. */
function endAbandoned(store: StoreWriter): void {
  for (const { id, status } of store.runs(0, store.countRuns())) {
    if (status === 'running') store.updateRunStatus(id, 'failed', new Date().toISOString(), null);
  }
}

/** @throws C3Error('input') when a typed message and its context exceed the model's positions */
function checkLength(text: string, contextTokens: number, { tokenizer, info }: LentPolicy): void {
  const tokens = tokenizer.encode(text).length + 1;
  const { maxPositions } = info.config;
  if (contextTokens + tokens > maxPositions) {
    throw new C3Error('input', `The text has ${String(tokens)} tokens and its context ${String(contextTokens)}, together more than the model's ${String(maxPositions)} positions; shorten it.`);
  }
}
