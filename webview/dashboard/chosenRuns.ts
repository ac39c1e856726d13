/**
 * The runs laid over the shown one: what was asked for counts until the host has told it back, so that quick choices
 * build on each other.
 */
import type { DashboardSnapshot } from '../../src/shared/protocols/dashboardProtocol.ts';

export class ChosenRuns {
  private runs: readonly string[] = [];
  /** The host has not told `runs` back yet. */
  private asked = false;
  private shown: string | null = null;

  /** In the order in which they were chosen. */
  get all(): readonly string[] {
    return this.runs;
  }

  /**
   * Takes what the host tells; what it told before it heard of the newest choice is left, unless another run is shown
   * now.
   */
  tell({ run, runs, compared }: Pick<DashboardSnapshot, 'run' | 'runs' | 'compared'>): void {
    const told = compared.map(({ id }) => id);
    // A run that the store no longer has is never told back.
    const possible = this.runs.filter((chosen) => runs.some(({ id }) => id === chosen));
    if (this.asked && this.shown === run.id && possible.join('\n') !== told.join('\n')) {
      return;
    }
    this.runs = told;
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

  /** The host could not do what was asked: what it tells next counts. */
  failed(): void {
    this.asked = false;
  }
}
