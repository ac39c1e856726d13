/** Formats the progress of a run, in words and in percent. */

import type { RunJob, RunProgress } from '../../shared/protocols/jobs.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { formatRemaining } from '../../shared/text/times.ts';

const STAGES = {
  load: 'Loading',
  'evaluate-before': 'Evaluation before',
  train: 'Training',
  'evaluate-after': 'Evaluation after',
} as const;
/** Maximum length of a title, in characters. */
const TITLE = 60;
const SHARES = { load: [0, 5], 'evaluate-before': [5, 15], train: [15, 85], 'evaluate-after': [85, 100] } as const;

/** Formats the stage of a run and its progress within that stage. */
export function formatStage({ stage, done, total }: Pick<RunProgress, 'stage' | 'done' | 'total'>): string {
  if (total === 0) {
    return STAGES[stage];
  }
  // Loading counts bytes, so it is shown in percent.
  if (stage === 'load') {
    return `${STAGES[stage]}, ${Math.floor((100 * done) / total)} %`;
  }
  return stage === 'train' ? `${STAGES[stage]}, step ${done} of ${total}` : `${STAGES[stage]}, ${done} of ${total}`;
}

/** Formats the stage of a run, and the remaining time of the whole run if it is known. */
export function formatProgress(progress: Pick<RunProgress, 'stage' | 'done' | 'total' | 'remainingSeconds'>): string {
  const remaining = formatRemaining(progress.remainingSeconds);
  return `${formatStage(progress)}${remaining === '' ? '' : `, ${remaining}`}`;
}

/** Formats the job in progress and the queue in one line. @param latest the newest progress of that job */
export function formatQueue(
  job: Pick<RunJob, 'title' | 'waitingFor'> | null,
  latest: Pick<RunProgress, 'stage' | 'done' | 'total' | 'remainingSeconds'> | null,
  queued: readonly Pick<RunJob, 'title'>[],
): string {
  const named = ({ title }: Pick<RunJob, 'title'>): string => `"${toOneLine(title, TITLE)}"`;
  const now =
    job === null
      ? 'starting'
      : `${named(job)}: ${job.waitingFor ?? (latest === null ? 'starting' : formatProgress(latest).replace(/^./u, (first) => first.toLowerCase()))}`;
  const [next, ...others] = queued;
  if (next === undefined) {
    return now;
  }
  return `${now}; queued: ${named(next)}${others.length === 0 ? '' : ` and ${others.length} more`}`;
}

/** Returns the progress of a run in percent. Each stage has a fixed share, since its time is unknown. */
export function estimateOverallPercent({ stage, done, total }: Pick<RunProgress, 'stage' | 'done' | 'total'>): number {
  const [from, to] = SHARES[stage];
  return from + (total === 0 ? 0 : ((to - from) * done) / total);
}
