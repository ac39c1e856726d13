/**
 * The rows of the store bench: a training run as the engine appends it. An iteration is one
 * transaction. Each of its problems has a tree of 2 plans x 4 answers with a bucket per context, an
 * episode per leaf and a credit per alternative. Every eighth iteration ends with a replay request.
 * Sizes are those of small teams: contexts of about 300 bytes, messages of about 60 bytes and 20
 * tokens.
 */

import { createHash } from 'node:crypto';
import type { NewEpisode, Phase } from '../../domain/episode.ts';
import type { NewMessage, Sampling } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import type { NewBucket, NewReplay } from '../../domain/replay.ts';
import type { NumericEnvironment, Snapshot } from '../../domain/snapshot.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { NewRun, StoreWriter, TreeGroup } from '../../store/types.ts';
import type { BulkAppender } from '../../store/write/bare.ts';

/** One append. Rows refer to each other by the ids that an empty store assigns. */
export type Append =
  | { readonly table: 'bucket'; readonly row: NewBucket }
  | { readonly table: 'decision'; readonly row: NewMessage }
  | { readonly table: 'alternative'; readonly bucket: number; readonly message: number }
  | { readonly table: 'episode'; readonly row: NewEpisode }
  | { readonly table: 'replay'; readonly row: NewReplay }
  | { readonly table: 'credit'; readonly bucket: number; readonly message: number; readonly credit: Credit };

export const BENCH_RUN: NewRun = {
  id: 'bench',
  method: 'c3',
  seed: 0,
  title: 'store bench',
  config: '{}',
  plannedSteps: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
};
const SNAPSHOT: Snapshot = { id: sha256('weights'), run: BENCH_RUN.id, iteration: 0, base: 'bench', file: null };
const ENVIRONMENT: NumericEnvironment = {
  runtime: 'bench',
  provider: 'cpu',
  device: 'bench',
  threads: 1,
  platform: 'bench',
};
const SAMPLING: Sampling = { temperature: 1, topP: 1, topK: 0, maxNewTokens: 64 };

const INSTANCES = 512;
const INSTANCES_AN_ITERATION = 32;
const PLANS = 2;
const ANSWERS = 4;
const ITERATIONS_A_REQUEST = 8;
const ALTERNATIVES_A_REQUEST = 4;
const REPLAYS = 4;
const TOKENS = 20;
/** Words that messages consist of. Each is in about a fifth of the messages. */
export const COMMON_WORDS = [
  'add',
  'take',
  'give',
  'share',
  'count',
  'apples',
  'pears',
  'boxes',
  'coins',
  'left',
  'right',
  'first',
  'half',
  'twice',
  'total',
  'price',
  'each',
  'more',
  'less',
  'still',
  'again',
  'after',
  'before',
  'double',
  'row',
  'table',
  'bag',
  'remain',
  'spend',
  'earn',
  'sum',
  'rest',
];

/**
 * Stores the run, its snapshot, the problems of the workload, and the environment, which gets id 1.
 */
export function beginWorkload(store: StoreWriter): void {
  store.transaction(() => {
    store.insertRun(BENCH_RUN);
    store.insertSnapshot(SNAPSHOT);
    store.insertProblems(Array.from({ length: INSTANCES }, (_, index) => makeBenchProblem(index)));
    store.environmentId(ENVIRONMENT);
  });
}

/** Appends the rows in order, inside a transaction of the caller. */
export function appendAll(store: BulkAppender, appends: readonly Append[]): void {
  for (const append of appends) {
    switch (append.table) {
      case 'bucket':
        store.insertBucket(append.row);
        break;
      case 'decision':
        store.insertMessage(append.row);
        break;
      case 'alternative':
        store.insertAlternative(append.bucket, append.message, 0, true);
        break;
      case 'episode':
        store.insertEpisode(append.row);
        break;
      case 'replay':
        store.insertReplay(append.row);
        break;
      case 'credit':
        store.insertCredit(append.bucket, append.message, append.credit);
        break;
    }
  }
}

/**
 * Generates the transactions of the run one after another, always the same ones in the same order.
 */
export class StoreWorkload {
  /** Number of messages so far, which is the id of the last one. */
  messages = 0;
  /** Number of buckets so far, which is the id of the last one. */
  buckets = 0;
  private iteration = 0;
  private requests = 0;
  private appends: Append[] = [];

  /** Returns the appends of the next transaction. */
  next(): readonly Append[] {
    this.appends = [];
    this.iteration++;
    let asked = 0;
    for (let slot = 0; slot < INSTANCES_AN_ITERATION; slot++) {
      asked = this.tree((this.iteration * INSTANCES_AN_ITERATION + slot) % INSTANCES, 'train', this.iteration, PLANS);
    }
    if (this.iteration % ITERATIONS_A_REQUEST === 0) {
      this.request((this.iteration * INSTANCES_AN_ITERATION + INSTANCES_AN_ITERATION - 1) % INSTANCES, asked);
    }
    return this.appends;
  }

  /** Returns one problem with 2,000 plans in its own iteration, a transcript of 10,000 messages. */
  wide(): readonly Append[] {
    this.appends = [];
    this.tree(WIDE.index, WIDE.phase, WIDE.iteration, WIDE_PLANS);
    return this.appends;
  }

  /** Appends the tree of one problem. @returns the id of the first plan */
  private tree(index: number, phase: Phase, iteration: number, plans: number): number {
    const place = { index, phase, iteration };
    const bucket = this.bucket(place, 'reasoner', makeRootContext(index), null);
    const first = this.messages + 1;
    const ids = Array.from({ length: plans }, (_, sibling) =>
      this.message(place, 'reasoner', makeRootContext(index), null, bucket, sibling),
    );
    for (const id of ids) {
      this.credit(bucket, id);
      const context = makeAnswerContext(index, id);
      const below = this.bucket(place, 'actor', context, null);
      for (let sibling = 0; sibling < ANSWERS; sibling++) {
        const leaf = this.message(place, 'actor', context, id, below, sibling);
        this.episode(place, leaf);
        this.credit(below, leaf);
      }
    }
    return first;
  }

  /**
   * Appends a replay request on a plan: fresh alternatives, and REPLAYS continuations of each of
   * them and of the original.
   */
  private request(index: number, asked: number): void {
    const place = { index, phase: 'replay', iteration: ++this.requests } as const;
    const bucket = this.bucket(place, 'reasoner', makeRootContext(index), asked);
    this.appends.push({ table: 'alternative', bucket, message: asked });
    const fresh = Array.from({ length: ALTERNATIVES_A_REQUEST }, (_, sibling) =>
      this.message(place, 'reasoner', makeRootContext(index), null, bucket, sibling + 1),
    );
    for (const alternative of [asked, ...fresh]) {
      for (let replayIndex = 0; replayIndex < REPLAYS; replayIndex++) {
        const leaf = this.message(
          place,
          'actor',
          makeAnswerContext(index, alternative),
          alternative,
          null,
          replayIndex,
        );
        this.episode(place, leaf);
        const row = {
          bucket,
          alternative,
          replayIndex,
          leaf,
          return: leaf % 2,
          evaluatorCalls: 1,
          tokenHash: sha256(`replay ${leaf}`),
          environment: 1,
        };
        this.appends.push({ table: 'replay', row });
      }
      this.credit(bucket, alternative);
    }
  }

  private bucket({ index, phase, iteration }: Place, role: string, context: string, message: number | null): number {
    const row: NewBucket = {
      run: BENCH_RUN.id,
      origin: phase === 'replay' ? 'request' : 'training',
      iteration,
      problem: hashBenchUid(index),
      role,
      turn: 0,
      contextKey: hashToContextKey(context),
      snapshot: SNAPSHOT.id,
      message,
    };
    this.appends.push({ table: 'bucket', row });
    return ++this.buckets;
  }

  private message(
    { index, phase, iteration }: Place,
    role: string,
    context: string,
    parent: number | null,
    bucket: number | null,
    siblingIndex: number,
  ): number {
    const id = ++this.messages;
    const tokens = Int32Array.from({ length: TOKENS }, (_, at) => mixNumber(id * TOKENS + at) % 512);
    const row: NewMessage = {
      run: BENCH_RUN.id,
      phase,
      iteration,
      problem: hashBenchUid(index),
      snapshot: SNAPSHOT.id,
      environment: 1,
      role,
      turn: 0,
      position: role === 'reasoner' ? 0 : 1,
      parent,
      bucket,
      siblingIndex,
      context,
      contextKey: hashToContextKey(context),
      text: makeMessageText(findTextSource(id, siblingIndex)),
      tokens,
      logprobs: Float32Array.from(tokens, (token) => -token / 512),
      streamKey: sha256(`stream ${id}`),
      sampling: SAMPLING,
      finish: 'end',
      promptTokens: 100,
      reusedTokens: siblingIndex === 0 ? 0 : 100,
    };
    this.appends.push({ table: 'decision', row });
    return id;
  }

  private episode({ index, phase, iteration }: Place, leaf: number): void {
    const row: NewEpisode = {
      run: BENCH_RUN.id,
      phase,
      iteration,
      problem: hashBenchUid(index),
      leaf,
      return: leaf % 2,
      rule: 'exact',
      evaluatorCalls: 1,
    };
    this.appends.push({ table: 'episode', row });
  }

  private credit(bucket: number, message: number): void {
    const value = (mixNumber(message) % 1000) / 1000 - 0.5;
    this.appends.push({
      table: 'credit',
      bucket,
      message,
      credit: {
        estimator: 'loo',
        value,
        low: value - 0.2,
        high: value + 0.2,
        n: 4,
        evaluatorCalls: 4,
        interval: 'newcombe',
      },
    });
  }
}

/** The place of the transcript of 10,000 messages. */
const WIDE = { index: 0, phase: 'train', iteration: 0 } as const;
const WIDE_PLANS = 2000;
export const WIDE_GROUP: TreeGroup = {
  run: BENCH_RUN.id,
  phase: WIDE.phase,
  iteration: WIDE.iteration,
  problem: hashBenchUid(WIDE.index),
};

interface Place {
  readonly index: number;
  readonly phase: Phase;
  readonly iteration: number;
}

function makeBenchProblem(index: number): Problem {
  return {
    uid: `bench-${index}`,
    uidSha: hashBenchUid(index),
    question: makeSentence(index, 24),
    answer: String(index),
    source: 'bench',
    level: 1,
  };
}

function hashBenchUid(index: number): string {
  return sha256(`bench-${index}`);
}

function makeRootContext(index: number): string {
  return `system: plan the steps and leave the work to the actor\nuser: ${makeSentence(index, 45)}\nreasoner:`;
}

function makeAnswerContext(index: number, plan: number): string {
  return `system: follow the plan and end with the answer\nuser: ${makeSentence(index, 32)}\nreasoner: ${makeMessageText(plan)}\nactor:`;
}

/**
 * Returns the id of the message whose text this one repeats. One message in sixteen has a text that
 * all of those share, and one later sibling in four repeats the text of the sibling before it.
 */
function findTextSource(id: number, siblingIndex: number): number {
  if (id % 16 === 5) {
    return 5;
  }
  return siblingIndex > 0 && id % 4 === 0 ? id - 1 : id;
}

/**
 * Returns a text of about 60 bytes: a rare word, a word unique to the message, and common words.
 */
function makeMessageText(id: number): string {
  return `w${mixNumber(id) % 20_000} m${id} ${makeSentence(id, 8)}`;
}

function makeSentence(seed: number, words: number): string {
  return Array.from({ length: words }, (_, at) => COMMON_WORDS[mixNumber(seed * 64 + at) % COMMON_WORDS.length]).join(
    ' ',
  );
}

/** Returns a decimal key below 2^63 from the SHA-256 of the text, which is cheaper than BLAKE2b. */
function hashToContextKey(context: string): string {
  return (createHash('sha256').update(context).digest().readBigUInt64LE() >> 1n).toString();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Returns a pseudorandom integer in [0, 2^32) by a bijective mix of 32 bits. */
function mixNumber(value: number): number {
  let bits = value >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}
