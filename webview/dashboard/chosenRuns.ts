/**
 * The runs laid over the shown one: what was asked for counts until the host has confirmed it, so that quick choices
 * build on each other.
 */
import type { DashboardSnapshot } from '../../src/shared/protocols/dashboardProtocol.ts';

export class ChosenRuns {
  private runs: readonly string[] = [];
  /** The host has not confirmed `runs` yet. */
  private asked = false;
  private shown: string | null = null;

  /** In the order in which they were chosen. */
  get all(): readonly string[] {
    return this.runs;
  }

  /**
   * Takes what the host says; what it said before it heard of the newest choice is left, unless another run is shown
   * now.
   */
  receive({ run, runs, compared }: Pick<DashboardSnapshot, 'run' | 'runs' | 'compared'>): void {
    const confirmed = compared.map(({ id }) => id);
    // A run that the store no longer has is never confirmed.
    const possible = this.runs.filter((chosen) => runs.some(({ id }) => id === chosen));
    if (this.asked && this.shown === run.id && possible.join('\n') !== confirmed.join('\n')) {
      return;
    }
    this.runs = confirmed;
    this.asked = false;
    this.shown = run.id;
  }

  /** Puts a run on or takes it off. @returns all that are chosen now */
  toggle(run: string, on: boolean): readonly string[] {
    const others = this.runs.filter((id) => id !== run);
    this.runs = on ? [...others, run] : others;
    this.asked = true;
    return this.runs;
  }

  /** The host could not do what was asked: what it says next counts. */
  failed(): void {
    this.asked = false;
  }
}
