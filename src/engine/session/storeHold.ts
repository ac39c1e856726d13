/**
 * A process's hold on its store. The store is opened for writing, with its lock, when the first
 * piece of work begins, and closed when the last one ends. All work of one process shares the hold.
 * While another process waits, only companions of a run may join, so that every process has a turn.
 */

import { unlessCancelled } from '../../shared/cancellation.ts';
import { C3Error } from '../../shared/errors.ts';
import type { HolderPurpose } from '../../shared/protocols/storeHolder.ts';
import { openStoreWhenFree, hasOtherWaiters } from '../../store/write/waiting.ts';
import { sealStore, type StoreWriter } from '../../store/write/writer.ts';
import { HEADLINE_RULE } from '../recipe/headlines.ts';

/** Milliseconds without work before the store is sealed, because sealing reads the whole file. */
const QUIET = 60_000;

/** The share of one piece of work in the hold. Disposing of it twice is allowed. */
export interface Lease extends Disposable {
  readonly store: StoreWriter;
  /** Updates the description of the work. */
  describe(purpose: HolderPurpose): void;
}

export interface LeaseControl {
  readonly signal: AbortSignal;
  /** Called with a description of the process that holds the store, and with null when the wait is over. */
  readonly onWaiting?: (words: string | null) => void;
  /** True if other work of this process may join while another process waits; by default only for runs. */
  readonly companions?: boolean;
}

interface Share {
  purpose: HolderPurpose;
  readonly companions: boolean;
}

export class StoreHold {
  private readonly path: string;
  private readonly shares = new Set<Share>();
  /** Listeners to waits for another process. */
  private readonly listeners = new Set<(words: string | null) => void>();
  private store: StoreWriter | undefined;
  private opening: Promise<StoreWriter> | undefined;
  private ended = Promise.withResolvers<undefined>();
  private readonly quiet: number;
  /** Timer that runs until the store is sealed. */
  private sealing: NodeJS.Timeout | undefined;

  /** @param quiet milliseconds without work after which the store is sealed */
  constructor(path: string, quiet = QUIET) {
    this.path = path;
    this.quiet = quiet;
  }

  /** The store while any work holds it. */
  get open(): StoreWriter | undefined {
    return this.store;
  }

  /** Returns the store for work that holds it. @throws C3Error('engine') if no work holds it */
  writer(): StoreWriter {
    if (this.store === undefined) {
      throw new C3Error(
        'engine',
        `The store ${this.path} was about to be written without its lock: report this as a bug.`,
      );
    }
    return this.store;
  }

  /**
   * Returns a share of the hold once no other process writes.
   * @throws CancelledError; C3Error('store') for faults that waiting does not solve
   */
  async lease(
    purpose: HolderPurpose,
    { signal, onWaiting, companions = purpose.kind === 'run' }: LeaseControl,
  ): Promise<Lease> {
    if (onWaiting !== undefined) {
      this.listeners.add(onWaiting);
    }
    try {
      for (;;) {
        if (this.store !== undefined) {
          if (this.mayJoin()) {
            return this.join(this.store, { purpose, companions });
          }
          await unlessCancelled(this.ended.promise, signal);
        } else if (this.opening !== undefined) {
          await unlessCancelled(
            this.opening.then(
              () => undefined,
              () => undefined,
            ),
            signal,
          );
        } else {
          this.opening = this.take(purpose, signal);
          try {
            const opened = await this.opening;
            // Other work may have joined and closed the store in the meantime.
            if (opened === this.open) {
              return this.join(opened, { purpose, companions });
            }
          } finally {
            this.opening = undefined;
          }
        }
      }
    } finally {
      if (onWaiting !== undefined) {
        this.listeners.delete(onWaiting);
      }
    }
  }

  /** Seals the store before the process ends. */
  close(): void {
    if (this.sealing !== undefined && this.store === undefined) {
      this.seal();
    }
  }

  private seal(): void {
    clearTimeout(this.sealing);
    this.sealing = undefined;
    try {
      sealStore(this.path);
    } catch {
      // Another process that writes now will seal it, and the data is complete without the seal.
    }
  }

  private async take(purpose: HolderPurpose, signal: AbortSignal): Promise<StoreWriter> {
    const store = await openStoreWhenFree(
      this.path,
      { purpose, headlines: HEADLINE_RULE },
      {
        signal,
        onWaiting: (words) => {
          for (const listener of this.listeners) {
            listener(words);
          }
        },
      },
    );
    try {
      // Only the process with the lock executes runs, so a run that is still marked as running was
      // left by a process that has ended.
      store.markInterrupted();
    } catch (error) {
      store.close();
      throw error;
    }
    clearTimeout(this.sealing);
    this.sealing = undefined;
    this.store = store;
    return store;
  }

  private mayJoin(): boolean {
    return [...this.shares].some(({ companions }) => companions) || !hasOtherWaiters(this.path);
  }

  private join(store: StoreWriter, share: Share): Lease {
    this.shares.add(share);
    this.describe(store);
    return {
      store,
      describe: (now) => {
        share.purpose = now;
        if (this.shares.has(share)) {
          this.describe(store);
        }
      },
      [Symbol.dispose]: () => {
        if (!this.shares.delete(share)) {
          return;
        }
        if (this.shares.size > 0) {
          this.describe(store);
          return;
        }
        this.store = undefined;
        const { ended } = this;
        this.ended = Promise.withResolvers();
        try {
          store.closeUnsealed();
          this.sealing = setTimeout(() => this.seal(), this.quiet).unref();
        } finally {
          ended.resolve(undefined);
        }
      },
    };
  }

  /** Describes the hold in the lock: a run if there is one, else work with parts, else the newest work. */
  private describe(store: StoreWriter): void {
    const shares = [...this.shares];
    const shown =
      shares.find(({ purpose }) => purpose.kind === 'run') ??
      shares.find(({ companions }) => companions) ??
      shares.at(-1);
    if (shown !== undefined) {
      store.describeHolder(shown.purpose);
    }
  }
}
