/**
 * Status of a run, as it is shown. The store keeps what was written last, and a process that is killed writes nothing.
 */
import type { RunRecord, RunStatus } from './records.ts';

/** interrupted: the process that ran it is gone and nobody saw it end. */
export type ShownStatus = RunStatus | 'interrupted';

/**
 * What to show for a stored run.
 * @param beingWritten whether a living process writes the store
 */
export function shownStatus(
  { status, finishedAt }: Pick<RunRecord, 'status' | 'finishedAt'>,
  beingWritten: boolean,
): ShownStatus {
  if (status === 'running' && !beingWritten) {
    return 'interrupted';
  }
  // Marked by the next writer of the store, who did not see when it ended.
  if (status === 'failed' && finishedAt === null) {
    return 'interrupted';
  }
  return status;
}

/** Whether a run can be taken to its end from where it is. */
export function isResumable(status: ShownStatus): boolean {
  return status === 'cancelled' || status === 'failed' || status === 'interrupted';
}
