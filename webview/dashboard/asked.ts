/**
 * Tracks whether requested runs are still incomplete. Until all their steps are here, the view is
 * drawn even while it is held.
 */

export class RequestedRuns {
  private runs: string | null = null;
  /** True at first, because nothing is here. */
  private open = true;

  /** True while steps of the requested runs are missing. */
  get waiting(): boolean {
    return this.open;
  }

  /**
   * Takes the runs of a new answer. An answer that was on its way before other runs were requested has
   * the old runs.
   * @returns true if the runs are not the same as before
   */
  answered(runs: readonly string[]): boolean {
    const words = runs.join(' ');
    const others = this.runs !== null && this.runs !== words;
    this.runs = words;
    this.open ||= others;
    return others;
  }

  /** Handles that all steps of the runs are here. */
  complete(): void {
    this.open = false;
  }
}
