/** Progress of a run, in words and in percent. */
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { remainingWords } from '../../shared/text/times.ts';

const STAGES = {
  load: 'Loading',
  'evaluate-before': 'Evaluation before',
  train: 'Training',
  'evaluate-after': 'Evaluation after',
} as const;
const SHARES = { load: [0, 5], 'evaluate-before': [5, 15], train: [15, 85], 'evaluate-after': [85, 100] } as const;

/** The stage of a run with its place in it. */
export function stageWords({ stage, done, total }: Pick<RunProgress, 'stage' | 'done' | 'total'>): string {
  if (total === 0) {
    return STAGES[stage];
  }
  // Loading counts bytes.
  if (stage === 'load') {
    return `${STAGES[stage]}, ${String(Math.floor((100 * done) / total))} %`;
  }
  return stage === 'train'
    ? `${STAGES[stage]}, step ${String(done)} of ${String(total)}`
    : `${STAGES[stage]}, ${String(done)} of ${String(total)}`;
}

/** The stage of a run with what remains of the whole run, where that is known. */
export function progressWords(progress: Pick<RunProgress, 'stage' | 'done' | 'total' | 'remainingSeconds'>): string {
  const remaining = remainingWords(progress.remainingSeconds);
  return `${stageWords(progress)}${remaining === '' ? '' : `, ${remaining}`}`;
}

/** Progress of a whole run, in percent; stages are given shares, for nobody knows beforehand how long each takes. */
export function overallPercent({ stage, done, total }: Pick<RunProgress, 'stage' | 'done' | 'total'>): number {
  const [from, to] = SHARES[stage];
  return from + (total === 0 ? 0 : ((to - from) * done) / total);
}
