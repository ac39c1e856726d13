/** The writer of a store, as its lock file names it, and its description in words. */

import { isRecord } from '../guard.ts';
import { toOneLine } from '../text/oneLine.ts';

/**
 * The kinds of writers. window: an engine that writes for a window. run: a run in progress. command: a
 * command of the command line.
 */
export const HOLDER_KINDS = ['window', 'run', 'command'] as const;

export type HolderKind = (typeof HOLDER_KINDS)[number];

export interface HolderPurpose {
  readonly kind: HolderKind;
  /** The run by its id (or title before it has one), the work of a window, or the typed command. */
  readonly what: string;
}

export interface StoreHolder {
  readonly pid: number;
  readonly host: string;
  readonly startedAt: string;
  /**
   * The start of the process as the operating system reports it, if it can be read. It distinguishes a
   * reused pid from its predecessor.
   */
  readonly processStart: string | null;
  /** Null in a lock of an older version. */
  readonly purpose: HolderPurpose | null;
}

const LONGEST_WHAT = 120;

/** Parses a lock file's text; null if it is not valid. */
export function parseHolder(content: string): StoreHolder | null {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    return null;
  }
  if (!isRecord(value)) {
    return null;
  }
  const { pid, host, startedAt, processStart, kind, what } = value;
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0 || typeof host !== 'string') {
    return null;
  }
  const known = HOLDER_KINDS.find((name) => name === kind);
  return {
    pid,
    host: toOneLine(host, LONGEST_WHAT),
    startedAt: typeof startedAt === 'string' ? toOneLine(startedAt, LONGEST_WHAT) : 'an unknown time',
    processStart: typeof processStart === 'string' ? processStart : null,
    purpose:
      known === undefined || typeof what !== 'string' ? null : { kind: known, what: toOneLine(what, LONGEST_WHAT) },
  };
}

/** Describes the writer in words that fit into a sentence: `run c3-1-ab (process 12)`. */
export function describeStoreHolder({ pid, purpose }: Pick<StoreHolder, 'pid' | 'purpose'>): string {
  const process = `process ${pid}`;
  switch (purpose?.kind) {
    case undefined:
      return process;
    case 'run':
      return `run ${purpose.what} (${process})`;
    case 'window':
      return `a VS Code window, ${purpose.what} (${process})`;
    case 'command':
      return `the command \`${purpose.what}\` (${process})`;
  }
}

/** Returns the text for users who wait for the store. */
export function describeStoreWait(holder: Pick<StoreHolder, 'pid' | 'purpose'> | null): string {
  return holder === null
    ? 'Waiting for another process, which is writing to the store'
    : `Waiting for ${describeStoreHolder(holder)}, which is writing to the store`;
}
