/**
 * The steps of runs for their charts: what has ended is read once, in slices, so that a long run never holds the editor
 * up.
 */
import { roundsInOrder, type EvaluationRound } from '../../domain/evaluation.ts';
import { contributionsIn, addCosts, costBetween, type RoundCost, type StepRow } from '../../domain/stepRows.ts';
import { STEPS_MOST } from '../../shared/protocols/dashboardProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';

type Reader = Pick<StoreReader, 'steps' | 'stepCredits' | 'roundCost' | 'evaluationNumbers' | 'methodState'>;

/** Steps that are read at once: some milliseconds. */
const SLICE = 20;
/** Runs whose steps are kept; the one read longest ago is forgotten first. */
const RUNS_KEPT = 12;

interface History {
  readonly rows: StepRow[];
  /**
   * The ledger at the end of the rows; null until the first step has ended, for the evaluations before it may go on.
   */
  ledger: RoundCost | null;
}

export class StepHistories {
  private readonly histories = new Map<string, History>();

  /** The finished steps read so far, in order. */
  rows(run: string): readonly StepRow[] {
    return this.histories.get(run)?.rows ?? [];
  }

  /** Reads the next finished steps of a run, a slice of them. @returns whether there may be more */
  advance(reader: Reader, run: string): boolean {
    const history = this.histories.get(run) ?? { rows: [], ledger: null };
    this.keep(run, history);
    const room = Math.min(SLICE, STEPS_MOST - history.rows.length);
    const page = room <= 0 ? [] : reader.steps(run, history.rows.length, room);
    // Those between these steps are all there: a step begins after the evaluation before it.
    const evaluated = page.length === 0 ? [] : reader.evaluationNumbers(run);
    for (const { iteration, metrics, ledger, episodes } of page) {
      // A step without metrics is in progress; it is read again when it has ended.
      if (metrics === null) {
        return false;
      }
      const evaluations = evaluationCost(reader, run, evaluated, ({ step }) => step === iteration - 1);
      const before = history.ledger === null ? evaluations : addCosts(history.ledger, evaluations);
      history.rows.push({
        iteration,
        metrics,
        cost: costBetween(before, ledger),
        episodes,
        credits: reader.stepCredits(run, iteration),
        ...(metrics.contribution !== undefined && {
          contributions: contributionsIn(reader.methodState(run, iteration)?.json ?? null),
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

/** What the evaluations of a run cost. @param numbers of those that it has @param which of them */
export function evaluationCost(
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
