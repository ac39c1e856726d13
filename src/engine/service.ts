/** What the engine can do, for both of its doors: one run at a time, replays beside it, one writer of the store. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { creditBucket } from '../credit/creditBucket.ts';
import { classifyBuckets } from '../diagnostics/taxonomy.ts';
import { answerEvaluator } from '../evaluate/evaluator.ts';
import { LocalPolicy, type Policy } from '../policy/policy.ts';
import { loadTokenizer, type Tokenizer } from '../policy/tokenizer.ts';
import { replayMessage, type ReplayControl, type ReplayRequest } from '../replay/request.ts';
import { verifyReplays, type VerificationReport } from '../replay/verify.ts';
import type { ModelRuntime } from '../runtime/host.ts';
import { startRuntime } from '../runtime/remote.ts';
import { C3Error, messageOf } from '../shared/errors.ts';
import type { BucketView, Replay, RunSummary, TaxonomyClass } from '../shared/records.ts';
import { openStoreForReading, type StoreReader } from '../store/reader.ts';
import { openStoreForWriting, type StoreWriter } from '../store/writer.ts';
import { isTerminal } from '../team/protocol.ts';
import { runTraining, type RunControl } from '../training/run.ts';
import { WORKER_ENTRY } from './places.ts';
import { loadData, parseRecipe, protocolOf, serialiseRecipe, type Recipe } from './recipe.ts';

const PAGE = 500;

export class EngineService {
  readonly storePath: string;
  private store: StoreWriter | undefined;
  private runtime: { readonly threads: number; readonly started: Promise<ModelRuntime> } | undefined;
  private readonly tokenizers = new Map<string, Promise<Tokenizer>>();
  private running = false;
  private loadedFolder: string | undefined;

  constructor(storePath: string) {
    this.storePath = storePath;
  }

  /** The store, opened for writing with its lock when first needed. @throws C3Error('store') */
  writer(): StoreWriter {
    this.store ??= openStoreForWriting(this.storePath);
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

  /** Trains or evaluates. @throws C3Error('engine') while another run is going on in this engine; CancelledError */
  async run(recipe: Recipe, control: RunControl, onRemark: (remark: string) => void = () => undefined): Promise<RunSummary> {
    if (this.running) throw new C3Error('engine', 'A run is going on already; cancel it or wait for its end.');
    this.running = true;
    try {
      const protocol = protocolOf(recipe);
      // A store that cannot be written is refused before anything is loaded; a new one is made when all else is there.
      if (existsSync(this.storePath)) this.writer();
      const data = await loadData(recipe);
      for (const remark of data.remarks) onRemark(remark);
      const tokenizer = await this.tokenizer(recipe.modelFolder);
      const runtime = await this.runtimeFor(recipe);
      this.loadedFolder = undefined;
      const store = this.writer();
      const snapshotFolder = join(dirname(this.storePath), 'snapshots');
      await mkdir(snapshotFolder, { recursive: true });
      const id = `${recipe.config.method}-${String(recipe.config.seed)}-${randomUUID().slice(0, 8)}`;
      return await runTraining(
        id,
        recipe.config,
        {
          store,
          runtime,
          tokenizer,
          protocol,
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
    } finally {
      this.running = false;
    }
  }

  /** Replays one stored message under its own snapshot. @throws C3Error; CancelledError, keeping what arrived */
  async replay(request: ReplayRequest, control: ReplayControl): Promise<BucketView> {
    const { run, snapshot } = this.reading((store) => store.message(request.message));
    const store = this.writer();
    const recipe = parseRecipe(store.runConfig(run), run);
    const policy = await this.policyOf(snapshot, recipe);
    if (typeof policy === 'string') throw new C3Error('model', policy);
    return replayMessage(
      request,
      { store, protocol: protocolOf(recipe), policy, evaluator: answerEvaluator, creditOf: (alternatives) => creditBucket(alternatives, 'loo'), seed: recipe.config.seed, returnBound: recipe.config.credit.return_clip },
      control,
    );
  }

  /** Re-executes a run's replays (all, or a sample spread evenly over them) and compares tokens. */
  async verify(run: string, sample: number | null, cancelled: () => boolean): Promise<VerificationReport> {
    const store = this.writer();
    store.run(run);
    const recipe = parseRecipe(store.runConfig(run), run);
    const total = store.countReplays(run);
    const wanted = Math.min(sample ?? total, total);
    const replays: Replay[] = Array.from({ length: wanted }, (_, index) => store.replaysOfRun(run, Math.floor((index * total) / wanted), 1)).flat();
    return verifyReplays(store, replays, (snapshot) => this.policyOf(snapshot, recipe), cancelled);
  }

  /** Re-executes every replay of one bucket and gives the bucket back with what that showed. */
  async verifyBucket(bucket: number, cancelled: () => boolean): Promise<BucketView> {
    const store = this.writer();
    const { run } = store.bucket(bucket);
    const recipe = parseRecipe(store.runConfig(run), run);
    await verifyReplays(store, store.replaysOfBucket(bucket), (snapshot) => this.policyOf(snapshot, recipe), cancelled);
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

  async close(): Promise<void> {
    const runtime = this.runtime;
    this.runtime = undefined;
    if (runtime !== undefined) await (await runtime.started).close();
    this.store?.close();
    this.store = undefined;
  }

  /** The policy of a snapshot, or one sentence saying why its weights cannot be had. */
  private async policyOf(snapshot: string, recipe: Recipe): Promise<Policy | string> {
    const runtime = await this.runtimeFor(recipe);
    const tokenizer = await this.tokenizer(recipe.modelFolder);
    if (!(await runtime.snapshots()).includes(snapshot)) {
      const reason = await this.loadSnapshot(runtime, snapshot, recipe);
      if (reason !== null) return reason;
    }
    return new LocalPolicy(runtime, tokenizer, snapshot);
  }

  private async loadSnapshot(runtime: ModelRuntime, snapshot: string, recipe: Recipe): Promise<string | null> {
    const short = snapshot.slice(0, 12);
    try {
      // The base's weights stay loaded for as long as its folder does.
      if (this.loadedFolder !== recipe.modelFolder) {
        const base = await runtime.load(recipe.modelFolder);
        this.loadedFolder = recipe.modelFolder;
        if (base.snapshot === snapshot) return null;
      }
      const file = this.reading((store) => store.snapshots(snapshot)).find((known) => known.file !== null)?.file;
      if (file === undefined || file === null) return `The weights of snapshot ${short} were not kept, so its messages cannot be re-executed.`;
      const loaded = await runtime.loadSnapshot(file);
      return loaded === snapshot ? null : `${file} holds other weights than snapshot ${short}; put the original file back.`;
    } catch (error) {
      return `The weights of snapshot ${short} cannot be loaded: ${messageOf(error)}`;
    }
  }

  private tokenizer(folder: string): Promise<Tokenizer> {
    const known = this.tokenizers.get(folder) ?? loadTokenizer(folder);
    this.tokenizers.set(folder, known);
    return known;
  }

  /** One worker thread, started when first needed; another thread count starts another one. */
  private async runtimeFor({ config }: Recipe): Promise<ModelRuntime> {
    const { threads } = config.device;
    if (this.runtime !== undefined && this.runtime.threads !== threads) {
      const previous = this.runtime;
      this.runtime = undefined;
      await (await previous.started).close();
    }
    if (this.runtime === undefined) this.loadedFolder = undefined;
    this.runtime ??= { threads, started: startRuntime(WORKER_ENTRY, { threads }) };
    return this.runtime.started;
  }
}
