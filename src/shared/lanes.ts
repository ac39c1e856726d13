/** Work of which only so much goes on at once, in the order in which it was asked for. */
import { onAbort, throwIfAborted } from './cancellation.ts';
import { CancelledError } from './errors.ts';

export class Lanes {
  private free: number;
  private readonly waiting = new Set<() => void>();

  /** @param most pieces of work that go on at once */
  constructor(most: number) {
    this.free = most;
  }

  /**
   * Does a piece of work once a lane is free.
   * @param signal ends the wait; the work looks at it itself
   * @throws CancelledError; what the work throws
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
      // One that has its lane already gives it back after its work.
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
