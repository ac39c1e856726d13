/** The points of the charts, from the steps of a run. */
import type { Step, StepMetrics } from '../../src/shared/records.ts';
import type { Point } from '../common/charts.ts';

/** One measured number for each step. */
export function metricPoints(steps: readonly Step[], metric: keyof StepMetrics): readonly Point[] {
  return steps.flatMap(({ iteration, metrics }) => {
    const value = metrics?.[metric];
    return value === undefined || !Number.isFinite(value) ? [] : [{ x: iteration, y: value }];
  });
}

/**
 * Evaluator calls of each step: differences of the cumulative ledger, over as many steps as lie between two entries. What the first
 * step cost is not known, because the ledger before it also holds the evaluation.
 */
export function callPoints(steps: readonly Step[]): readonly Point[] {
  const measured = steps.filter((step) => step.metrics !== null);
  return measured.flatMap((step, index) => {
    const before = measured[index - 1];
    return before === undefined ? [] : [{ x: step.iteration, y: (step.ledger.evaluatorCalls - before.ledger.evaluatorCalls) / (step.iteration - before.iteration) }];
  });
}
