/** A queue of work for the store. If storing takes long or fails, the work is also kept in a file. */

import { onAbort } from '../../shared/cancellation.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { StoreWriter } from '../../store/types.ts';
import type { ImportPlace } from '../exchange/importLog.ts';
import type { KeptCalls } from './keptCalls.ts';

export interface QueuedWork {
  readonly write: (store: StoreWriter) => void;
  /** Line for the file of kept calls. */
  readonly line: () => string;
  /** Characters in memory. */
  readonly size: number;
}

/** Most milliseconds that an answer waits to be stored before its end is passed on. */
export const SOON = 1000;
/** Most characters in memory that wait for a busy store. */
const MOST_WAITING = 2 ** 28;
/** Milliseconds that a recording waits for a store after it was cancelled. */
export const GIVE_UP = 5000;

/** Returns a signal that aborts some time after another one, and a function that releases the other. */
export function delayAbort(signal: AbortSignal, milliseconds: number): readonly [AbortSignal, () => void] {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const release = onAbort(signal, () => {
    timer = setTimeout(() => controller.abort(), milliseconds);
  });
  return [
    controller.signal,
    () => {
      release();
      clearTimeout(timer);
    },
  ];
}

/** Converts what was thrown into the error that says why something was not stored. */
export function toStoreFailure(error: unknown): Error {
  if (error instanceof CancelledError) {
    return new C3Error('store', 'Another process wrote the store for too long.', { code: 'storeHeld' });
  }
  return error instanceof Error ? error : new Error(String(error));
}

export class StoreQueue {
  private readonly place: Pick<ImportPlace, 'writing'>;
  private readonly kept: KeptCalls;
  private readonly after: (store: StoreWriter) => void;
  private readonly givingUp = new AbortController();
  private waiting: QueuedWork[] = [];
  private underWay: readonly QueuedWork[] = [];
  private size = 0;
  private writing: Promise<void> | null = null;
  /** True if an answer waited too long for the store. All waiting work is then also in the file. */
  private isLate = false;
  private storedAny = false;
  private failed: Error | null = null;

  /** @param after called at the end of each transaction */
  constructor(place: Pick<ImportPlace, 'writing'>, kept: KeptCalls, after: (store: StoreWriter) => void) {
    this.place = place;
    this.kept = kept;
    this.after = after;
  }

  /** Reason why nothing more is stored, or null. */
  get failure(): Error | null {
    return this.failed;
  }

  get hasStored(): boolean {
    return this.storedAny;
  }

  /** Adds work. After a failure, work goes to the file: a failure ends the recording, never the program. */
  add(work: QueuedWork): void {
    if (this.failed !== null) {
      this.kept.add(work.line());
      return;
    }
    this.waiting.push(work);
    this.size += work.size;
    if (this.isLate) {
      this.kept.add(work.line());
    }
    this.writing ??= this.pump();
    if (this.size > MOST_WAITING) {
      this.giveUp();
    }
  }

  /** Resolves once all work added so far is stored or has failed. */
  async settled(): Promise<void> {
    await this.writing;
  }

  /** Resolves like `settled`, but after `SOON` at the latest, and at once if the store stayed busy. */
  async settledSoon(): Promise<void> {
    const { writing } = this;
    if (writing === null || this.isLate) {
      return;
    }
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), SOON);
    const came = await Promise.race([writing, late.promise]);
    clearTimeout(timer);
    if (came === 'late') {
      this.beginKeeping();
    }
  }

  /** Stops waiting for a store that another process holds. */
  giveUp(): void {
    this.givingUp.abort();
  }

  private async pump(): Promise<void> {
    while (this.waiting.length > 0 && this.failed === null) {
      this.underWay = this.waiting;
      this.waiting = [];
      try {
        await this.place.writing('recording', this.givingUp.signal, (store) => {
          store.transaction(() => {
            for (const { write } of this.underWay) {
              write(store);
            }
            this.after(store);
          });
        });
        this.stored();
      } catch (error) {
        this.fail(error);
      }
    }
    this.writing = null;
    this.isLate = false;
  }

  private stored(): void {
    this.storedAny = true;
    this.underWay = [];
    this.size = this.waiting.reduce((sum, { size }) => sum + size, 0);
    if (this.isLate) {
      // Remove what is stored, so that nobody imports it again.
      this.kept.clear();
      this.keepAll();
    }
  }

  private fail(error: unknown): void {
    this.failed = toStoreFailure(error);
    if (!this.isLate) {
      this.keepAll();
    }
    [this.waiting, this.underWay, this.size] = [[], [], 0];
  }

  private beginKeeping(): void {
    if (!this.isLate && this.writing !== null) {
      this.isLate = true;
      this.keepAll();
    }
  }

  private keepAll(): void {
    for (const { line } of [...this.underWay, ...this.waiting]) {
      this.kept.add(line());
    }
  }
}
