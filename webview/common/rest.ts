/** Work that follows scrolling or typing: not at every pixel or letter, and not too late. */

/** Milliseconds after which scrolling rests. */
const REST = 150;

/**
 * Work that waits until it is not asked for any more, or until the keyboard leaves the page: that may be hidden next,
 * and nothing is executed in a page that is hidden.
 */
export class Rested {
  private readonly work: () => void;
  private readonly milliseconds: number;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** @param milliseconds without another request after which the work is done */
  constructor(work: () => void, milliseconds = REST) {
    this.work = work;
    this.milliseconds = milliseconds;
    window.addEventListener('blur', () => {
      if (this.waiting) {
        this.now();
      }
    });
  }

  /** Whether work that was asked for is not done yet. */
  get waiting(): boolean {
    return this.timer !== undefined;
  }

  ask(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), this.milliseconds);
  }

  /** Does the work at once, whether it was asked for or not. */
  now(): void {
    this.cancel();
    this.work();
  }

  /** Forgets what was asked for. */
  cancel(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}

/** @returns asks for work that waits until scrolling rests */
export function onceRested(work: () => void): () => void {
  const rested = new Rested(work);
  return () => rested.ask();
}
