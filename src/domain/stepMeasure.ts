/** The forms of a measure of training steps, and of its figure. */

/** A figure over training steps. */
export interface StepFigureWords {
  /** Names the figure in the state that a page keeps. */
  readonly id: string;
  readonly title: string;
  /** The unit, as its axis names it. */
  readonly unit: string;
  /** Values that its axis always holds. */
  readonly always: readonly number[];
  /** Decimal places on its axis. */
  readonly digits: number;
}

export interface StepMeasure {
  /** As tables name it. */
  readonly title: string;
  /** Decimal places in tables; a duration for seconds. */
  readonly written: number | 'duration';
  /** Whether each step has it; else only those of methods that measure it. */
  readonly everyStep: boolean;
  /**
   * The figure of its own, or the measure whose figure lists it too; null where only figures of other numbers use it.
   */
  readonly figure: StepFigureWords | { readonly beside: string } | null;
}
