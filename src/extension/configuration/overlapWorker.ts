/** A thread that reads the data files of a configuration and says what they have in common; it ends with its answer. */
import { parentPort, workerData } from 'node:worker_threads';
import { loadProblems } from '../../tasks/files/load.ts';
import { overlapReport, overlapSentence, WAYS_OUT } from '../../tasks/overlap.ts';
import type { OverlapQuestion } from './overlap.ts';

/** Data files that cannot be read have problems of their own: nothing is said of them here. */
async function answer({
  train,
  evaluation,
  limit,
  format,
  showTests,
  refused,
}: OverlapQuestion): Promise<string | null> {
  try {
    const [{ problems: trained }, { problems: held }] = [
      await loadProblems(train, { format, showTests }),
      await loadProblems(evaluation, { format, showTests, limit }),
    ];
    const sentence = overlapSentence(overlapReport(trained, held));
    return sentence === null ? null : refused ? `${sentence}: ${WAYS_OUT}` : `${sentence}.`;
  } catch {
    return null;
  }
}

// The one who starts the thread is a file of this folder.
parentPort?.postMessage(await answer(workerData as OverlapQuestion));
