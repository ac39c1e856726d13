/**
 * Measures how soon a running replay stops after a cancel, in a separate engine process and over
 * the protocol that the editor uses.
 */

import { once } from 'node:events';
import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CancellationTokenSource, ResponseError, type MessageConnection } from 'vscode-jsonrpc/node';
import { connectOrStart } from '../../client/startEngine.ts';
import { ENGINE_ENTRY } from '../../engine/places.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import {
  CANCELLED_CODE,
  InitializeRequest,
  PROTOCOL_VERSION,
  ReplayProgressNotification,
  REQUESTS,
  ShutdownRequest,
} from '../../shared/protocols/engineProtocol.ts';
import { createSocketConnection } from '../../shared/protocols/socketConnection.ts';
import { openStoreForReading, type StoreReader } from '../../store/read/reader.ts';
import { makeFigure, takeMedian, takeQuantile, type BenchFigure, type BenchOptions } from '../report.ts';

const CANCELS = 24;
const QUICK_CANCELS = 6;
/** A request that is long enough to be still running at each cancel. */
const REQUEST = { alternatives: 64, replays: 64, text: null } as const;
/**
 * Upper bounds of the progress messages before a cancel, and of the milliseconds after the last of
 * them. The values differ from turn to turn, so that cancels hit different stages of the work.
 */
const MOMENTS = { messages: 24, milliseconds: 40 } as const;
/** Milliseconds after the answer in which nothing more may be stored. */
const AFTERWARDS = 250;

interface Stop {
  /** Milliseconds from the cancel to the last write to the store, or 0 if that came earlier. */
  readonly stored: number;
  /** Milliseconds from the cancel to the answer. */
  readonly answered: number;
  /** Messages that were stored after the answer. */
  readonly late: number;
}

/**
 * Cancels replay requests about these messages in turn, at different moments. A request that ended
 * before its cancel does not count.
 * @param store path of a store that no other process writes
 * @throws CancelledError; C3Error('engine') if the engine ends or refuses the request
 */
export async function measureCancels(
  store: string,
  messages: readonly number[],
  { quick, signal, note }: BenchOptions,
): Promise<BenchFigure[]> {
  const stops: Stop[] = [];
  if (messages.length > 0) {
    await withEngine(store, async (connection) => {
      const reader = openStoreForReading(store);
      try {
        for (let turn = 0; turn < (quick ? QUICK_CANCELS : CANCELS); turn++) {
          if (signal.aborted) {
            throw new CancelledError();
          }
          const stop = await cancelOnce(connection, reader, store, messages[turn % messages.length] ?? 0, turn);
          if (stop !== null) {
            stops.push(stop);
          }
        }
      } finally {
        reader.close();
      }
    });
  }
  note(`${stops.length} cancels measured`);
  const times = (name: string, of: (stop: Stop) => number): BenchFigure[] => [
    makeFigure(`${name}, median`, takeMedian(stops.map(of)), 'ms'),
    makeFigure(`${name}, 95th percentile`, takeQuantile(stops.map(of), 0.95), 'ms'),
  ];
  return [
    ...times('cancel of a replay to the last stored row', ({ stored }) => stored),
    ...times("cancel of a replay to the engine's answer", ({ answered }) => answered),
    makeFigure(
      'messages stored after that answer',
      stops.length === 0 ? null : stops.reduce((sum, { late }) => sum + late, 0),
      '',
    ),
  ];
}

/** @returns null if the replay ended by itself */
async function cancelOnce(
  connection: MessageConnection,
  reader: StoreReader,
  store: string,
  message: number,
  turn: number,
): Promise<Stop | null> {
  const source = new CancellationTokenSource();
  const under = Promise.withResolvers<null>();
  let heard = 0;
  const listener = connection.onNotification(ReplayProgressNotification, () => {
    heard++;
    if (heard > (7 * turn) % MOMENTS.messages) {
      under.resolve(null);
    }
  });
  try {
    const asked = connection.sendRequest(REQUESTS.replay, { message, ...REQUEST }, source.token).then(
      () => false,
      (error: unknown) => {
        if (error instanceof ResponseError && error.code === CANCELLED_CODE) {
          return true;
        }
        throw new C3Error(
          'engine',
          `The replay that was to be cancelled failed: ${error instanceof Error ? error.message : String(error)}`,
          { cause: error },
        );
      },
    );
    await Promise.race([under.promise, asked]);
    await pause((11 * turn) % MOMENTS.milliseconds);
    const began = { wall: Date.now(), started: performance.now() };
    source.cancel();
    if (!(await asked)) {
      return null;
    }
    const answered = performance.now() - began.started;
    const kept = reader.counts().messages;
    await pause(AFTERWARDS);
    return {
      answered,
      stored: Math.max(0, findLastWriteTime(store) - began.wall),
      late: reader.counts().messages - kept,
    };
  } finally {
    listener.dispose();
    source.dispose();
  }
}

/**
 * Returns the time of the last write to the store, in milliseconds since the epoch. The clock of
 * the file system has a resolution of a few milliseconds.
 */
function findLastWriteTime(store: string): number {
  const times = [store, `${store}-wal`].map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}

/**
 * Starts the engine of a store, runs the work, and ends the engine.
 * @throws C3Error('engine') if the engine ends by itself
 */
async function withEngine(store: string, work: (connection: MessageConnection) => Promise<void>): Promise<void> {
  const socket = await connectOrStart(store, fileURLToPath(ENGINE_ENTRY));
  const closed = once(socket, 'close');
  const ended = closed.then((): never => {
    throw new C3Error('engine', 'The engine ended while its cancels were measured; run `c3 doctor`.');
  });
  const connection = createSocketConnection(socket);
  connection.listen();
  try {
    await Promise.race([
      connection.sendRequest(InitializeRequest, { store, protocol: PROTOCOL_VERSION, client: 'command' }),
      ended,
    ]);
    await Promise.race([work(connection), ended]);
  } finally {
    ended.catch(() => undefined);
    await Promise.race([connection.sendRequest(ShutdownRequest).catch(() => null), closed]);
    await closed;
    connection.dispose();
  }
}
