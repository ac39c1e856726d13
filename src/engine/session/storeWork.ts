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
   * The store for work that writes, until it is disposed of, waiting for whoever has the writer lock; it is brought up
   * to date first.
   * @param what is done, for the lock file of a window's engine; a command is named as it was typed
   * @param companions whether other work of this process may join whoever waits: parts of this work
   * @throws CancelledError while it waits; C3Error('store') for what waiting does not solve
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

  /** Works while this process has the writer lock. Errors as `open`. */
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
