/**
 * Waiting for the writer lock. Waiting processes form a queue with one file each, so that no process
 * that returns repeatedly blocks another. A waiting process that has ended, or that does not take a
 * free lock, is skipped.
 */

import { readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readSmall, makeRandomNamePart, writeNew } from '../../files/newFile.ts';
import { isAlive, readProcessStart } from '../../files/processes.ts';
import { resolveRealFile } from '../../files/realFile.ts';
import { CancelledError } from '../../shared/errors.ts';
import { parseHolder, describeStoreWait, type HolderPurpose } from '../../shared/protocols/storeHolder.ts';
import { lockHolder, lockPath, StoreHeldError } from '../files/lock.ts';
import type { StoreWriter } from '../types.ts';
import { openStoreForWriting, type WriterOptions } from './writer.ts';

export interface WaitControl {
  readonly signal: AbortSignal;
  /** Receives a description of the holder if the wait takes noticeably long, and null at its end. */
  readonly onWaiting: (words: string | null) => void;
}

const LOOK_EVERY_MILLISECONDS = 40;
/** Number of checks before a wait is reported. */
const SILENT_LOOKS = 8;
/** Longest ticket that is read. Real ones are much shorter. */
const LONGEST_TICKET = 1 << 16;
/** Number of checks with a free lock after which the first process in the queue is skipped. */
const PATIENT_LOOKS = 50;

let tickets = 0;

/**
 * Opens a store for writing as soon as no other process writes it.
 * @throws CancelledError
 * @throws C3Error('store') for errors that waiting does not solve
 */
export async function openStoreWhenFree(
  path: string,
  options: WriterOptions & { readonly purpose: HolderPurpose },
  { signal, onWaiting }: WaitControl,
): Promise<StoreWriter> {
  const absolute = resolveRealFile(path);
  let ticket: string | null = null;
  let said: string | null = null;
  let freeLooks = 0;
  try {
    for (let look = 0; ; look++) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      const [first] = listWaiters(absolute);
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
      const words = describeStoreWait(holder);
      if (look >= SILENT_LOOKS && words !== said) {
        said = words;
        onWaiting(words);
      }
      // A cancel ends the pause at once, and the next iteration throws.
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

export function hasOtherWaiters(path: string): boolean {
  return listWaiters(resolveRealFile(path)).some((name) => !name.includes(`-${process.pid}-`));
}

function ticketPrefix(path: string): string {
  return `${basename(lockPath(path))}.wait-`;
}

function standInLine(path: string, purpose: HolderPurpose): string {
  const name = `${ticketPrefix(path)}${String(Date.now()).padStart(15, '0')}-${process.pid}-${++tickets}-${makeRandomNamePart()}`;
  writeNew(
    join(dirname(path), name),
    JSON.stringify({
      pid: process.pid,
      host: hostname(),
      startedAt: new Date().toISOString(),
      processStart: readProcessStart(process.pid),
      ...purpose,
    }),
  );
  return name;
}

/** Lists the files of waiting processes, in order, and removes those of ended processes. */
function listWaiters(path: string): string[] {
  const folder = dirname(path);
  const prefix = ticketPrefix(path);
  let names: string[];
  try {
    names = readdirSync(folder)
      .filter((name) => name.startsWith(prefix))
      .sort();
  } catch {
    // A missing folder has no queue.
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
    // A file that is being written is empty for a moment. It is unknown if a process on another machine is
    // alive.
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
