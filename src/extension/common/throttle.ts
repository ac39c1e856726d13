/**
 * Runs work at once if the last interval has passed, otherwise once at the end of the interval. The
 * interval begins when the work ends, so that long work leaves room for other work.
 */
export class Throttle {
  private readonly work: () => void;
  private readonly milliseconds: number;
  private timer: NodeJS.Timeout | null = null;
  private working = false;
  private again = false;

  constructor(milliseconds: number, work: () => void) {
    this.milliseconds = milliseconds;
    this.work = work;
  }

  /** Requests one run of the work. */
  trigger(): void {
    if (this.working || this.timer !== null) {
      this.again = true;
      return;
    }
    this.working = true;
    try {
      this.work();
    } finally {
      this.working = false;
      this.timer = setTimeout(() => this.elapsed(), this.milliseconds);
    }
  }

  dispose(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
    }
    this.timer = null;
    this.again = false;
  }

  private elapsed(): void {
    this.timer = null;
    if (!this.again) {
      return;
    }
    this.again = false;
    this.trigger();
  }
}
