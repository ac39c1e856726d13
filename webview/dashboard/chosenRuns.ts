/**
 * The runs laid over the shown one. The user's choice counts until the host has confirmed it, so that
 * quick choices build on each other.
 */

import type { DashboardSnapshot } from '../../src/shared/protocols/dashboardProtocol.ts';

export class ChosenRuns {
  private runs: readonly string[] = [];
  /** True while the host has not confirmed `runs`. */
  private asked = false;
  private shown: string | null = null;

  /** The chosen runs in the order in which they were chosen. */
  get all(): readonly string[] {
    return this.runs;
  }

  /** Takes the runs that the host confirms. Ignores older answers, unless another run is shown. */
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

  /** Adds or removes a run. @returns all chosen runs */
  toggle(run: string, on: boolean): readonly string[] {
    const others = this.runs.filter((id) => id !== run);
    this.runs = on ? [...others, run] : others;
    this.asked = true;
    return this.runs;
  }

  /** Handles a failure of the host. Its next answer counts. */
  failed(): void {
    this.asked = false;
  }
}
