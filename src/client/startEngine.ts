/** Finds the engine of a store, or starts one that outlives the process that started it. */

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync, renameSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { C3Error, toErrorMessage } from '../shared/errors.ts';
import { engineAddresses, type EngineAddress } from './address.ts';
import { engineEnvironment } from './environment.ts';

type Environment = Readonly<Record<string, string>>;

const LOOK_EVERY_MILLISECONDS = 30;
/** The time limit for a start, in which the engine loads its code before it listens. */
const START_MILLISECONDS = 60_000;
const TAIL_BYTES = 2000;

/**
 * Connects to the engine of a store. Returns null if none is running.
 * @throws C3Error('engine') if the folder of engines is not safe
 */
export async function connectToEngine(store: string): Promise<Socket | null> {
  for (const { socket } of engineAddresses(store, false)) {
    const connection = await tryConnect(socket);
    if (connection !== null) {
      return connection;
    }
  }
  return null;
}

/**
 * Connects to the engine of a store, which is started if none is running.
 * @param script absolute path of the engine's entry
 * @param more further variables of its environment, if it is started
 * @throws C3Error('engine') with the end of its log if it cannot be started
 */
export async function connectOrStart(store: string, script: string, more: Environment = {}): Promise<Socket> {
  const until = performance.now() + START_MILLISECONDS;
  let started: Started | null = null;
  for (;;) {
    const connection = await connectToEngine(store);
    if (connection !== null) {
      return connection;
    }
    started ??= start(store, script, more);
    const { failed } = started;
    if (failed() !== null) {
      throw new C3Error(
        'engine',
        `The engine could not be started (${failed() ?? ''}). ${readTail(started.address.log)}`,
      );
    }
    // Another engine was just ending, so the start is repeated.
    if (started.left()) {
      started = null;
    }
    if (performance.now() > until) {
      throw new C3Error(
        'engine',
        `The engine did not answer within ${START_MILLISECONDS / 1000} seconds: see ${engineAddresses(store, true)[0]?.log ?? 'its log'}, then try again.`,
      );
    }
    await delay(LOOK_EVERY_MILLISECONDS);
  }
}

interface Started {
  readonly address: EngineAddress;
  /** Returns how the engine ended by an error, or null. */
  readonly failed: () => string | null;
  /** Returns true if it found another engine and left the store to it. */
  readonly left: () => boolean;
}

function start(store: string, script: string, more: Environment): Started {
  const [address] = engineAddresses(store, true);
  if (address === undefined) {
    throw new C3Error('engine', 'There is no address for the engine.');
  }
  const log = freshLog(address.log);
  let child: ChildProcess;
  try {
    child = spawn(process.execPath, [script, '--store', store], {
      // The engine has its own process group, so it survives the end of the window.
      detached: true,
      windowsHide: true,
      stdio: ['ignore', log, log],
      cwd: dirname(script),
      env: { ...engineEnvironment(process.env), ...more },
    });
  } finally {
    closeSync(log);
  }
  child.unref();
  let ended: string | null = null;
  let left = false;
  child.once('error', (error) => {
    ended = toErrorMessage(error);
  });
  child.once('exit', (code, signal) => {
    left = code === 0;
    if (code !== 0) {
      ended = signal === null ? `exit code ${String(code)}` : `signal ${signal}`;
    }
  });
  return { address, failed: () => ended, left: () => left };
}

/** Opens a new log for an engine. The previous one is kept beside it. */
function freshLog(path: string): number {
  try {
    renameSync(path, `${path}.1`);
  } catch {
    // There was none.
  }
  return openSync(path, 'a', 0o600);
}

/** Returns the last lines of a log, as one line. */
function readTail(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
      readSync(file, bytes, 0, bytes.length, size - bytes.length);
      return `Its log ends: ${bytes.toString('utf8').trim().split('\n').slice(-3).join(' ')}`;
    } finally {
      closeSync(file);
    }
  } catch {
    return 'It left no log.';
  }
}

/** Connects to a socket. Returns null if no process listens. */
function tryConnect(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', () => {
      socket.destroy();
      resolve(null);
    });
  });
}
