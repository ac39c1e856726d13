/** Runs work at most once per interval: at once when it is quiet, otherwise once more at the end of the interval. */
export class Throttle {
  private readonly work: () => void;
  private readonly milliseconds: number;
  private timer: NodeJS.Timeout | null = null;
  private again = false;

  constructor(milliseconds: number, work: () => void) {
    this.milliseconds = milliseconds;
    this.work = work;
  }

  /** Asks for a run of the work. */
  trigger(): void {
    if (this.timer !== null) {
      this.again = true;
      return;
    }
    this.timer = setTimeout(() => { this.elapsed(); }, this.milliseconds);
    this.work();
  }

  dispose(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.again = false;
  }

  private elapsed(): void {
    this.timer = null;
    if (!this.again) return;
    this.again = false;
    this.trigger();
  }
}
