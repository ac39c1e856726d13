/**
 * Loads a page again that stays blank: the editor answers a page's requests for its script and style within 30 seconds
 * or never, and a page whose script did not come has no other way to ask again.
 */

/** Longer than the editor waits for a resource, so that a load that is still in progress is left alone. */
const FIRST_WAIT = 45_000;
/** Each wait is twice the one before it: on a machine that is only slow, the page gets there. */
const MOST_RELOADS = 3;

export class BlankPage {
  private readonly reload: () => void;
  private readonly giveUp: () => void;
  private reloads = 0;
  private timer: NodeJS.Timeout | null = null;

  /**
   * @param reload what loads the page anew
   * @param giveUp called when the page stayed blank after the last reload
   */
  constructor(reload: () => void, giveUp: () => void) {
    this.reload = reload;
    this.giveUp = giveUp;
  }

  /** The page is loading where it can be seen; waits for it, unless it is waited for already. */
  loading(): void {
    this.timer ??= setTimeout(
      () => {
        this.timer = null;
        if (this.reloads === MOST_RELOADS) {
          this.giveUp();
          return;
        }
        this.reloads++;
        this.reload();
        this.loading();
      },
      FIRST_WAIT * 2 ** this.reloads,
    ).unref();
  }

  /** The page has loaded: what fails after this is counted anew. */
  loaded(): void {
    this.stop();
    this.reloads = 0;
  }

  /** The page is hidden or closed: the editor loads it anew when it is shown again. */
  stop(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
  }
}
