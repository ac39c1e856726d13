/** Limits the pieces of work that run at once; the others wait in the order of their requests. */

import { onAbort, throwIfAborted } from './cancellation.ts';
import { CancelledError } from './errors.ts';

export class Lanes {
  private free: number;
  private readonly waiting = new Set<() => void>();

  /** @param most largest number of pieces of work at once */
  constructor(most: number) {
    this.free = most;
  }

  /**
   * Runs a piece of work once a lane is free.
   * @param signal ends the wait; the work must check it itself
   * @throws CancelledError; errors of the work
   */
  async within<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    throwIfAborted(signal);
    // With a free lane it begins at once.
    if (this.free > 0) {
      this.free--;
    } else {
      await this.turn(signal);
    }
    try {
      return await work();
    } finally {
      const [next] = this.waiting;
      if (next === undefined) {
        this.free++;
      } else {
        this.waiting.delete(next);
        next();
      }
    }
  }

  private async turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<null>();
    const enter = (): void => resolve(null);
    this.waiting.add(enter);
    const release = onAbort(signal, () => {
      // Work that has its lane already returns it at its end.
      if (this.waiting.delete(enter)) {
        reject(new CancelledError());
      }
    });
    try {
      await promise;
    } finally {
      release();
    }
  }
}
