/** Reading messages: one, its relatives, windows of a transcript tree, and search. */
import type { Credit, Decision, Message, MessagePage, Sampling } from '../shared/records.ts';
import { checkedPage, notFound } from './rows.ts';
import { guarded } from './sqlite.ts';
import type { Session } from './sqlite.ts';
import { float32Of, int32Of } from './tokens.ts';
import { buildTree } from './tree.ts';
import type { LeafEpisode, Tree, TreeRow } from './tree.ts';
import type { Page, StoreReader, TreeGroup } from './types.ts';

type MessageReaders = Pick<StoreReader, 'decision' | 'message' | 'children' | 'chain' | 'transcript' | 'searchMessages'>;

type MessageRow = Omit<Message, 'return' | 'leaves' | 'credit'>;
type DecisionRow = Omit<Decision, 'tokens' | 'logprobs' | 'sampling' | 'return' | 'leaves'> & Sampling & {
  readonly tokens: Buffer;
  readonly logprobs: Buffer;
};
interface SearchParameters extends Page {
  readonly match: string;
  readonly run: string | null;
  readonly eventType: string | null;
}

const MESSAGE = `
  decision.id, decision.run, phase, decision.iteration, instance.uid_sha AS instance, snapshot.weights AS snapshot, event_type AS eventType,
  turn, position, parent, bucket, sibling_index AS siblingIndex, context.key AS contextKey, text.body AS text, finish`;
const FROM = `
  FROM decision
  JOIN instance ON instance.id = decision.instance
  JOIN snapshot ON snapshot.id = decision.snapshot
  JOIN context ON context.id = decision.context
  JOIN text ON text.id = decision.message`;
const FOUND = `
  FROM message_search JOIN decision ON decision.message = message_search.rowid
  WHERE message_search MATCH @match AND (@run IS NULL OR decision.run = @run) AND (@eventType IS NULL OR decision.event_type = @eventType)`;

/** The estimator whose credit a message shows. */
export const SHOWN_ESTIMATOR = 'loo';

/** The trees of recently shown transcripts; rows are never changed, so a tree is stale only when rows were added. */
const KEPT_TREES = 8;

/** Answers which tree a group's decisions form. */
export type TreeOf = (group: TreeGroup) => Tree;

/** The newest credit of an alternative in a bucket by the estimator that messages show. */
export type CreditOf = (bucket: number, decision: number) => Credit | null;

/** Reads the tree of a group, or takes it from the few last read. */
export function treeReader({ db }: Session): TreeOf {
  const group = 'run = @run AND phase = @phase AND iteration = @iteration AND instance = (SELECT id FROM instance WHERE uid_sha = @instance)';
  const rows = db.prepare<[TreeGroup], TreeRow>(`SELECT id, parent, sibling_index AS siblingIndex FROM decision WHERE ${group}`);
  const episodes = db.prepare<[TreeGroup], LeafEpisode>(`SELECT leaf, return, evaluator_calls AS evaluatorCalls FROM episode WHERE ${group} ORDER BY id`);
  const newest = db.prepare<[TreeGroup], string>(`
    SELECT (SELECT coalesce(max(id), 0) FROM decision WHERE ${group}) || ' ' || (SELECT coalesce(max(id), 0) FROM episode WHERE ${group})`).pluck();
  // A committed id is never used again, so the newest ones name the group and its state at once.
  const kept = new Map<string, Tree>();

  return ({ run, phase, iteration, instance }) => {
    const asked = { run, phase, iteration, instance };
    const state = newest.get(asked) ?? '';
    const tree = kept.get(state) ?? buildTree(rows.all(asked), episodes.all(asked));
    if (db.inTransaction) {
      return tree;
    }
    kept.delete(state);
    kept.set(state, tree);
    const [oldest] = kept.keys();
    if (kept.size > KEPT_TREES && oldest !== undefined) {
      kept.delete(oldest);
    }
    return tree;
  };
}

/** Reads the credit that a message shows. */
export function creditReader({ db }: Session): CreditOf {
  const latest = db.prepare<[number, number], Credit>(`
    SELECT estimator, value, low, high, n, evaluator_calls AS evaluatorCalls, interval FROM credit
    WHERE bucket = ? AND decision = ? AND estimator = '${SHOWN_ESTIMATOR}' ORDER BY id DESC LIMIT 1`);
  return (bucket, decision) => latest.get(bucket, decision) ?? null;
}

/** The readers of messages. */
export function messageReaders(session: Session, treeOf: TreeOf, creditOf: CreditOf): MessageReaders {
  const { db } = session;
  const message = db.prepare<[number], MessageRow>(`SELECT ${MESSAGE}, length(decision.tokens) / 4 AS tokenCount ${FROM} WHERE decision.id = ?`);
  const decision = db.prepare<[number], DecisionRow>(`
    SELECT ${MESSAGE}, environment, stream_key AS streamKey, temperature, top_p AS topP, top_k AS topK, max_new_tokens AS maxNewTokens,
      prompt_tokens AS promptTokens, reused_tokens AS reusedTokens, token_hash AS tokenHash, tokens, logprobs,
      (SELECT body FROM text WHERE text.id = context.text) AS context
    ${FROM} WHERE decision.id = ?`);
  const children = db.prepare<[number], number>('SELECT id FROM decision WHERE parent = ? ORDER BY phase DESC, iteration, sibling_index, id').pluck();
  const chain = db.prepare<[number], number>(`
    WITH RECURSIVE path (id, parent, depth) AS (
      SELECT id, parent, 0 FROM decision WHERE id = ?
      UNION ALL SELECT decision.id, decision.parent, depth + 1 FROM path JOIN decision ON decision.id = path.parent
    )
    SELECT id FROM path ORDER BY depth DESC`).pluck();
  const search = db.prepare<[SearchParameters], number>(`SELECT decision.id ${FOUND} ORDER BY rank, decision.id DESC LIMIT @limit OFFSET @offset`).pluck();
  const countFound = db.prepare<[Omit<SearchParameters, keyof Page>], number>(`SELECT count(*) ${FOUND}`).pluck();

  function messageOf(id: number): Message {
    const row = message.get(id) ?? notFound(session, 'message', id);
    return { ...row, ...treeOf(row).outcome(id), credit: row.bucket === null ? null : creditOf(row.bucket, id) };
  }

  return {
    message: guarded(session, messageOf),
    decision: guarded(session, (id) => {
      const { temperature, topP, topK, maxNewTokens, tokens, logprobs, ...row } = decision.get(id) ?? notFound(session, 'message', id);
      return {
        ...row,
        tokens: int32Of(tokens),
        logprobs: float32Of(logprobs),
        sampling: { temperature, topP, topK, maxNewTokens },
        ...treeOf(row).outcome(id),
      };
    }),
    children: guarded(session, (id) => children.all(id).map(messageOf)),
    chain: guarded(session, (leaf) => {
      const ids = chain.all(leaf);
      return ids.length === 0 ? notFound(session, 'message', leaf) : ids.map(messageOf);
    }),
    transcript: guarded(session, (query) => {
      const { offset, limit } = checkedPage(query);
      const { order } = treeOf(query);
      return { total: order.length, messages: order.slice(offset, offset + limit).map(messageOf) };
    }),
    searchMessages: guarded(session, ({ query, run = null, eventType = null, offset, limit }): MessagePage => {
      const page = checkedPage({ offset, limit });
      const match = matchOf(query);
      const found = countFound.get({ match, run, eventType }) ?? 0;
      return { total: found, messages: search.all({ match, run, eventType, ...page }).map(messageOf) };
    }),
  };
}

/**
 * The FTS5 expression for what a user typed: each word is a quoted prefix, all must be found. FTS5 passes over a quoted word
 * without a letter or digit beside others, and finds nothing for it alone.
 */
function matchOf(query: string): string {
  return query
    .split(/[\s\0]+/u)
    .map((word) => `"${word.replaceAll('"', '""')}"*`)
    .join(' ');
}
