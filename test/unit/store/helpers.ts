/** Temporary stores and small rows for the tests of the store. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { NewEpisode } from '../../../src/domain/episode.ts';
import type { NewMessage } from '../../../src/domain/message.ts';
import type { Problem } from '../../../src/domain/problem.ts';
import type { NewBucket, NewReplay } from '../../../src/domain/replay.ts';
import type { NumericEnvironment } from '../../../src/domain/snapshot.ts';
import type { Credit } from '../../../src/shared/credit/credit.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { loadSqlite, type Connection } from '../../../src/store/files/sqlite.ts';
import { openStoreForWriting, type StoreWriter, type WriterOptions } from '../../../src/store/write/writer.ts';

export const WEIGHTS = 'ab'.repeat(32);
export const RUN = 'run-1';

export const INSTANCE: Problem = {
  uid: 'sum-1',
  uidSha: '5e'.repeat(32),
  question: 'How many is 12 + 7?',
  answer: '19',
  source: 'sums',
  level: 2,
};
export const OTHER_INSTANCE: Problem = {
  uid: 'sum-2',
  uidSha: '6f'.repeat(32),
  question: 'How many is 3 + 4?',
  answer: '7',
  source: 'sums',
  level: null,
};
export const ENVIRONMENT: NumericEnvironment = {
  runtime: 'onnxruntime 1.30.0',
  provider: 'cpu',
  device: 'x64',
  threads: 2,
  platform: 'linux-x64',
};

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-store-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store in a folder of its own that holds one run, one snapshot, two problems and environment 1. */
export function filledStore(t: TestContext, options: WriterOptions = {}): StoreWriter {
  const store = openStoreForWriting(join(temporaryFolder(t), '.c3', 'c3.sqlite'), options);
  t.after(() => store.close());
  addRun(store, RUN, '2026-01-01T00:00:00.000Z');
  store.insertProblems([INSTANCE, OTHER_INSTANCE]);
  store.environmentId(ENVIRONMENT);
  return store;
}

export function addRun(store: StoreWriter, id: string, createdAt: string): void {
  store.insertRun({
    id,
    method: 'c3',
    seed: 7,
    title: `title of ${id}`,
    config: '{"seed":7}',
    plannedSteps: 3,
    createdAt,
  });
  store.insertSnapshot({ id: WEIGHTS, run: id, iteration: 0, base: '/models/team', file: null });
}

export function newMessage(changes: Partial<NewMessage> = {}): NewMessage {
  return {
    run: RUN,
    phase: 'train',
    iteration: 1,
    problem: INSTANCE.uidSha,
    snapshot: WEIGHTS,
    environment: 1,
    role: 'reasoner',
    turn: 0,
    position: 0,
    parent: null,
    bucket: null,
    siblingIndex: 0,
    context: 'Question: 12 + 7',
    contextKey: '9007199254740993',
    text: '12+7',
    tokens: Int32Array.from((changes.text ?? '12+7').padEnd(4).slice(-4), (character) => character.charCodeAt(0)),
    logprobs: Float32Array.of(-0.5, -0.25, -1, -2),
    streamKey: 'stream',
    sampling: { temperature: 1, topP: 0.9, topK: 40, maxNewTokens: 32 },
    finish: 'end',
    promptTokens: 16,
    reusedTokens: 8,
    ...changes,
  };
}

export function newEpisode(leaf: number, value: number | null, changes: Partial<NewEpisode> = {}): NewEpisode {
  return {
    run: RUN,
    phase: 'train',
    iteration: 1,
    problem: INSTANCE.uidSha,
    leaf,
    return: value,
    rule: 'exact',
    evaluatorCalls: 1,
    ...changes,
  };
}

export function newBucket(changes: Partial<NewBucket> = {}): NewBucket {
  return {
    run: RUN,
    origin: 'training',
    iteration: 1,
    problem: INSTANCE.uidSha,
    role: 'reasoner',
    turn: 0,
    contextKey: '9007199254740993',
    snapshot: WEIGHTS,
    message: null,
    ...changes,
  };
}

export function newReplay(
  bucket: number,
  alternative: number,
  replayIndex: number,
  leaf: number,
  value: number | null,
): NewReplay {
  return {
    bucket,
    alternative,
    replayIndex,
    leaf,
    return: value,
    evaluatorCalls: 1,
    tokenHash: 'cd'.repeat(32),
    environment: 1,
  };
}

export function newCredit(value: number, changes: Partial<Credit> = {}): Credit {
  return {
    estimator: 'loo',
    value,
    low: value - 0.1,
    high: value + 0.1,
    n: 4,
    evaluatorCalls: 4,
    interval: 'newcombe',
    ...changes,
  };
}

/** A bare connection, such as any other program could open. */
export function rawConnection(t: TestContext, path: string): Connection {
  const db = new (loadSqlite())(path);
  t.after(() => db.close());
  return db;
}

/** True for a one-line C3Error('store') whose message matches every pattern. */
export function storeErrorLike(...patterns: readonly RegExp[]): (error: unknown) => boolean {
  return (error) =>
    error instanceof C3Error &&
    error.kind === 'store' &&
    !error.message.includes('\n') &&
    patterns.every((pattern) => pattern.test(error.message));
}

export function inputErrorLike(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof C3Error && error.kind === 'input' && pattern.test(error.message);
}

/** Every file of a folder with its bytes, as hex. */
export function filesOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(join(folder, name)).toString('hex')]),
  );
}

/** Whole numbers from 0 to below `limit`, the same sequence for the same seed. */
export function numbersFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
