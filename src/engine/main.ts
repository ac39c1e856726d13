/**
 * The process of a store's engine: `engine.js --store PATH`. It listens where windows and commands find it, outlives
 * them while a run is in progress or waits, and ends itself when nobody has needed it for a while. Each store has one
 * and user.
 */
import { Console } from 'node:console';
import { rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { isAbsolute } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { engineAddresses, type EngineAddress } from '../client/address.ts';
import { removeAbandoned } from '../files/temporaryFolder.ts';
import { messageOf } from '../shared/errors.ts';
import { acquireLock, StoreHeldError, type StoreLock } from '../store/files/lock.ts';
import { EngineLog } from './server/engineLog.ts';
import { EngineServer } from './server/engineServer.ts';
import { VERSION } from './version.ts';

/** How long an engine that nobody needs stays; tests set it. */
const IDLE_SECONDS = Number(process.env['C3_ENGINE_IDLE_SECONDS'] ?? '30');
const LOOK_EVERY_MILLISECONDS = 50;
/** What still hangs this long after everything was closed is left behind. */
const END_MILLISECONDS = 1000;

// Whatever a library prints goes to the log.
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
  const lock = await ownLock(address);
  // Another engine serves this store.
  if (lock === null) {
    return;
  }
  serve(store, address, lock);
}

/** The lock of the store's engine, waiting for one that is just ending; null where another one lives. */
async function ownLock({ base, socket }: EngineAddress): Promise<StoreLock | null> {
  for (;;) {
    try {
      return acquireLock(base, { kind: 'window', what: 'engine' });
    } catch (error) {
      if (!(error instanceof StoreHeldError)) {
        throw error;
      }
    }
    if (await isAnswered(socket)) {
      return null;
    }
    await delay(LOOK_EVERY_MILLISECONDS);
  }
}

function isAnswered(path: string): Promise<boolean> {
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
    // From now on whoever looks for an engine starts another one, which waits for the lock.
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
      log.write(messageOf(error));
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
    log.write(`The engine cannot listen: ${messageOf(error)}`);
    lock.release();
    process.exit(1);
  });
  // Whoever holds the lock is the only one who may: an engine that was killed left it.
  if (process.platform !== 'win32') {
    rmSync(path, { force: true });
  }
  // What a program of the user's started ends with the engine that runs it.
  process.once('SIGTERM', endNow);
  listener.listen(path, () => {
    log.write(`c3 engine ${VERSION}, process ${process.pid}`);
    watch();
  });
}

// A window or a terminal that ends takes nothing along.
process.on('SIGHUP', () => undefined);
try {
  await main();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
