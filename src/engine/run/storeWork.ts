/** Work with the store of one engine: who reads, who writes and waits for whom, and what has to end first. */
import { anyOf } from '../../shared/cancellation.ts';
import type { HolderPurpose } from '../../shared/protocols/storeHolder.ts';
import { OlderStoreError, openStoreForReading } from '../../store/read/reader.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { StoreHold, type Lease } from './storeHold.ts';

export interface ServiceOptions {
  /** The command that works here, as it is typed; a window's engine where it is left out. */
  readonly command?: string;
  /** Hears for whom the store is waited for, in words; null when the wait is over. */
  readonly onWaiting?: (words: string | null) => void;
}

export class StoreWork {
  readonly storePath: string;
  private readonly hold: StoreHold;
  private readonly options: ServiceOptions;
  private readonly closing = new AbortController();
  /** Work that is under way; close waits for its end. */
  private readonly active = new Set<Promise<unknown>>();

  constructor(storePath: string, options: ServiceOptions = {}) {
    this.storePath = storePath;
    this.options = options;
    this.hold = new StoreHold(storePath);
  }

  /** The store while it is held for work that writes. */
  writer(): StoreWriter {
    return this.hold.writer();
  }

  /** A share of the writer lock, as soon as no other process has it. */
  lease(purpose: HolderPurpose, signal: AbortSignal, companions = purpose.kind === 'run'): Promise<Lease> {
    const { onWaiting } = this.options;
    return this.hold.lease(purpose, { signal, companions, ...(onWaiting !== undefined && { onWaiting }) });
  }

  /**
   * Works while this process has the writer lock, waiting for whoever has it; the store is brought up to date first.
   * @param work what the lock file says of it: what a window's engine does. A command is named as it was typed
   * @throws CancelledError while it waits; C3Error('store') for what waiting does not solve
   */
  async writing<Result>(
    what: string,
    signal: AbortSignal,
    work: (store: StoreWriter) => Promise<Result> | Result,
  ): Promise<Result> {
    const { command } = this.options;
    const lease = await this.lease(
      command === undefined ? { kind: 'window', what } : { kind: 'command', what: command },
      this.stopping(signal),
    );
    try {
      return await this.tracked(Promise.resolve(work(lease.store)));
    } finally {
      lease.release();
    }
  }

  /** Keeps the writer lock over several pieces of work of this service. */
  async keeping<Result>(what: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const lease = await this.lease({ kind: 'command', what }, this.stopping(signal), true);
    try {
      return await work();
    } finally {
      lease.release();
    }
  }

  /**
   * Brings a store of an older version up to date, for commands that read it before they write. What else is wrong with
   * a store is said by the work that needs it, after what is wrong with the request.
   * @throws as writing
   */
  async updated(signal: AbortSignal): Promise<void> {
    if (this.isOlder()) {
      await this.writing('update', signal, () => undefined);
    }
  }

  private isOlder(): boolean {
    try {
      this.reading(() => undefined);
      return false;
    } catch (error) {
      return error instanceof OlderStoreError;
    }
  }

  /** Reads without taking the writer lock, whoever holds it. */
  reading<Result>(work: (store: StoreReader) => Result): Result {
    if (this.hold.open !== undefined) {
      return work(this.hold.open);
    }
    const reader = openStoreForReading(this.storePath);
    try {
      return work(reader);
    } finally {
      reader.close();
    }
  }

  /** Reads in turns with other work. */
  async readingOn<Result>(work: (store: StoreReader) => Promise<Result>): Promise<Result> {
    const reader = openStoreForReading(this.storePath);
    try {
      return await this.tracked(work(reader));
    } finally {
      reader.close();
    }
  }

  /** From now on everything is cancelled; resolves when all of it has ended. */
  async stop(): Promise<void> {
    this.closing.abort();
    await Promise.allSettled(this.active);
  }

  /** Gives the store back. */
  close(): void {
    this.hold.close();
  }

  /** A signal that also aborts once everything stops. */
  stopping(signal: AbortSignal): AbortSignal {
    return anyOf(this.closing.signal, signal);
  }

  /** Counts work as under way until it ends. */
  async tracked<Result>(work: Promise<Result>): Promise<Result> {
    this.active.add(work);
    try {
      return await work;
    } finally {
      this.active.delete(work);
    }
  }
}
