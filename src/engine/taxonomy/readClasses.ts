/** Reads the taxonomy class of each problem of a run, by the paper's thresholds. */

import { setImmediate } from 'node:timers/promises';
import { classifyStudy, studyBucket, type Verdict } from '../../diagnostics/taxonomy.ts';
import type { StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { findProblemClasses } from './taxonomyClasses.ts';
import { readBuckets } from './taxonomyView.ts';

/** Buckets to classify before other work gets its turn. */
const TURN = 100;

/**
 * Returns the class by problem (uidSha) for problems with a bucket of training or of a diagnostic
 * sample. Requested replays do not count, so that the samples of a search do not influence its own
 * groups.
 */
export async function readProblemClasses(
  store: StoreReader,
  run: string,
  protocol: Protocol,
): Promise<ReadonlyMap<string, string>> {
  const { buckets } = await readBuckets(store, run, protocol);
  const verdicts: Verdict[] = [];
  for (const [index, bucket] of buckets.entries()) {
    if (index % TURN === TURN - 1) {
      await setImmediate();
    }
    verdicts.push(classifyStudy(studyBucket(bucket)));
  }
  const classes = findProblemClasses(
    buckets.map(({ problem }) => problem),
    verdicts,
  );
  return new Map(classes.map(({ problem, name }) => [problem, name]));
}
