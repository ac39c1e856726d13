/**
 * A process's hold on its store: opened for writing with its lock when the first piece of work begins, given back when
 * the last one ends. Pieces of work of one process share it; while another process waits, none but a run's companions
 * join, so that everybody has a turn.
 */
import { unlessCancelled } from '../../shared/cancellation.ts';
import { C3Error } from '../../shared/errors.ts';
import type { HolderPurpose } from '../../shared/protocols/storeHolder.ts';
import { openStoreWhenFree, othersWait } from '../../store/write/waiting.ts';
import { sealStore, type StoreWriter } from '../../store/write/writer.ts';
import { HEADLINE_RULE } from '../recipe/headlines.ts';

/** Milliseconds without work after which the store is sealed: a look at the whole file is not for every click. */
const QUIET = 60_000;

/** One piece of work's share of the hold; ending it twice does no harm. */
export interface Lease extends Disposable {
  readonly store: StoreWriter;
  /** Says what the work is now. */
  describe(purpose: HolderPurpose): void;
}

export interface LeaseControl {
  readonly signal: AbortSignal;
  /** Hears for whom the store is waited for, in words; null when the wait is over. */
  readonly onWaiting?: (words: string | null) => void;
  /** Whether other work of this process may join whoever waits: work of which it is a part. A run's always may. */
  readonly companions?: boolean;
}

interface Share {
  purpose: HolderPurpose;
  readonly companions: boolean;
}

export class StoreHold {
  private readonly path: string;
  private readonly shares = new Set<Share>();
  /** Who wants to hear of the wait for another process. */
  private readonly listeners = new Set<(words: string | null) => void>();
  private store: StoreWriter | undefined;
  private opening: Promise<StoreWriter> | undefined;
  private ended = Promise.withResolvers<undefined>();
  private readonly quiet: number;
  /** Runs while the store waits for its seal. */
  private sealing: NodeJS.Timeout | undefined;

  /** @param quiet milliseconds without work after which the store is sealed */
  constructor(path: string, quiet = QUIET) {
    this.path = path;
    this.quiet = quiet;
  }

  /** The store while some work holds it. */
  get open(): StoreWriter | undefined {
    return this.store;
  }

  /** The store for work that holds it. @throws C3Error('engine') where none does */
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
   * A share of the hold, as soon as no other process writes.
   * @throws CancelledError; C3Error('store') for what waiting does not solve
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
            // Another piece of work may have come and gone since.
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

  /** Seals what was written, for a process that ends. */
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
      // Whoever writes now seals it, and what was written is whole without it.
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
      // Whoever has the lock is the only one who runs anything: a run that still says so was left by a process that is
      // gone.
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
    return [...this.shares].some(({ companions }) => companions) || !othersWait(this.path);
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

  /** The lock names a run where there is one, else work that has parts, else what began last. */
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
