/**
 * Whether reading a store ends: pages made by hand could keep a reader, and the editor with it, busy for ever. A
 * process of its own finds that out before the editor opens the file; what it found is kept, for the next window too.
 */
import { statSync, type BigIntStats } from 'node:fs';
import { examineApart } from '../../client/examineStore.ts';
import { realFile } from '../../files/realFile.ts';
import type { ExaminedExtent } from '../../shared/protocols/storeExamination.ts';
import { isBeingWritten } from './storeOwner.ts';

/** Where the last store that was found whole is kept; the editor's workspace state is one. */
export interface StampKeeper {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

/** One look at a store, by the file that it was. */
export interface StoreVerdict {
  /** The file, whatever it holds by now. */
  readonly file: string;
  /** Null for a store that can be read; undefined while that is not known. */
  readonly fault: string | null | undefined;
  /** When it is known. */
  readonly known: Promise<void>;
}

interface Examination extends StoreVerdict {
  readonly extent: ExaminedExtent;
  /** The state of the file that was looked at. */
  readonly stamp: string;
  fault: string | null | undefined;
}

const KEY = 'c3.wholeStore';
/** An examination is given up after this long, and so much more for what a slow disk reads meanwhile. */
const EXAMINE_MILLISECONDS = 60_000;
const BYTES_A_MILLISECOND = 10_000n;

export class StoreGate {
  private readonly program: string;
  private readonly keeper: StampKeeper;
  private examination: Examination | null = null;
  /** What is kept, or on its way there. */
  private kept: unknown;

  /** @param program the entry of the process that examines a store */
  constructor(program: string, keeper: StampKeeper) {
    this.program = program;
    this.keeper = keeper;
    this.kept = keeper.get(KEY);
  }

  /**
   * What is known of the store at `path`; where nothing is, it begins to be examined. A file that was found whole stays
   * so while writers change it: what they write is whole.
   * @param trusted whether its folder is: then only what makes reading endless counts
   * @returns null where there is no file
   */
  check(path: string, trusted: boolean): StoreVerdict | null {
    const found = lookAt(path);
    if (found === null) {
      this.examination = null;
      return null;
    }
    const { file, stamp } = found;
    const extent = trusted ? 'pages' : 'sampled';
    if (this.examination === null || !answers(this.examination, file, stamp, extent)) {
      this.examination =
        trusted && this.kept === stamp
          ? { file, stamp, extent, fault: null, known: Promise.resolve() }
          : this.examine(path, found, extent);
    }
    return this.examination;
  }

  /** Keeps the state of a store that was found whole and that nobody writes just now. */
  remember(path: string): void {
    const found = lookAt(path);
    const { examination } = this;
    if (found === null || examination?.fault !== null || examination.file !== found.file || isBeingWritten(path)) {
      return;
    }
    if (this.kept !== found.stamp) {
      this.kept = found.stamp;
      void this.keeper.update(KEY, found.stamp);
    }
  }

  /** Lets the file be another one the next time, also where the system gives it the same number. */
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
        // What was found holds for the file that was looked at, not for one that another program made of it meanwhile.
        if (this.examination === examination && lookAt(path)?.stamp === stamp) {
          this.remember(path);
        }
      }),
    };
    return examination;
  }
}

/** A store as the file system has it now. */
interface Look {
  readonly file: string;
  readonly stamp: string;
  readonly size: bigint;
}

/** Null where nothing is there, or nothing that can be reached. */
function lookAt(path: string): Look | null {
  try {
    return look(realFile(path));
  } catch {
    return null;
  }
}

function look(real: string): Look | null {
  const found = statSync(real, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) {
    return null;
  }
  const log = statSync(`${real}-wal`, { bigint: true, throwIfNoEntry: false });
  const logged = log === undefined ? 0n : log.size;
  const file = `${real} ${String(found.dev)} ${String(found.ino)}`;
  return {
    file,
    // A reader makes an empty log, and takes it away.
    stamp: `${file} ${stateOf(found)} ${log === undefined || logged === 0n ? '-' : stateOf(log)}`,
    size: found.size + logged,
  };
}

const stateOf = ({ size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${String(size)} ${String(mtimeNs)} ${String(ctimeNs)}`;

/** Whether what was found holds for the file as it is now. */
function answers(found: Examination, file: string, stamp: string, extent: ExaminedExtent): boolean {
  if (found.file !== file) {
    return false;
  }
  if (found.fault === null) {
    return found.extent === extent || found.extent === 'sampled';
  }
  // What is not whole may have been restored in place.
  return found.extent === extent && (found.fault === undefined || found.stamp === stamp);
}
