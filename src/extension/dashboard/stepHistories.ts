/**
 * Caches the steps of runs for their charts. Finished steps are read once and in slices, so that the
 * editor stays responsive.
 */

import { roundsInOrder, type EvaluationRound } from '../../domain/evaluation.ts';
import { readContributions, addCosts, subtractCosts, type RoundCost, type StepRow } from '../../domain/stepRows.ts';
import { STEPS_MOST } from '../../shared/protocols/dashboardProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';

type Reader = Pick<StoreReader, 'steps' | 'stepCredits' | 'roundCost' | 'evaluationNumbers' | 'methodState'>;

/** Number of steps that are read at once, which takes some milliseconds. */
const SLICE = 20;
/** Maximum number of runs that are kept. The least recently read run is dropped first. */
const RUNS_KEPT = 12;

interface History {
  readonly rows: StepRow[];
  /**
   * The ledger at the end of the rows, or null until the first step has ended. The evaluations before
   * that step may still be in progress.
   */
  ledger: RoundCost | null;
}

export class StepHistories {
  private readonly histories = new Map<string, History>();

  /** Returns the finished steps read so far, in order. */
  rows(run: string): readonly StepRow[] {
    return this.histories.get(run)?.rows ?? [];
  }

  /** Reads the next slice of finished steps of a run. @returns true if there may be more */
  advance(reader: Reader, run: string): boolean {
    const history = this.histories.get(run) ?? { rows: [], ledger: null };
    this.keep(run, history);
    const room = Math.min(SLICE, STEPS_MOST - history.rows.length);
    const page = room <= 0 ? [] : reader.steps(run, history.rows.length, room);
    // All evaluations before these steps are complete: a step begins after the evaluation before it.
    const evaluated = page.length === 0 ? [] : reader.evaluationNumbers(run);
    for (const { iteration, metrics, ledger, episodes } of page) {
      // A step without metrics is in progress. It is read again when it has ended.
      if (metrics === null) {
        return false;
      }
      const evaluations = sumEvaluationCosts(reader, run, evaluated, ({ step }) => step === iteration - 1);
      const before = history.ledger === null ? evaluations : addCosts(history.ledger, evaluations);
      history.rows.push({
        iteration,
        metrics,
        cost: subtractCosts(before, ledger),
        episodes,
        credits: reader.stepCredits(run, iteration),
        ...(metrics.contribution !== undefined && {
          contributions: readContributions(reader.methodState(run, iteration)?.json ?? null),
        }),
      });
      history.ledger = ledger;
    }
    return room > 0 && page.length === room;
  }

  private keep(run: string, history: History): void {
    this.histories.delete(run);
    this.histories.set(run, history);
    const [oldest] = this.histories.keys();
    if (this.histories.size > RUNS_KEPT && oldest !== undefined) {
      this.histories.delete(oldest);
    }
  }
}

/**
 * Returns the total cost of evaluations of a run.
 * @param numbers the numbers of its evaluations
 * @param which selects the evaluations to count
 */
export function sumEvaluationCosts(
  reader: Pick<StoreReader, 'roundCost'>,
  run: string,
  numbers: readonly number[],
  which: (round: EvaluationRound) => boolean,
): RoundCost {
  return addCosts(
    ...roundsInOrder(numbers)
      .filter(which)
      .map(({ iteration }) => reader.roundCost({ run, phase: 'evaluate', iteration })),
  );
}
