/** Reads buckets: their alternatives, replays, credits and verifications. */

import type { Phase } from '../../domain/episode.ts';
import type { FinishReason } from '../../domain/message.ts';
import type { Alternative, Bucket, BucketOrigin, BucketView, Replay } from '../../domain/replay.ts';
import { summarizeVerdicts } from '../../domain/verification.ts';
import { withStoreErrors, type Session } from '../files/sqlite.ts';
import { checkPage, throwNotFound } from '../rows.ts';
import { toDifference, type DifferenceColumns } from '../tables/verificationDifferences.ts';
import type { RoleContext, Page, ReplayVerdict, StoredCredit, StoreReader, Verification } from '../types.ts';
import type { ReadContinuation } from './readContinuations.ts';
import type { ReadHeadline } from './readHeadlines.ts';
import type { ReadCredit } from './readMessages.ts';
import type { ReadTree } from './readTrees.ts';

type BucketReaders = Pick<
  StoreReader,
  | 'bucket'
  | 'bucketView'
  | 'bucketsFor'
  | 'bucketsOfContext'
  | 'requestsOf'
  | 'bucketsOfRun'
  | 'countBuckets'
  | 'replaysOfBucket'
  | 'replaysOfRun'
  | 'countReplays'
  | 'credits'
  | 'verifications'
  | 'verdictsOfBucket'
  | 'newestVerification'
  | 'continuationOf'
>;

interface AlternativeRow {
  readonly message: number;
  readonly index: number;
  readonly original: 0 | 1;
  readonly text: string;
  readonly tokenCount: number;
  readonly finish: FinishReason;
  readonly phase: Phase;
  readonly iteration: number;
}
interface ReplayOutcome extends ReplayVerdict {
  readonly return: number | null;
  readonly evaluatorCalls: number;
}
interface RunOrigin {
  readonly run: string;
  readonly origin: BucketOrigin | null;
}

const BUCKET = `
  SELECT bucket.id, bucket.run, origin, bucket.iteration, uid_sha AS problem, event_type AS role, turn, context_key AS contextKey,
    weights AS snapshot, message
  FROM bucket JOIN instance ON instance.id = bucket.instance JOIN snapshot ON snapshot.id = bucket.snapshot`;
const REPLAY = `
  SELECT replay.id, replay.bucket, alternative, replay_index AS replayIndex, leaf, return, evaluator_calls AS evaluatorCalls,
    token_hash AS tokenHash, environment
  FROM replay`;

/** Readers of data on buckets that other files provide. */
interface BucketDataReaders {
  readonly creditOf: ReadCredit;
  readonly headlineOf: ReadHeadline;
  readonly continuationOf: ReadContinuation;
}

export function bucketReaders(
  session: Session,
  treeOf: ReadTree,
  { creditOf, headlineOf, continuationOf }: BucketDataReaders,
): BucketReaders {
  const { db } = session;
  const bucket = db.prepare<[number], Bucket>(`${BUCKET} WHERE bucket.id = ?`);
  const alternatives = db.prepare<[{ bucket: number }], AlternativeRow>(`
    WITH member (decision, idx, original) AS (
      SELECT decision, idx, original FROM alternative WHERE bucket = @bucket
      UNION ALL
      SELECT id, sibling_index, 0 FROM decision
      WHERE bucket = @bucket AND id NOT IN (SELECT decision FROM alternative WHERE bucket = @bucket)
    )
    SELECT decision.id AS message, idx AS "index", original, text.body AS text,
      length(decision.tokens) / 4 AS tokenCount, finish, phase, iteration
    FROM member JOIN decision ON decision.id = member.decision JOIN text ON text.id = decision.message
    ORDER BY idx, original DESC, decision.id`);
  const outcomeRows = db.prepare<[number], Omit<ReplayOutcome, 'difference'> & DifferenceColumns>(`
    SELECT alternative, leaf, replay_index AS replayIndex, return, evaluator_calls AS evaluatorCalls, result, coalesce(detail, '') AS detail, kind, token
    FROM replay LEFT JOIN verification ON verification.id = (SELECT max(id) FROM verification WHERE verification.replay = replay.id)
    LEFT JOIN verification_difference ON verification_difference.verification = verification.id
    WHERE bucket = ? ORDER BY alternative, replay_index`);
  const outcomesOf = (bucket: number): ReplayOutcome[] =>
    outcomeRows.all(bucket).map(({ kind, token, ...row }) => ({ ...row, difference: toDifference({ kind, token }) }));
  const newestVerification = db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM verification').pluck();
  const owner = db.prepare<[number], { bucket: number | null }>('SELECT bucket FROM decision WHERE id = ?');
  const sameContext = db
    .prepare<[{ message: number }], number>(
      `
    SELECT bucket.id FROM decision JOIN context ON context.id = decision.context
    JOIN bucket ON bucket.run = decision.run AND bucket.event_type = decision.event_type AND bucket.context_key = context.key
    WHERE decision.id = @message AND (bucket.origin = 'request' OR bucket.id = decision.bucket) ORDER BY bucket.id`,
    )
    .pluck();
  const ofContext = db.prepare<[RoleContext & Page], Bucket>(`
    ${BUCKET} WHERE bucket.run = @run AND event_type = @role AND context_key = @contextKey ORDER BY bucket.id LIMIT @limit OFFSET @offset`);
  const requests = db.prepare<[string, string], Bucket>(`
    ${BUCKET} WHERE bucket.run = ? AND origin = 'request' AND bucket.instance = (SELECT id FROM instance WHERE uid_sha = ?) ORDER BY bucket.id`);
  // Each part is ordered by the index (run, origin), so a page needs no sorting of the whole run.
  const ofRun = db
    .prepare<[RunOrigin & Page], number>(
      `
    SELECT id FROM bucket WHERE run = @run AND origin = 'training' AND coalesce(@origin, origin) = origin
    UNION ALL
    SELECT id FROM bucket WHERE run = @run AND origin = 'request' AND coalesce(@origin, origin) = origin
    UNION ALL
    SELECT id FROM bucket WHERE run = @run AND origin = 'diagnostic' AND coalesce(@origin, origin) = origin
    ORDER BY id LIMIT @limit OFFSET @offset`,
    )
    .pluck();
  const countOfRun = db
    .prepare<[RunOrigin], number>(
      'SELECT count(*) FROM bucket WHERE run = @run AND (@origin IS NULL OR origin = @origin)',
    )
    .pluck();
  const replaysOfBucket = db.prepare<[number], Replay>(
    `${REPLAY} WHERE replay.bucket = ? ORDER BY alternative, replay_index`,
  );
  const replaysOfRun = db.prepare<[{ run: string } & Page], Replay>(`
    ${REPLAY} JOIN bucket ON bucket.id = replay.bucket WHERE bucket.run = @run ORDER BY replay.id LIMIT @limit OFFSET @offset`);
  const countReplays = db
    .prepare<[RunOrigin], number>(
      'SELECT count(*) FROM bucket JOIN replay ON replay.bucket = bucket.id WHERE bucket.run = @run AND (@origin IS NULL OR origin = @origin)',
    )
    .pluck();
  const credits = db.prepare<[number], StoredCredit>(`
    SELECT bucket, decision AS message, estimator, value, low, high, n, evaluator_calls AS evaluatorCalls, interval
    FROM credit WHERE bucket = ? ORDER BY id`);
  const verifications = db.prepare<[number], Omit<Verification, 'difference'> & DifferenceColumns>(`
    SELECT id, replay, result, detail, environment, kind, token
    FROM verification LEFT JOIN verification_difference ON verification_difference.verification = verification.id WHERE replay = ? ORDER BY id`);

  function bucketOf(id: number): Bucket {
    return bucket.get(id) ?? throwNotFound(session, 'bucket', id);
  }

  function viewOf(id: number, most = Infinity, own: number | null = null): BucketView {
    const found = bucketOf(id);
    const replayed = Map.groupBy(outcomesOf(id), (outcome) => outcome.alternative);
    const all = alternatives.all({ bucket: id });
    const shown = all.length <= most ? all : all.filter(({ message }, place) => place < most || message === own);
    const view = {
      ...found,
      alternatives: shown.map((row) => alternativeOf(found, row, replayed.get(row.message) ?? [])),
      continuation: continuationOf(id),
    };
    return shown.length === all.length ? view : { ...view, omitted: all.length - shown.length };
  }

  function alternativeOf(of: Bucket, row: AlternativeRow, replays: readonly ReplayOutcome[]): Alternative {
    const { phase, iteration, original, ...shown } = row;
    // A training bucket has no replays. Its alternatives are scored by the episodes below them.
    const inTree = replays.length === 0 && of.origin === 'training';
    const scored = inTree
      ? treeOf({ run: of.run, phase, iteration, problem: of.problem }).episodes(row.message)
      : replays;
    return {
      ...shown,
      original: original === 1,
      returns: scored.map((outcome) => outcome.return),
      evaluatorCalls: scored.reduce((sum, outcome) => sum + outcome.evaluatorCalls, 0),
      credit: headlineOf(of.id, row.message),
      bucketCredit: creditOf(of.id, row.message),
      verified: judgeReplays(replays),
      verification: summarizeVerdicts(replays),
    };
  }

  return {
    bucket: withStoreErrors(session, bucketOf),
    bucketView: withStoreErrors(session, (id) => viewOf(id)),
    bucketsFor: withStoreErrors(session, (message, most) => {
      if (owner.get(message) === undefined) {
        throwNotFound(session, 'message', message);
      }
      return sameContext.all({ message }).map((id) => viewOf(id, most, message));
    }),
    bucketsOfContext: withStoreErrors(session, ({ run, role, contextKey, ...page }) =>
      ofContext.all({ run, role, contextKey, ...checkPage(page) }),
    ),
    requestsOf: withStoreErrors(session, (run, uidSha) => requests.all(run, uidSha)),
    bucketsOfRun: withStoreErrors(session, ({ run, origin = null, ...page }) =>
      ofRun.all({ run, origin, ...checkPage(page) }).map((id) => viewOf(id)),
    ),
    countBuckets: withStoreErrors(session, ({ run, origin = null }) => countOfRun.get({ run, origin }) ?? 0),
    replaysOfBucket: withStoreErrors(session, (id) => replaysOfBucket.all(id)),
    replaysOfRun: withStoreErrors(session, (run, offset, limit) =>
      replaysOfRun.all({ run, ...checkPage({ offset, limit }) }),
    ),
    countReplays: withStoreErrors(session, (run, origin = null) => countReplays.get({ run, origin }) ?? 0),
    credits: withStoreErrors(session, (id) => credits.all(id)),
    verifications: withStoreErrors(session, (replay) =>
      verifications
        .all(replay)
        .map(({ kind, token, ...row }) => ({ ...row, difference: toDifference({ kind, token }) })),
    ),
    verdictsOfBucket: withStoreErrors(session, (id) =>
      outcomesOf(id).map(({ alternative, leaf, replayIndex, result, detail, difference }) => ({
        alternative,
        leaf,
        replayIndex,
        result,
        detail,
        difference,
      })),
    ),
    continuationOf: withStoreErrors(session, continuationOf),
    newestVerification: withStoreErrors(session, () => newestVerification.get() ?? 0),
  };
}

/** Returns true if all measured replays were identical, false if not, null if none was measured. */
function judgeReplays(replays: readonly ReplayOutcome[]): boolean | null {
  const measured = replays.filter((replay) => replay.result === 'identical' || replay.result === 'different');
  return measured.length === 0 ? null : measured.every((replay) => replay.result === 'identical');
}
