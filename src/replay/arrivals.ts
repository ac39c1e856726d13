/**
 * What is complete only when it is scored, in the order in which it arrived: how long an evaluator takes changes no
 * order of rows.
 */
import { CancelledError } from '../shared/errors.ts';

const LOOK_EVERY_MILLISECONDS = 25;

export class Arrivals {
  private tail: Promise<void> = Promise.resolve();
  private closed = false;
  private broken = false;

  /** Whether one of them failed, or whoever heard of it: nothing more is worth waiting for. */
  get failed(): boolean {
    return this.broken;
  }

  /** Adds one that is complete when `scoring` is; `complete` is called then, in its turn, unless this is closed. */
  add(scoring: Promise<void>, complete: () => void): void {
    // A failure is kept for whoever waits; until then it is no one's.
    const previous = this.tail;
    scoring.catch(() => undefined);
    this.tail = (async () => {
      await previous;
      await scoring;
      if (this.closed) {
        return;
      }
      complete();
    })();
    this.tail.catch(() => {
      this.broken = true;
    });
  }

  /**
   * Waits until all are complete.
   * @throws what the first that failed threw; CancelledError as soon as the work is cancelled
   */
  settled(cancelled: () => boolean): Promise<void> {
    return unlessCancelled(this.tail, cancelled);
  }

  /** What completes from now on is heard by no one. */
  close(): void {
    this.closed = true;
  }
}

/** What a promise gives, unless the work is cancelled before; the promise itself continues. @throws CancelledError */
export async function unlessCancelled<Result>(promise: Promise<Result>, cancelled: () => boolean): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const stop = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (cancelled()) {
        reject(new CancelledError());
      }
    }, LOOK_EVERY_MILLISECONDS);
  });
  try {
    return await Promise.race([promise, stop]);
  } finally {
    clearInterval(timer);
  }
}
