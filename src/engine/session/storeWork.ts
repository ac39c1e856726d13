/** Coordinates work with the store of one engine: reading, writing, waiting for the lock, and stopping. */

import { combineSignals } from '../../shared/cancellation.ts';
import type { HolderPurpose } from '../../shared/protocols/storeHolder.ts';
import { OlderStoreError, openStoreForReading } from '../../store/read/reader.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { StoreHold, type Lease } from './storeHold.ts';

export interface ServiceOptions {
  /** The command as it was typed; omitted for the engine of a window. */
  readonly command?: string;
  /** Called with a description of the process that holds the store, and with null when the wait is over. */
  readonly onWaiting?: (words: string | null) => void;
}

/** The store while a piece of work writes it. */
export interface OpenStore extends Disposable {
  readonly store: StoreWriter;
  /** Aborts when the work is cancelled, or all work ends. */
  readonly signal: AbortSignal;
}

export class StoreWork {
  readonly storePath: string;
  private readonly hold: StoreHold;
  private readonly options: ServiceOptions;
  private readonly closing = new AbortController();
  /** Work in progress. `stop` waits for its end. */
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

  /** Returns a share of the writer lock once no other process has it. */
  lease(purpose: HolderPurpose, signal: AbortSignal, companions = purpose.kind === 'run'): Promise<Lease> {
    const { onWaiting } = this.options;
    return this.hold.lease(purpose, { signal, companions, ...(onWaiting !== undefined && { onWaiting }) });
  }

  /**
   * Opens the store for work that writes, until it is disposed of. Waits for the writer lock, and
   * brings the store up to date first.
   * @param what description for the lock file of a window's engine; a command is named as it was
   *   typed
   * @param companions true if parts of this work may join even while another process waits
   * @throws CancelledError while it waits; C3Error('store') for faults that waiting does not solve
   */
  async open(what: string, signal: AbortSignal, companions = false): Promise<OpenStore> {
    const { command } = this.options;
    const named = companions ? what : command;
    const stopping = this.stopping(signal);
    const lease = await this.lease(
      named === undefined ? { kind: 'window', what } : { kind: 'command', what: named },
      stopping,
      companions,
    );
    const ended = Promise.withResolvers<undefined>();
    this.active.add(ended.promise);
    return {
      store: lease.store,
      signal: stopping,
      [Symbol.dispose]: () => {
        lease[Symbol.dispose]();
        this.active.delete(ended.promise);
        ended.resolve(undefined);
      },
    };
  }

  /** Runs work while this process has the writer lock. @throws as `open` */
  async writing<Result>(
    what: string,
    signal: AbortSignal,
    work: (store: StoreWriter) => Promise<Result> | Result,
  ): Promise<Result> {
    using opened = await this.open(what, signal);
    return await work(opened.store);
  }

  /** Keeps the writer lock over several pieces of work of this service. */
  async keeping<Result>(what: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const kept = await this.open(what, signal, true);
    try {
      return await work();
    } finally {
      kept[Symbol.dispose]();
    }
  }

  /**
   * Brings a store of an older version up to date, for commands that read it before they write.
   * Other faults of a store are reported later by the work that needs it, after faults of the
   * request.
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

  /** Reads the store without taking the writer lock. */
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

  /** Reads the store asynchronously, so that other work gets its turn. */
  async readingOn<Result>(work: (store: StoreReader) => Promise<Result>): Promise<Result> {
    const reader = openStoreForReading(this.storePath);
    try {
      return await this.tracked(work(reader));
    } finally {
      reader.close();
    }
  }

  /** Cancels all work from now on. Resolves when all of it has ended. */
  async stop(): Promise<void> {
    this.closing.abort();
    await Promise.allSettled(this.active);
  }

  close(): void {
    this.hold.close();
  }

  /** Returns a signal that also aborts when all work stops. */
  stopping(signal: AbortSignal): AbortSignal {
    return combineSignals(this.closing.signal, signal);
  }

  /** Counts work as in progress until it ends. */
  async tracked<Result>(work: Promise<Result>): Promise<Result> {
    this.active.add(work);
    try {
      return await work;
    } finally {
      this.active.delete(work);
    }
  }
}
