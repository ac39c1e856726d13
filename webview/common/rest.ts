/** Delays work that follows scrolling or typing until the input pauses. */

/** Milliseconds without a scroll event after which scrolling has stopped. */
const REST = 150;

/**
 * Work that waits until requests for it pause, or until the page loses the focus. The page may be
 * hidden next, and nothing runs in a hidden page.
 */
export class DelayedWork {
  private readonly work: () => void;
  private readonly milliseconds: number;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** @param milliseconds how long requests must pause before the work is done */
  constructor(work: () => void, milliseconds = REST) {
    this.work = work;
    this.milliseconds = milliseconds;
    window.addEventListener('blur', () => {
      if (this.waiting) {
        this.now();
      }
    });
  }

  /** True while requested work is not done yet. */
  get waiting(): boolean {
    return this.timer !== undefined;
  }

  ask(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), this.milliseconds);
  }

  /** Does the work at once, even if it was not requested. */
  now(): void {
    this.cancel();
    this.work();
  }

  /** Cancels the requested work. */
  cancel(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}

/** Returns a function that requests work. The work is done once, in the next frame. */
export function oncePerFrame(work: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) {
      return;
    }
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

/** Returns a function that requests work. The work is done when scrolling stops. */
export function onceRested(work: () => void): () => void {
  const rested = new DelayedWork(work);
  return () => rested.ask();
}
