/** Several addresses share the requests: the one with the fewest under way is next; one that fails rests a while. */
import { onAbort } from '../../shared/cancellation.ts';
import { CancelledError } from '../../shared/errors.ts';
import type { LongWait } from '../../shared/longWait.ts';
import { Unanswered, waitWords } from './failure.ts';
import type { LongWaits } from './longWaits.ts';

/** Milliseconds that an address rests after its first failure in a row, and at most. */
export interface Rests {
  readonly first: number;
  readonly most: number;
}

export interface AddressSettings {
  /** Requests under way at one address at most. */
  readonly concurrency: number;
  /** Requests that begin in a minute at one address at most; null for any number. */
  readonly perMinute: number | null;
  readonly rests: Rests;
  /** Whether it is waited for a server that asks for a long wait. */
  readonly waits: LongWaits;
}

/** One address, as a request has it. */
export interface Address {
  readonly base: string;
  underWay: number;
  /** Failures in a row. */
  failures: number;
  /** Whether it could not be reached the last time. */
  dead: boolean;
  /** When it may be asked again. */
  readyAt: number;
  /** Until when it asked not to be asked. */
  refusesUntil: number;
}

const MINUTE = 60_000;
/** Milliseconds of a timer: one that is set for longer than it can count ends at once. */
const LONGEST_TIMER = 120_000;

interface Waiting {
  readonly resolve: (address: Address) => void;
  readonly reject: (error: Error) => void;
}

export class Addresses {
  private readonly all: readonly Address[];
  private readonly settings: AddressSettings;
  /** Those who wait for a place, in the order in which they came. */
  private readonly waiting = new Set<Waiting>();
  private timer: NodeJS.Timeout | undefined;
  /** Ends the question whether a long wait is waited for; null where nobody is asked. */
  private asking: AbortController | null = null;

  constructor(bases: readonly string[], settings: AddressSettings) {
    this.all = bases.map((base) => ({ base, underWay: 0, failures: 0, dead: false, readyAt: 0, refusesUntil: 0 }));
    this.settings = settings;
  }

  /**
   * Waits for a free address and takes a place at it. Where every one asks for a long wait, somebody is asked.
   * @throws Unanswered where such a wait is refused; CancelledError
   */
  async take(signal: AbortSignal): Promise<Address> {
    const { promise, resolve, reject } = Promise.withResolvers<Address>();
    const waiting: Waiting = { resolve, reject };
    this.waiting.add(waiting);
    const release = onAbort(signal, () => {
      // One that has its place already keeps it until it gives it back.
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

  /** Gives a place back. */
  release(address: Address): void {
    address.underWay--;
    this.serve();
  }

  succeeded(address: Address): void {
    address.failures = 0;
    address.dead = false;
  }

  /** Whether there is an address that could be reached, and is not waited for in vain. */
  get someAlive(): boolean {
    const latest = performance.now() + this.settings.waits.silent;
    return this.all.some(({ dead, refusesUntil }) => !dead && refusesUntil <= latest);
  }

  /** Whether none could be reached when it was asked last. */
  get areDead(): boolean {
    return this.all.every(({ dead }) => dead);
  }

  /** The shortest wait that all addresses ask for, where it is longer than is waited without asking; else null. */
  get longWait(): LongWait | null {
    const [soonest] = this.all.toSorted((a, b) => a.refusesUntil - b.refusesUntil);
    if (soonest === undefined) {
      return null;
    }
    const milliseconds = soonest.refusesUntil - performance.now();
    return milliseconds > this.settings.waits.silent ? { server: new URL(soonest.base).host, milliseconds } : null;
  }

  /**
   * @param retryAfter milliseconds that it asked for; null where it asked for none
   * @param dead whether it could not be reached
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

  /** Gives free places to those who wait; where an address rests, again when it has rested. */
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

  /** Asks whether a long wait is waited for, and refuses those who wait where it is not. */
  private decide(wait: LongWait): void {
    const { waits } = this.settings;
    if (waits.decision(wait) === false) {
      this.refuse(new Unanswered(waitWords(wait.milliseconds, waits.silent), false));
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
