/**
 * Distributes requests over several addresses: the one with the fewest pending requests is next,
 * and one that fails rests a while.
 */

import { onAbort } from '../../shared/cancellation.ts';
import { CancelledError } from '../../shared/errors.ts';
import type { LongWait } from '../../shared/longWait.ts';
import { Unanswered, describeLongWait } from './failure.ts';
import type { LongWaits } from './longWaits.ts';

/** Milliseconds that an address rests after its first failure in a row, and at most. */
export interface Rests {
  readonly first: number;
  readonly most: number;
}

export interface AddressSettings {
  /** The most pending requests at one address. */
  readonly concurrency: number;
  /** The most requests that begin in a minute at one address, or null for no limit. */
  readonly perMinute: number | null;
  readonly rests: Rests;
  /** Decides if a server's long wait is accepted. */
  readonly waits: LongWaits;
}

/** The state of one address. */
export interface Address {
  readonly base: string;
  underWay: number;
  /** The number of failures in a row. */
  failures: number;
  /** True if the last request could not reach it. */
  dead: boolean;
  /** The time from which it may be asked again. */
  readyAt: number;
  /** The time until which it asked to receive no requests. */
  refusesUntil: number;
}

const MINUTE = 60_000;
/** The longest timer in milliseconds. A timer beyond the range of its counter ends at once. */
const LONGEST_TIMER = 120_000;

interface Waiting {
  readonly resolve: (address: Address) => void;
  readonly reject: (error: Error) => void;
}

export class Addresses {
  private readonly all: readonly Address[];
  private readonly settings: AddressSettings;
  /** The callers that wait for a place, in the order in which they came. */
  private readonly waiting = new Set<Waiting>();
  private timer: NodeJS.Timeout | undefined;
  /** Aborts the question about a long wait. Null if no question is open. */
  private asking: AbortController | null = null;

  constructor(bases: readonly string[], settings: AddressSettings) {
    this.all = bases.map((base) => ({ base, underWay: 0, failures: 0, dead: false, readyAt: 0, refusesUntil: 0 }));
    this.settings = settings;
  }

  /**
   * Waits for a free address and takes a place at it. If all addresses ask for a long wait, the
   * user is asked.
   * @throws Unanswered if such a wait is refused; CancelledError
   */
  async take(signal: AbortSignal): Promise<Address> {
    const { promise, resolve, reject } = Promise.withResolvers<Address>();
    const waiting: Waiting = { resolve, reject };
    this.waiting.add(waiting);
    const release = onAbort(signal, () => {
      // A caller that already has its place keeps it until it releases it.
      if (this.waiting.delete(waiting)) {
        reject(new CancelledError());
      }
    });
    try {
      this.serve();
      return await promise;
    } finally {
      release();
      if (this.waiting.size === 0) {
        clearTimeout(this.timer);
        this.asking?.abort();
      }
    }
  }

  /** Releases a place. */
  release(address: Address): void {
    address.underWay--;
    this.serve();
  }

  succeeded(address: Address): void {
    address.failures = 0;
    address.dead = false;
  }

  /** True if an address could be reached and asks for no long wait. */
  get someAlive(): boolean {
    const latest = performance.now() + this.settings.waits.silent;
    return this.all.some(({ dead, refusesUntil }) => !dead && refusesUntil <= latest);
  }

  /** True if no address could be reached by its last request. */
  get areDead(): boolean {
    return this.all.every(({ dead }) => dead);
  }

  /** The shortest wait that all addresses ask for, if it exceeds the silent limit, or null. */
  get longWait(): LongWait | null {
    const [soonest] = this.all.toSorted((a, b) => a.refusesUntil - b.refusesUntil);
    if (soonest === undefined) {
      return null;
    }
    const milliseconds = soonest.refusesUntil - performance.now();
    return milliseconds > this.settings.waits.silent ? { server: new URL(soonest.base).host, milliseconds } : null;
  }

  /**
   * Records a failure.
   * @param retryAfter milliseconds that the server asked for, or null
   * @param dead true if it could not be reached
   */
  failed(address: Address, retryAfter: number | null, dead: boolean): void {
    const { first, most } = this.settings.rests;
    const rest = retryAfter ?? Math.min(most, first * 2 ** Math.min(20, address.failures));
    address.failures++;
    address.dead = dead;
    address.readyAt = Math.max(address.readyAt, performance.now() + rest);
    if (retryAfter !== null) {
      address.refusesUntil = address.readyAt;
    }
  }

  /** Gives free places to waiting callers. If an address rests, a timer repeats this after its rest. */
  private serve(): void {
    clearTimeout(this.timer);
    const { concurrency, perMinute, waits } = this.settings;
    for (const waiting of this.waiting) {
      const { longWait } = this;
      if (longWait !== null && waits.decision(longWait) !== true) {
        this.decide(longWait);
        return;
      }
      const now = performance.now();
      const free = this.all.filter(({ underWay }) => underWay < concurrency);
      const [best] = free
        .filter(({ readyAt }) => readyAt <= now)
        .sort((a, b) => a.failures - b.failures || a.underWay - b.underWay);
      if (best === undefined) {
        if (free.length > 0) {
          const soonest = Math.min(...free.map(({ readyAt }) => readyAt - now));
          this.timer = setTimeout(() => this.serve(), Math.min(LONGEST_TIMER, Math.max(1, Math.ceil(soonest))));
        }
        return;
      }
      this.waiting.delete(waiting);
      best.underWay++;
      if (perMinute !== null) {
        best.readyAt = now + MINUTE / perMinute;
      }
      waiting.resolve(best);
    }
  }

  /** Asks the user about a long wait, and refuses the waiting callers if the user does. */
  private decide(wait: LongWait): void {
    const { waits } = this.settings;
    if (waits.decision(wait) === false) {
      this.refuse(new Unanswered(describeLongWait(wait.milliseconds, waits.silent), false));
      return;
    }
    if (this.asking !== null) {
      return;
    }
    const asking = new AbortController();
    this.asking = asking;
    waits
      .ask(wait, asking.signal)
      .catch((error: unknown) => {
        if (!asking.signal.aborted) {
          this.refuse(error instanceof Error ? error : new Error(String(error)));
        }
      })
      .finally(() => {
        this.asking = null;
        this.serve();
      });
  }

  private refuse(error: Error): void {
    for (const waiting of this.waiting) {
      this.waiting.delete(waiting);
      waiting.reject(error);
    }
  }
}
