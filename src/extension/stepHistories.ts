/** The steps of runs for their charts: what has ended is read once, in slices, so that a long run never holds the editor up. */
import { STEPS_MOST } from '../shared/dashboardProtocol.ts';
import { EVALUATION_ROUNDS } from '../shared/evaluationRounds.ts';
import { addCosts, costBetween, type RoundCost, type StepRow } from '../shared/stepRows.ts';
import type { StoreReader } from '../store/reader.ts';

type Reader = Pick<StoreReader, 'steps' | 'stepCredits' | 'roundCost'>;

/** Steps that are read at once: some milliseconds. */
const SLICE = 20;
/** Runs whose steps are kept; the one read longest ago is forgotten first. */
const RUNS_KEPT = 12;

interface History {
  readonly rows: StepRow[];
  /** The ledger at the end of the rows; null until the first step has ended, for the evaluations before it may go on. */
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
    for (const { iteration, metrics, ledger, episodes } of page) {
      // A step without metrics goes on; it is read again when it has ended.
      if (metrics === null) return false;
      const before = history.ledger ?? evaluationsBefore(reader, run);
      history.rows.push({ iteration, metrics, cost: costBetween(before, ledger), episodes, credits: reader.stepCredits(run, iteration) });
      history.ledger = ledger;
    }
    return room > 0 && page.length === room;
  }

  private keep(run: string, history: History): void {
    this.histories.delete(run);
    this.histories.set(run, history);
    const [oldest] = this.histories.keys();
    if (this.histories.size > RUNS_KEPT && oldest !== undefined) this.histories.delete(oldest);
  }
}

/** What stands in a run's ledger before its first step. */
export function evaluationsBefore(reader: Pick<StoreReader, 'roundCost'>, run: string): RoundCost {
  return addCosts(...EVALUATION_ROUNDS.filter(({ stage }) => stage === 'before').map(({ iteration }) => reader.roundCost({ run, phase: 'evaluate', iteration })));
}
