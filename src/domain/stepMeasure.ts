/** What a measure of steps is: its title, its digits, and its figure on the dashboard. */

/** A figure over training steps. */
export interface StepFigureWords {
  /** Identifies the figure in the state that a page keeps. */
  readonly id: string;
  readonly title: string;
  /** The unit in the label of its axis. */
  readonly unit: string;
  /** Values that its axis always holds. */
  readonly always: readonly number[];
  /** Decimal places on its axis. */
  readonly digits: number;
}

export interface StepMeasure {
  /** The title in tables. */
  readonly title: string;
  /** Decimal places in tables, or `duration` for seconds. */
  readonly written: number | 'duration';
  /** True if every step has the measure; otherwise only steps of methods that measure it. */
  readonly everyStep: boolean;
  /** Its own figure, or the measure whose figure lists it; null if only other figures use it. */
  readonly figure: StepFigureWords | { readonly beside: string } | null;
}
