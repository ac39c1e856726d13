/** Thread that reads the data files of a configuration and posts a sentence on their overlap, or null. */

import { parentPort, workerData } from 'node:worker_threads';
import { loadProblems } from '../../tasks/files/load.ts';
import { overlapReport, overlapSentence, WAYS_OUT } from '../../tasks/overlap.ts';
import type { OverlapQuestion } from './overlap.ts';

/** Returns null for data files that cannot be read, which are reported elsewhere. */
async function readOverlapSentence({
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

// Safe cast: only overlap.ts starts this thread.
parentPort?.postMessage(await readOverlapSentence(workerData as OverlapQuestion));
