/**
 * What is complete only when it is scored, in the order in which it arrived: how long an evaluator takes changes no
 * order of rows.
 */
import { unlessCancelled } from '../shared/cancellation.ts';

export class Arrivals {
  private tail: Promise<void> = Promise.resolve();
  private closed = false;
  private broken = false;
  private readonly onFailure: () => void;

  /** @param onFailure called when one of them fails, or whoever heard of it */
  constructor(onFailure: () => void = () => undefined) {
    this.onFailure = onFailure;
  }

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
      this.onFailure();
    });
  }

  /**
   * Waits until all are complete.
   * @throws what the first that failed threw; CancelledError as soon as the work is cancelled
   */
  settled(signal: AbortSignal): Promise<void> {
    return unlessCancelled(this.tail, signal);
  }

  /** What completes from now on is heard by no one. */
  close(): void {
    this.closed = true;
  }
}
