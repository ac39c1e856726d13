/**
 * Entry of the engine process of a store: `engine.js --store PATH`. Windows and commands connect to
 * it. It keeps running while a run is in progress or waits, and ends by itself after some idle time.
 * There is one engine for each store and user.
 */

import { Console } from 'node:console';
import { rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { isAbsolute } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { engineAddresses, type EngineAddress } from '../client/address.ts';
import { removeAbandoned } from '../files/temporaryFolder.ts';
import { toErrorMessage } from '../shared/errors.ts';
import { acquireLock, StoreHeldError, type StoreLock } from '../store/files/lock.ts';
import { EngineLog } from './server/engineLog.ts';
import { EngineServer } from './server/engineServer.ts';
import { VERSION } from './version.ts';

/** Seconds until an idle engine ends; tests set it. */
const IDLE_SECONDS = Number(process.env['C3_ENGINE_IDLE_SECONDS'] ?? '30');
const LOOK_EVERY_MILLISECONDS = 50;
/** Milliseconds after closing until the process ends, even if something still hangs. */
const END_MILLISECONDS = 1000;

// Output that libraries print goes to the log.
globalThis.console = new Console(process.stderr, process.stderr);

async function main(): Promise<void> {
  const { store } = parseArgs({ options: { store: { type: 'string' } } }).values;
  if (store === undefined || !isAbsolute(store)) {
    throw new Error('The engine is started with --store and an absolute path.');
  }
  removeAbandoned();
  const [address] = engineAddresses(store, true);
  if (address === undefined) {
    throw new Error('There is no address for the engine.');
  }
  const lock = await takeEngineLock(address);
  // Another engine serves this store.
  if (lock === null) {
    return;
  }
  serve(store, address, lock);
}

/** Takes the lock of the store's engine, after the end of an ending one. Null if another engine runs. */
async function takeEngineLock({ base, socket }: EngineAddress): Promise<StoreLock | null> {
  for (;;) {
    try {
      return acquireLock(base, { kind: 'window', what: 'engine' });
    } catch (error) {
      if (!(error instanceof StoreHeldError)) {
        throw error;
      }
    }
    if (await isSocketAnswered(socket)) {
      return null;
    }
    await delay(LOOK_EVERY_MILLISECONDS);
  }
}

function isSocketAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const done = (answered: boolean) => (): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.once('connect', done(true));
    socket.once('error', done(false));
  });
}

function serve(store: string, { socket: path }: EngineAddress, lock: StoreLock): void {
  const log = new EngineLog();
  let idle: NodeJS.Timeout | undefined;
  let ending = false;
  const end = async (): Promise<void> => {
    if (ending) {
      return;
    }
    ending = true;
    clearTimeout(idle);
    // From now on, clients that look for an engine start another one, which waits for the lock.
    listener.close();
    try {
      await server.close();
    } finally {
      lock.release();
      setTimeout(() => process.exit(0), END_MILLISECONDS).unref();
    }
  };
  const endNow = (): void => {
    end().catch((error: unknown) => {
      log.write(toErrorMessage(error));
      process.exit(1);
    });
  };
  const watch = (): void => {
    clearTimeout(idle);
    idle = ending || server.needed ? undefined : setTimeout(endNow, 1000 * IDLE_SECONDS);
  };
  const server = new EngineServer(store, log, { changed: () => watch(), end: endNow });
  const listener = createServer((socket) => server.accept(socket));
  listener.on('error', (error) => {
    log.write(`The engine cannot listen: ${toErrorMessage(error)}`);
    lock.release();
    process.exit(1);
  });
  // Only the holder of the lock listens here, so an existing socket was left by an engine that was
  // killed.
  if (process.platform !== 'win32') {
    rmSync(path, { force: true });
  }
  // Programs that the user's team started end together with the engine that runs them.
  process.once('SIGTERM', endNow);
  listener.listen(path, () => {
    log.write(`c3 engine ${VERSION}, process ${process.pid}`);
    watch();
  });
}

// The engine outlives the window or terminal that started it.
process.on('SIGHUP', () => undefined);
try {
  await main();
} catch (error) {
  process.stderr.write(`${toErrorMessage(error)}\n`);
  process.exitCode = 1;
}
