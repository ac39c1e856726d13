/** What the runs of a store reached and what training them took; a finished run is looked at once. */
import type { RunRecord } from '../../domain/run.ts';
import { addCosts, costBetween } from '../../domain/stepRows.ts';
import type { RunOutcome } from '../../shared/protocols/dashboardProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { taskOf } from './runTask.ts';
import { evaluationCost } from './stepHistories.ts';

type Reader = Pick<StoreReader, 'roundCost' | 'latestLedger' | 'evaluationNumbers' | 'runConfig'>;

export class RunOutcomes {
  private readonly known = new Map<string, RunOutcome | null>();

  /** Looks at one more of the runs. @returns whether there may be more */
  advance(reader: Reader, runs: readonly RunRecord[]): boolean {
    const next = runs.find((run) => run.status === 'done' && !this.known.has(run.id));
    if (next === undefined) {
      return false;
    }
    this.known.set(next.id, outcomeOf(reader, next));
    return true;
  }

  /** The outcomes known so far, in the order of the runs. */
  of(runs: readonly RunRecord[]): readonly RunOutcome[] {
    return runs.flatMap(({ id }) => this.known.get(id) ?? []);
  }
}

const NOTHING = addCosts();

/** Null for a run that was not evaluated. One without steps is what it was before. */
export function outcomeOf(reader: Reader, { id, title, method, seed, summary }: RunRecord): RunOutcome | null {
  const accuracy =
    summary === null ? null : (summary.accuracy.after ?? (summary.steps === 0 ? summary.accuracy.before : null));
  if (accuracy === null) {
    return null;
  }
  const ledger = reader.latestLedger(id);
  // The ledger of the last step holds every evaluation but those after training.
  const evaluations = evaluationCost(reader, id, reader.evaluationNumbers(id), ({ step }) => step !== null);
  const { tokens, evaluatorCalls: calls } = ledger === null ? NOTHING : costBetween(evaluations, ledger);
  const cost = { tokens: tokens.prompt + tokens.completion, calls, seconds: summary?.seconds ?? 0 };
  return { run: id, title, method, seed, task: taskOf(reader.runConfig(id)), ...cost, accuracy };
}
