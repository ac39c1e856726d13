/** Learning-rate schedules as functions of the optimizer step. */

export interface CosineSettings {
  readonly peak: number;
  /** Share of the steps with linear warm-up (C3 Appendix D: 0.03). */
  readonly warmupFraction: number;
  readonly totalSteps: number;
  /** Share of the peak at which the cosine ends. */
  readonly floorFraction: number;
}

/**
 * Returns a schedule with a linear warm-up, then a half cosine from the peak to its floor.
 * @returns the rate of step s, counted from 0
 */
export function makeCosineSchedule({
  peak,
  warmupFraction,
  totalSteps,
  floorFraction,
}: CosineSettings): (step: number) => number {
  const warmup = Math.ceil(warmupFraction * totalSteps);
  return (step) => {
    if (step < warmup) {
      return (peak * (step + 1)) / warmup;
    }
    const progress = Math.min(1, (step - warmup) / Math.max(1, totalSteps - warmup));
    return peak * (floorFraction + (1 - floorFraction) * 0.5 * (1 + Math.cos(Math.PI * progress)));
  };
}
