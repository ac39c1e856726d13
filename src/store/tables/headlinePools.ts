/** Builds the pool of replays for a headline from the rows of the store. */

import { EDITED, type FinishReason } from '../../domain/message.ts';
import type { CreditPool, PoolBucket, PoolMember, PoolResult, ReturnRange } from '../../shared/credit/creditPool.ts';
import { IS_OTHER } from '../conditions.ts';

/**
 * Returns the SQL of a key that is equal for messages of equal tokens. Without tokens, it is equal
 * for messages of equal text, if the same result follows.
 * @param said the alias of the row of `decision`
 */
export const tokenKeySql = (said: string): string =>
  `iif(length(${said}.tokens) = 0, 'text ' || ${said}.message || iif(${said}.stream_key GLOB '${EDITED}*', ' ' || ${said}.stream_key, ''), ${said}.token_hash)`;

export interface ResultRow {
  readonly bucket: number;
  readonly origin: string;
  readonly message: number;
  readonly key: string;
  readonly finish: FinishReason;
  /** 1 if the message was made for the bucket. Else `asMade` is 1 if its own policy continued it. */
  readonly inBucket: 0 | 1;
  readonly asMade: 0 | 1;
  readonly atTemperature: 0 | 1;
  readonly ofRun: 0 | 1;
  readonly replay: number;
  readonly replayIndex: number;
  readonly leaf: number;
  readonly leafParent: number | null;
  readonly source: string;
  /** The stream of the message itself, or empty if it is unknown. */
  readonly drawSource: string;
  readonly value: number | null;
  readonly evaluatorCalls: number;
}

export const RESULTS = `
  SELECT bucket.id AS bucket, origin, said.id AS message, ${tokenKeySql('said')} AS key,
    said.finish AS finish, said.bucket IS bucket.id AS inBucket,
    iif(said.bucket IS bucket.id, 1, NOT ${IS_OTHER}) AS asMade, said.temperature = bucket_pool.temperature AS atTemperature, said.phase <> 'replay' AS ofRun, replay.id AS replay, replay_index AS replayIndex, leaf,
    leaf.parent AS leafParent, leaf.stream_key AS source, said.stream_key AS drawSource,
    replay.return AS value, replay.evaluator_calls AS evaluatorCalls
  FROM bucket_pool CROSS JOIN bucket ON bucket.id = bucket_pool.bucket CROSS JOIN replay ON replay.bucket = bucket.id
  CROSS JOIN decision AS said ON said.id = replay.alternative CROSS JOIN decision AS leaf ON leaf.id = replay.leaf
  WHERE bucket_pool.pool = ? ORDER BY bucket.id, inBucket, said.sibling_index, said.id, replay_index`;

interface FoundPool {
  readonly pool: CreditPool;
  readonly rowCount: number;
  /** For each key, the earliest message of the run itself that has this distribution. */
  readonly messages: ReadonlyMap<string, number>;
}

/**
 * Builds a pool from its rows.
 * @param branchOf returns the branch of a result; results of one branch are not independent
 */
export function buildCreditPool(
  rows: readonly ResultRow[],
  range: ReturnRange | null,
  branchOf: (row: ResultRow) => number,
): FoundPool {
  const messages = new Map<string, number>();
  const drawn = new Set<number>();
  /** The bucket of every draw. Equal contexts of one iteration may have drawn the same numbers. */
  const drawBuckets = new Map<string, number>();
  const buckets: PoolBucket[] = [];
  for (const [id, inBucket] of Map.groupBy(rows, ({ bucket }) => bucket)) {
    const members: PoolMember[] = [];
    for (const [message, own] of Map.groupBy(inBucket, (row) => row.message)) {
      const [first] = own;
      if (first === undefined) {
        continue;
      }
      // The message of a diagnostic bucket was sampled by the policy, not selected for its content. It is
      // one draw, even if it is in several buckets.
      const sampled =
        first.finish !== 'typed' &&
        (first.inBucket === 1 || (first.origin === 'diagnostic' && first.atTemperature === 1));
      const draw =
        sampled && first.inBucket === 1 && first.drawSource !== '' ? `${first.key} ${first.drawSource}` : null;
      const repeated = draw !== null && (drawBuckets.get(draw) ?? id) !== id;
      if (draw !== null && !repeated) {
        drawBuckets.set(draw, id);
      }
      members.push({
        key: first.key,
        drawn: sampled && !drawn.has(message),
        repeated,
        results: toPoolResults(own, branchOf),
      });
      if (sampled) {
        drawn.add(message);
      }
      const known = messages.get(first.key);
      if (
        first.ofRun === 1 &&
        (first.inBucket === 1 || first.asMade === 1) &&
        (known === undefined || message < known)
      ) {
        messages.set(first.key, message);
      }
    }
    buckets.push({ id, members });
  }
  return {
    pool: { buckets, terminal: rows.length > 0 && rows.every(({ leaf, message }) => leaf === message), range },
    rowCount: rows.length,
    messages,
  };
}

/** Returns results by stream: the number of the replay, or of a branch if branches have several. */
function toPoolResults(rows: readonly ResultRow[], branchOf: (row: ResultRow) => number): PoolResult[] {
  const branches = rows.map(branchOf);
  const numbers = new Map([...new Set(branches)].map((branch, index) => [branch, index]));
  const isFlat = numbers.size === rows.length;
  return rows.map(({ replayIndex, source, value, evaluatorCalls }, index) => ({
    stream: isFlat ? replayIndex : (numbers.get(branches[index] ?? 0) ?? 0),
    source: source === '' ? null : source,
    value,
    evaluatorCalls,
  }));
}
