/** The taxonomy class of each problem of a run by the paper's thresholds, as the list of episodes has it. */
import { setImmediate } from 'node:timers/promises';
import { classifyStudy, studyBucket, type Verdict } from '../../diagnostics/taxonomy.ts';
import type { StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { problemClasses } from './taxonomyClasses.ts';
import { readBuckets } from './taxonomyView.ts';

/** Buckets classified before others get their turn. */
const TURN = 100;

/**
 * Class by problem (uidSha), of those that training or a diagnostic sample has a bucket of. Replays that somebody asked
 * for have no part in it: what a search sampled does not choose its own group.
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
  const classes = problemClasses(
    buckets.map(({ problem }) => problem),
    verdicts,
  );
  return new Map(classes.map(({ problem, name }) => [problem, name]));
}
