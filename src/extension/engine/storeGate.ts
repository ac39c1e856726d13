/**
 * Checks that a store can be read without hanging, since manipulated pages could block a reader and
 * the editor forever. A separate process examines the file before the editor opens it. The result is
 * kept for the next window.
 */

import { statSync, type BigIntStats } from 'node:fs';
import { examineApart } from '../../client/examineStore.ts';
import { resolveRealFile } from '../../files/realFile.ts';
import type { ExaminedExtent } from '../../shared/protocols/storeExamination.ts';
import { isBeingWritten } from './storeOwner.ts';

/** Storage for the stamp of the last intact store, such as the editor's workspace state. */
export interface StampKeeper {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

/** The result of examining one file of a store. */
export interface StoreVerdict {
  /** The identity of the file, whatever its present content. */
  readonly file: string;
  /** The fault of the store, null if it can be read, or undefined until the examination ends. */
  readonly fault: string | null | undefined;
  /** Resolves when the fault is known. */
  readonly known: Promise<void>;
}

interface Examination extends StoreVerdict {
  readonly extent: ExaminedExtent;
  /** The state of the examined file. */
  readonly stamp: string;
  fault: string | null | undefined;
}

const KEY = 'c3.wholeStore';
/** Time limit of an examination. The time to read the file at BYTES_A_MILLISECOND is added to it. */
const EXAMINE_MILLISECONDS = 60_000;
const BYTES_A_MILLISECOND = 10_000n;

export class StoreGate {
  private readonly program: string;
  private readonly keeper: StampKeeper;
  private examination: Examination | null = null;
  /** The stamp that is stored, or being stored. */
  private kept: unknown;

  /** @param program path of the program that examines a store */
  constructor(program: string, keeper: StampKeeper) {
    this.program = program;
    this.keeper = keeper;
    this.kept = keeper.get(KEY);
  }

  /**
   * Returns the verdict on the store at `path`, and begins to examine it if there is none. An intact
   * file stays intact while C3 writes it.
   * @param trusted true if its folder is trusted; then only faults that make reading endless count
   * @returns null if there is no file
   */
  check(path: string, trusted: boolean): StoreVerdict | null {
    const found = tryLook(path);
    if (found === null) {
      this.examination = null;
      return null;
    }
    const { file, stamp } = found;
    const extent = trusted ? 'pages' : 'sampled';
    if (this.examination === null || !holdsFor(this.examination, file, stamp, extent)) {
      this.examination =
        trusted && this.kept === stamp
          ? { file, stamp, extent, fault: null, known: Promise.resolve() }
          : this.examine(path, found, extent);
    }
    return this.examination;
  }

  /** Keeps the stamp of an intact store that no process is writing. */
  remember(path: string): void {
    const found = tryLook(path);
    const { examination } = this;
    if (found === null || examination?.fault !== null || examination.file !== found.file || isBeingWritten(path)) {
      return;
    }
    if (this.kept !== found.stamp) {
      this.kept = found.stamp;
      void this.keeper.update(KEY, found.stamp);
    }
  }

  /** Forgets the verdict, since the system may give a new file the same inode number. */
  forget(): void {
    this.examination = null;
  }

  private examine(path: string, { file, stamp, size }: Look, extent: ExaminedExtent): Examination {
    const limit = EXAMINE_MILLISECONDS + Number(size / BYTES_A_MILLISECOND);
    const examination: Examination = {
      file,
      stamp,
      extent,
      fault: undefined,
      known: examineApart(path, extent, this.program, limit).then(({ findings: [fault = null] }) => {
        examination.fault = fault;
        // The result does not hold for a file that another program changed meanwhile.
        if (this.examination === examination && tryLook(path)?.stamp === stamp) {
          this.remember(path);
        }
      }),
    };
    return examination;
  }
}

/** The present state of a store's file. */
interface Look {
  readonly file: string;
  readonly stamp: string;
  readonly size: bigint;
}

/** Returns null if the file does not exist or cannot be reached. */
function tryLook(path: string): Look | null {
  try {
    return readLook(resolveRealFile(path));
  } catch {
    return null;
  }
}

function readLook(real: string): Look | null {
  const found = statSync(real, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) {
    return null;
  }
  const log = statSync(`${real}-wal`, { bigint: true, throwIfNoEntry: false });
  const logged = log === undefined ? 0n : log.size;
  const file = `${real} ${String(found.dev)} ${String(found.ino)}`;
  return {
    file,
    // An empty log does not count: readers create and remove it.
    stamp: `${file} ${formatFileState(found)} ${log === undefined || logged === 0n ? '-' : formatFileState(log)}`,
    size: found.size + logged,
  };
}

const formatFileState = ({ size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${String(size)} ${String(mtimeNs)} ${String(ctimeNs)}`;

/** Returns true if a verdict holds for the present state of the file. */
function holdsFor(found: Examination, file: string, stamp: string, extent: ExaminedExtent): boolean {
  if (found.file !== file) {
    return false;
  }
  if (found.fault === null) {
    return found.extent === extent || found.extent === 'sampled';
  }
  // A damaged file may have been restored in place.
  return found.extent === extent && (found.fault === undefined || found.stamp === stamp);
}
