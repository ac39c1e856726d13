/**
 * Waiting for the writer lock: whoever waits is in a line, a file for each, so that no process that comes again and
 * again keeps another one out. A waiter that is gone, or that does not take a free lock, is passed over.
 */
import { readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readSmall, unguessable, writeNew } from '../../files/newFile.ts';
import { isAlive, processStartOf } from '../../files/processes.ts';
import { realFile } from '../../files/realFile.ts';
import { CancelledError } from '../../shared/errors.ts';
import { parseHolder, waitingWords, type HolderPurpose } from '../../shared/protocols/storeHolder.ts';
import { lockHolder, lockPathOf, StoreHeldError } from '../files/lock.ts';
import type { StoreWriter } from '../types.ts';
import { openStoreForWriting, type WriterOptions } from './writer.ts';

export interface WaitControl {
  readonly signal: AbortSignal;
  /** Hears for whom the store is waited for, in words, once that takes noticeably long; null when the wait is over. */
  readonly onWaiting: (words: string | null) => void;
}

const LOOK_EVERY_MILLISECONDS = 40;
/** A wait as short as this is nobody's business. */
const SILENT_LOOKS = 8;
/** What a waiter says of itself is far shorter. */
const LONGEST_TICKET = 1 << 16;
/** So long may a lock be free before the next in line is taken for one that hangs. */
const PATIENT_LOOKS = 50;

let tickets = 0;

/**
 * Opens a store for writing as soon as nobody else writes it.
 * @throws CancelledError; C3Error('store') for what waiting does not solve
 */
export async function openStoreWhenFree(
  path: string,
  options: WriterOptions & { readonly purpose: HolderPurpose },
  { signal, onWaiting }: WaitControl,
): Promise<StoreWriter> {
  const absolute = realFile(path);
  let ticket: string | null = null;
  let said: string | null = null;
  let freeLooks = 0;
  try {
    for (let look = 0; ; look++) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      const [first] = waitersOf(absolute);
      let holder = lockHolder(absolute);
      freeLooks = holder === null ? freeLooks + 1 : 0;
      if (first === undefined || first === ticket || freeLooks > PATIENT_LOOKS) {
        try {
          return openStoreForWriting(absolute, options);
        } catch (error) {
          if (!(error instanceof StoreHeldError)) {
            throw error;
          }
          holder = error.holder;
        }
      }
      ticket ??= standInLine(absolute, options.purpose);
      const words = waitingWords(holder);
      if (look >= SILENT_LOOKS && words !== said) {
        said = words;
        onWaiting(words);
      }
      // A cancel ends the pause at once; the loop's head throws.
      await delay(LOOK_EVERY_MILLISECONDS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    if (ticket !== null) {
      rmSync(join(dirname(absolute), ticket), { force: true });
    }
    if (said !== null) {
      onWaiting(null);
    }
  }
}

/** Whether a process other than this one waits for the store. */
export function othersWait(path: string): boolean {
  return waitersOf(realFile(path)).some((name) => !name.includes(`-${process.pid}-`));
}

function prefixOf(path: string): string {
  return `${basename(lockPathOf(path))}.wait-`;
}

function standInLine(path: string, purpose: HolderPurpose): string {
  const name = `${prefixOf(path)}${String(Date.now()).padStart(15, '0')}-${process.pid}-${++tickets}-${unguessable()}`;
  writeNew(
    join(dirname(path), name),
    JSON.stringify({
      pid: process.pid,
      host: hostname(),
      startedAt: new Date().toISOString(),
      processStart: processStartOf(process.pid),
      ...purpose,
    }),
  );
  return name;
}

/** The files of those who wait, in their order; those of processes that are gone are removed. */
function waitersOf(path: string): string[] {
  const folder = dirname(path);
  const prefix = prefixOf(path);
  let names: string[];
  try {
    names = readdirSync(folder)
      .filter((name) => name.startsWith(prefix))
      .sort();
  } catch {
    // A folder that is not there yet has no line.
    return [];
  }
  return names.filter((name) => {
    let content: string | null;
    try {
      content = readSmall(join(folder, name), LONGEST_TICKET);
    } catch {
      return false;
    }
    const waiter = content === null ? null : parseHolder(content);
    // One that is being written is empty for a moment; of another machine nobody knows whether it lives.
    if (waiter === null || waiter.host !== hostname()) {
      return false;
    }
    if (isAlive(waiter)) {
      return true;
    }
    rmSync(join(folder, name), { force: true });
    return false;
  });
}
