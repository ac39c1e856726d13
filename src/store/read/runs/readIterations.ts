/** Reads a run to resume it: the data that a training iteration learned from, and the cost of the run. */

import { withStoreErrors } from '../../files/sqlite.ts';
import type { Session } from '../../files/sqlite.ts';
import { contextReader } from '../../tables/contextBases.ts';
import { decodeFloat32, decodeInt32 } from '../../tokens.ts';
import type {
  EpisodeCost,
  EpisodeRule,
  MessagePlace,
  PositionCost,
  ReplayCost,
  StoreReader,
  TrainingMessage,
} from '../../types.ts';

type MessageRow = Omit<TrainingMessage, 'context' | 'tokens' | 'logprobs'> & {
  readonly context: number;
  readonly tokens: Buffer;
  readonly logprobs: Buffer;
};

/** True if a message was reused from an equal request: it reused more tokens than its prompt. */
const REUSED = 'reused_tokens > prompt_tokens';
const sumSql = (what: string, where: string): string => `coalesce(sum(${what}) FILTER (WHERE ${where}), 0)`;
const TOKENS = `${sumSql('prompt_tokens', `NOT ${REUSED}`)} AS promptTokens, ${sumSql('reused_tokens', `NOT ${REUSED}`)} AS reusedTokens,
      ${sumSql('length(tokens) / 4', `NOT ${REUSED}`)} AS completionTokens, ${sumSql('length(tokens) / 4', REUSED)} AS reusedCompletionTokens`;

export function iterationReaders(
  session: Session,
): Pick<
  StoreReader,
  'trainingMessages' | 'learnedReturns' | 'learnedRules' | 'learnedPlaces' | 'costs' | 'replayCosts' | 'episodeCosts'
> {
  const { db } = session;
  const contextOf = contextReader(session);
  // The iteration learned from the first credit of the estimator, not from later ones.
  const bound = (stage: string): string =>
    `SELECT first_decision FROM stage WHERE run = @run AND iteration = @iteration AND stage = ${stage}`;
  // The unary plus keeps SQLite from choosing an index by row number.
  const messages = db.prepare<[{ run: string; iteration: number; estimator: string; stage: number }], MessageRow>(`
    SELECT decision.bucket AS bucket, decision.id AS message, decision.parent AS parent, uid_sha AS problem,
      decision.event_type AS role, turn, position, snapshot.weights AS snapshot, finish,
      decision.context AS context, prompt_tokens AS promptTokens, tokens, logprobs,
      (SELECT value FROM credit WHERE credit.bucket = decision.bucket AND credit.decision = decision.id AND estimator = @estimator
        ORDER BY credit.id LIMIT 1) AS credit
    FROM decision JOIN instance ON instance.id = decision.instance JOIN snapshot ON snapshot.id = decision.snapshot
    WHERE decision.run = @run AND phase = 'train' AND decision.iteration = @iteration AND decision.bucket IS NOT NULL
      AND +decision.id >= coalesce((${bound('@stage')}), 0) AND +decision.id < coalesce((${bound('@stage + 1')}), ${Number.MAX_SAFE_INTEGER})
    ORDER BY decision.bucket, decision.id`);
  // Messages that are only measured have no bucket.
  const learned = (columns: string): string => `
    SELECT ${columns} FROM episode JOIN decision ON decision.id = leaf
    WHERE episode.run = ? AND episode.phase = 'train' AND episode.iteration = ? AND bucket IS NOT NULL ORDER BY episode.id`;
  const returns = db.prepare<[string, number], number | null>(learned('return')).pluck();
  const rules = db.prepare<[string, number], EpisodeRule>(learned('leaf, rule'));
  const places = db.prepare<[string, number], MessagePlace>(`
    SELECT id AS message, instance AS problem, parent, position FROM decision
    WHERE run = ? AND phase = 'train' AND iteration = ? AND bucket IS NOT NULL ORDER BY id`);
  const costs = db.prepare<[string], PositionCost>(`
    SELECT event_type AS role, position, environment, count(*) AS messages, ${TOKENS}
    FROM decision WHERE run = ? AND phase IN ('evaluate', 'train') GROUP BY event_type, position, environment ORDER BY min(id)`);
  // The round of a replay has the number of its bucket. The buckets are joined first; otherwise, SQLite
  // would search for the bucket of every message.
  const replayCosts = db.prepare<[string], ReplayCost>(`
    SELECT origin, decision.event_type AS role, position, count(*) AS messages, ${TOKENS}
    FROM bucket CROSS JOIN decision ON decision.run = bucket.run AND phase = 'replay' AND decision.iteration = bucket.iteration
    WHERE bucket.run = ? AND origin IN ('request', 'diagnostic') GROUP BY origin, decision.event_type, position ORDER BY min(decision.id)`);
  const episodeCosts = db.prepare<[{ run: string }], EpisodeCost>(`
    SELECT NULL AS origin, position, count(*) AS episodes, sum(evaluator_calls) AS evaluatorCalls
    FROM episode JOIN decision ON decision.id = leaf WHERE episode.run = @run AND episode.phase IN ('evaluate', 'train') GROUP BY position
    UNION ALL
    SELECT origin, position, count(*), sum(evaluator_calls)
    FROM bucket CROSS JOIN episode ON episode.run = bucket.run AND episode.phase = 'replay' AND episode.iteration = bucket.iteration JOIN decision ON decision.id = leaf
    WHERE bucket.run = @run AND origin IN ('request', 'diagnostic') GROUP BY origin, position`);
  return {
    trainingMessages: withStoreErrors(session, (run, iteration, estimator, stage = 0) => {
      // The alternatives of a bucket share one context.
      const contexts = new Map<number, string>();
      return messages.all({ run, iteration, estimator, stage }).map(({ tokens, logprobs, context, ...row }) => {
        const text = contexts.get(context) ?? contextOf(context);
        contexts.set(context, text);
        return { ...row, context: text, tokens: decodeInt32(tokens), logprobs: decodeFloat32(logprobs) };
      });
    }),
    learnedReturns: withStoreErrors(session, (run, iteration) => returns.all(run, iteration)),
    learnedRules: withStoreErrors(session, (run, iteration) => rules.all(run, iteration)),
    learnedPlaces: withStoreErrors(session, (run, iteration) => places.all(run, iteration)),
    costs: withStoreErrors(session, (run) => costs.all(run)),
    replayCosts: withStoreErrors(session, (run) => replayCosts.all(run)),
    episodeCosts: withStoreErrors(session, (run) => episodeCosts.all({ run })),
  };
}
