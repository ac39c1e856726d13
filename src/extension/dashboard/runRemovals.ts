/**
 * Credits by outcome of runs that credit by removal, for their boxes: rollouts of steps spread evenly over a run, read
 * one step at a time, so that the editor is never held up.
 */
import {
  MOST_ROLLOUTS,
  removalOutcomes,
  removalRollouts,
  type RemovalOutcomes,
  type RemovalRollout,
  type RemovalRows,
} from '../../domain/stepRows.ts';

interface Read {
  /** Steps that were looked at or passed over. */
  step: number;
  /** Of how many steps one is looked at. */
  stride: number;
  kept: { readonly step: number; readonly rollouts: readonly RemovalRollout[] }[];
  /** What is kept, put together; undefined where that is not done yet. */
  outcomes: RemovalOutcomes | null | undefined;
}

/** Runs that are kept; the one read longest ago is forgotten first. */
const RUNS_KEPT = 6;

export class RunRemovals {
  private readonly runs = new Map<string, Read>();

  /** Null while nothing is read, and for a run without solo rollouts. */
  of(run: string): RemovalOutcomes | null {
    const read = this.runs.get(run);
    if (read === undefined) {
      return null;
    }
    read.outcomes ??= removalOutcomes(read.kept.flatMap(({ rollouts }) => rollouts));
    return read.outcomes;
  }

  /** Reads the next finished step of a run. @param finished its finished steps @returns whether there may be more */
  advance(reader: RemovalRows, run: string, finished: number): boolean {
    const read = this.runs.get(run) ?? { step: 0, stride: 1, kept: [], outcomes: undefined };
    this.runs.delete(run);
    this.runs.set(run, read);
    const [oldest] = this.runs.keys();
    if (this.runs.size > RUNS_KEPT && oldest !== undefined) {
      this.runs.delete(oldest);
    }
    const step = read.step + read.stride;
    if (step > finished) {
      return false;
    }
    read.step = step;
    const rollouts = removalRollouts(reader, run, step);
    if (rollouts.length > 0) {
      read.kept.push({ step, rollouts });
      read.outcomes = undefined;
    }
    if (read.kept.reduce((sum, one) => sum + one.rollouts.length, 0) > MOST_ROLLOUTS) {
      // Every second of them, on the way to a run of any length.
      read.stride *= 2;
      read.kept = read.kept.filter((one) => one.step % read.stride === 0);
      read.step = read.kept.at(-1)?.step ?? 0;
    }
    return true;
  }
}
