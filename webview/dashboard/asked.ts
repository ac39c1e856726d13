/** Whether a view shows other runs than before: it is then drawn whatever holds it, until all its steps are here. */

export class Asked {
  private runs: string | null = null;
  /** At first nothing is here. */
  private open = true;

  /** Runs were asked for whose steps are not all here. */
  get waiting(): boolean {
    return this.open;
  }

  /**
   * Takes the runs of a new answer: those asked for by the reader, or by a command. One that was on its way before they
   * were asked for has the runs of before.
   * @returns whether they are other runs
   */
  answered(runs: readonly string[]): boolean {
    const words = runs.join(' ');
    const others = this.runs !== null && this.runs !== words;
    this.runs = words;
    this.open ||= others;
    return others;
  }

  /** All steps of these runs are here. */
  complete(): void {
    this.open = false;
  }
}
