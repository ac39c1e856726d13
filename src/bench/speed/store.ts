/**
 * `c3 bench store`: rows appended per second, compared with bare better-sqlite3 that does the same
 * work on the same schema, and the times in which a large store answers the queries of the editor.
 */

import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import { CancelledError } from '../../shared/errors.ts';
import { WINDOW } from '../../shared/protocols/transcriptProtocol.ts';
import { openStoreForReading, type StoreReader } from '../../store/read/reader.ts';
import type { RoleContext } from '../../store/types.ts';
import { openBareStore, type BareStore } from '../../store/write/bare.ts';
import { openStoreForWriting, type StoreWriter } from '../../store/write/writer.ts';
import {
  makeFigure,
  describeHardware,
  takeMedian,
  takeQuantile,
  type BenchFigure,
  type BenchOptions,
  type BenchReport,
} from '../report.ts';
import { appendAll, beginWorkload, BENCH_RUN, COMMON_WORDS, StoreWorkload, WIDE_GROUP } from './storeWorkload.ts';

/** Messages that the store holds during the measurement, and rounds of appends of each side. */
const FULL = { messages: 1_000_000, rounds: 21 };
const QUICK = { messages: 50_000, rounds: 11 };
const TRANSACTIONS_A_ROUND = 8;
/** Fresh connections on which opening and the first windows are measured. */
const OPENINGS = 9;
/** Look-ups of each kind on one connection. */
const LOOK_UPS = 400;

/** Rows of a page of buckets or of hits. */
const PAGE = 100;

/**
 * Measures the store in a temporary folder.
 * @throws CancelledError; C3Error('store') if the disk is full
 */
export async function benchStore(options: BenchOptions): Promise<BenchReport> {
  const folder = createTemporaryFolder('bench-store');
  try {
    const figures = await measureStore(folder, options);
    return { suite: 'store', figures, hardware: describeHardware() };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureStore(folder: string, options: BenchOptions): Promise<BenchFigure[]> {
  const { messages: stored, rounds } = options.quick ? QUICK : FULL;
  const path = join(folder, 'c3.sqlite');
  const workload = new StoreWorkload();
  await fillBenchStore(path, workload, stored, options);
  // Both sides continue from the same file.
  const barePath = join(folder, 'bare.sqlite');
  await copyFile(path, barePath);
  const store = openStoreForWriting(path);
  try {
    const bare = openBareStore(barePath);
    let append: BenchFigure;
    try {
      append = await measureAppends(store, bare, workload, rounds, options);
    } finally {
      bare.close();
      await rm(barePath, { force: true });
    }
    options.note(`appends measured, ${rounds} rounds`);
    // The store stays open for writing while it is read, as during a run.
    return [append, ...(await measureReads(path, options))];
  } finally {
    store.close();
  }
}

/** Lets Node.js handle signals. @throws CancelledError */
async function pauseForSignals({ signal }: BenchOptions): Promise<void> {
  await setImmediate();
  if (signal.aborted) {
    throw new CancelledError();
  }
}

async function fillBenchStore(
  path: string,
  workload: StoreWorkload,
  messages: number,
  options: BenchOptions,
): Promise<void> {
  const store = openStoreForWriting(path);
  try {
    beginWorkload(store);
    const wide = workload.wide();
    store.transaction(() => appendAll(store, wide));
    for (let tenth = 1; tenth <= 10; tenth++) {
      while (workload.messages < (messages * tenth) / 10) {
        const appends = workload.next();
        store.transaction(() => appendAll(store, appends));
        await pauseForSignals(options);
      }
      options.note(`${workload.messages} messages stored`);
    }
  } finally {
    store.close();
  }
}

async function measureAppends(
  store: StoreWriter,
  bare: BareStore,
  workload: StoreWorkload,
  rounds: number,
  options: BenchOptions,
): Promise<BenchFigure> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const transactions = Array.from({ length: TRANSACTIONS_A_ROUND }, () => workload.next());
    const ready = transactions.map((appends) => bare.ready((appender) => appendAll(appender, appends)));
    const rows = ready.reduce((sum, transaction) => sum + transaction.rows, 0);
    const sides = [
      (): void => {
        ours.push(
          rows /
            seconds(() => {
              for (const appends of transactions) {
                store.transaction(() => appendAll(store, appends));
              }
            }),
        );
      },
      (): void => {
        theirs.push(
          rows /
            seconds(() => {
              for (const transaction of ready) {
                transaction.store();
              }
            }),
        );
      },
    ];
    // The order alternates, so that neither side always follows the other.
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      side();
    }
    await pauseForSignals(options);
  }
  const ratios = ours.flatMap((rate, round) => rate / (theirs[round] ?? Number.NaN));
  return makeFigure('append', takeMedian(ours), 'rows/s', { ceiling: takeMedian(theirs), ratio: takeMedian(ratios) });
}

async function measureReads(path: string, options: BenchOptions): Promise<BenchFigure[]> {
  const opening: number[] = [];
  const first: number[] = [];
  const outline: number[] = [];
  const middle: number[] = [];
  for (let time = 0; time < OPENINGS; time++) {
    const reader = timed(opening, () => openStoreForReading(path));
    try {
      const { total } = timed(first, () => reader.transcript({ ...WIDE_GROUP, offset: 0, limit: WINDOW }));
      timed(middle, () => reader.transcript({ ...WIDE_GROUP, offset: Math.floor(total / 2), limit: WINDOW }));
    } finally {
      reader.close();
    }
    const other = openStoreForReading(path);
    try {
      timed(outline, () => other.outline(WIDE_GROUP));
    } finally {
      other.close();
    }
    await pauseForSignals(options);
  }
  const reader = openStoreForReading(path);
  try {
    return [
      makeFigure('opening the store', takeMedian(opening), 'ms'),
      makeFigure('first window of 10,000 messages', takeMedian(first), 'ms'),
      makeFigure('middle window of 10,000 messages', takeMedian(middle), 'ms'),
      makeFigure('outline of 10,000 messages', takeMedian(outline), 'ms'),
      ...(await measureLookUps(reader, options)),
    ];
  } finally {
    reader.close();
  }
}

async function measureLookUps(reader: StoreReader, options: BenchOptions): Promise<BenchFigure[]> {
  const { messages: stored, buckets } = reader.counts();
  const contexts = spreadIds(buckets).map((id): RoleContext => {
    const { role, contextKey } = reader.bucket(id);
    return { run: BENCH_RUN.id, role, contextKey };
  });
  const messages = spreadIds(stored);
  const figures: BenchFigure[] = [];
  const looked = async <Asked>(name: string, asked: readonly Asked[], ask: (one: Asked) => unknown): Promise<void> => {
    const times: number[] = [];
    for (const one of asked) {
      timed(times, () => ask(one));
    }
    figures.push(
      makeFigure(`${name}, median`, takeMedian(times), 'ms'),
      makeFigure(`${name}, 99th percentile`, takeQuantile(times, 0.99), 'ms'),
    );
    await pauseForSignals(options);
  };
  await looked('bucket by run, role and context key', contexts, (context) =>
    reader.bucketsOfContext({ ...context, offset: 0, limit: PAGE }),
  );
  await looked('message', messages, (id) => reader.message(id));
  await looked('children', messages, (id) => reader.children(id));
  await looked('chain', messages, (id) => reader.chain(id));
  const search = (query: string): unknown => reader.searchMessages({ query, offset: 0, limit: PAGE });
  await looked("search of a message's own word", messages.slice(0, 50), (id) => search(`m${id}`));
  await looked('search of a common word', COMMON_WORDS, search);
  return figures;
}

/** Returns LOOK_UPS whole numbers, evenly spread from 1 to `last`. */
function spreadIds(last: number): number[] {
  return Array.from({ length: LOOK_UPS }, (_, index) => 1 + Math.floor(((index + 0.5) * last) / LOOK_UPS));
}

/** Runs `work` and appends its milliseconds to `times`. */
function timed<Result>(times: number[], work: () => Result): Result {
  const started = performance.now();
  const result = work();
  times.push(performance.now() - started);
  return result;
}

function seconds(work: () => void): number {
  const started = performance.now();
  work();
  return (performance.now() - started) / 1000;
}
