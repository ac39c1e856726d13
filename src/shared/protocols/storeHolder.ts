/** Who writes a store, as its lock file names it, and how that is put in words. */
import { isRecord } from '../guard.ts';
import { oneLine } from '../text/oneLine.ts';

/**
 * What a writer does: a run is in progress, an engine writes what a window asked for, or a command of the command line
 * does.
 */
export const HOLDER_KINDS = ['window', 'run', 'command'] as const;

export type HolderKind = (typeof HOLDER_KINDS)[number];

export interface HolderPurpose {
  readonly kind: HolderKind;
  /** The run by its id (or title before it has one), the work of a window, the command as it is typed. */
  readonly what: string;
}

export interface StoreHolder {
  readonly pid: number;
  readonly host: string;
  readonly startedAt: string;
  /**
   * What the operating system says of when the process began, where it can be read; it sets a reused pid apart from its
   * predecessor.
   */
  readonly processStart: string | null;
  /** Null in a lock of an older version. */
  readonly purpose: HolderPurpose | null;
}

const LONGEST_WHAT = 120;

/** Reads a lock file's text; null where it is none. */
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
    host: oneLine(host, LONGEST_WHAT),
    startedAt: typeof startedAt === 'string' ? oneLine(startedAt, LONGEST_WHAT) : 'an unknown time',
    processStart: typeof processStart === 'string' ? processStart : null,
    purpose:
      known === undefined || typeof what !== 'string' ? null : { kind: known, what: oneLine(what, LONGEST_WHAT) },
  };
}

/** Who writes, in words that fit into a sentence: `run c3-1-ab (process 12)`. */
export function holderWords({ pid, purpose }: Pick<StoreHolder, 'pid' | 'purpose'>): string {
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

/** What somebody reads who waits for the store. */
export function waitingWords(holder: Pick<StoreHolder, 'pid' | 'purpose'> | null): string {
  return holder === null
    ? 'Waiting for another process, which is writing to the store'
    : `Waiting for ${holderWords(holder)}, which is writing to the store`;
}
