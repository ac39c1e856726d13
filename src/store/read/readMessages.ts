/** Reads messages: single ones, their relatives, and windows of a transcript tree. */

import type { FullMessage, Message, Sampling } from '../../domain/message.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import { SHOWN_FIRST } from '../conditions.ts';
import { withStoreErrors, type Session } from '../files/sqlite.ts';
import { checkPage, requireParentBefore, throwNotFound } from '../rows.ts';
import { contextReader } from '../tables/contextBases.ts';
import { STAGE_OF_DECISION } from '../tables/stages.ts';
import { decodeFloat32, decodeInt32 } from '../tokens.ts';
import type { Tree } from '../tree.ts';
import type { StoreReader, TreeGroup } from '../types.ts';
import { HEADLINE_COLUMNS, takeHeadline, WITH_HEADLINE, type HeadlineRow } from './readHeadlines.ts';
import type { ReadTree } from './readTrees.ts';

type MessageReaders = Pick<
  StoreReader,
  'fullMessage' | 'message' | 'messageRun' | 'messages' | 'children' | 'chain' | 'lastMessages' | 'transcript'
>;

type CreditRow = { readonly [Field in keyof Credit]: Credit[Field] | null };
type MessageRow = Omit<Message, 'return' | 'leaves' | 'credit' | 'trainingCredit' | 'stage'> &
  CreditRow &
  HeadlineRow & { readonly stage: number | null };
type FullMessageRow = Omit<FullMessage, 'context' | 'tokens' | 'logprobs' | 'sampling' | 'return' | 'leaves'> &
  Sampling & { readonly context: number; readonly tokens: Buffer; readonly logprobs: Buffer };

const MESSAGE = `
  decision.id, decision.run, phase, decision.iteration, instance.uid_sha AS problem, snapshot.weights AS snapshot, event_type AS role,
  turn, position, parent, decision.bucket, sibling_index AS siblingIndex, context.key AS contextKey, text.body AS text, finish`;
const JOINED = `
  JOIN instance ON instance.id = decision.instance
  JOIN snapshot ON snapshot.id = decision.snapshot
  JOIN context ON context.id = decision.context
  JOIN text ON text.id = decision.message`;
const CREDIT =
  'credit.estimator, credit.value, credit.low, credit.high, credit.n, credit.evaluator_calls AS evaluatorCalls, credit.interval';

/** Returns the newest credit of an alternative in a bucket, by the estimator that messages show first. */
export type ReadCredit = (bucket: number, message: number) => Credit | null;

/**
 * Returns messages in the order of the ids.
 * @throws C3Error('input') if one is not in the store
 */
export type ReadMessages = (ids: readonly number[]) => Message[];

export function creditReader({ db }: Session): ReadCredit {
  const latest = db.prepare<[number, number], Credit>(`
    SELECT ${CREDIT} FROM credit WHERE bucket = ? AND decision = ? ${SHOWN_FIRST}`);
  return (bucket, message) => latest.get(bucket, message) ?? null;
}

/** Reads many messages with one statement, which is much faster than one statement for each. */
export function messageReader(session: Session, treeOf: ReadTree): ReadMessages {
  const rowsOf = session.db.prepare<[string], MessageRow>(`
    SELECT ${MESSAGE}, ${STAGE_OF_DECISION} AS stage, length(decision.tokens) / 4 AS tokenCount, ${CREDIT}, ${HEADLINE_COLUMNS}
    FROM decision ${JOINED}
    LEFT JOIN credit ON decision.phase = 'train' AND credit.id = (
      SELECT min(id) FROM credit WHERE credit.bucket = decision.bucket AND credit.decision = decision.id)
    ${WITH_HEADLINE}
    WHERE decision.id IN (SELECT value FROM json_each(?))`);

  return (ids) => {
    const trees = new Map<string, Tree>();
    const treeAround = ({ run, phase, iteration, problem }: TreeGroup): Tree => {
      const name = `${run} ${phase} ${iteration} ${problem}`;
      const tree = trees.get(name) ?? treeOf({ run, phase, iteration, problem });
      trees.set(name, tree);
      return tree;
    };
    const rows = new Map(rowsOf.all(JSON.stringify(ids)).map((row) => [row.id, requireParentBefore(session, row)]));
    return ids.map((id) => {
      const { credit, rest } = takeHeadline(rows.get(id) ?? throwNotFound(session, 'message', id));
      const { estimator, value, low, high, n, evaluatorCalls, interval, stage, ...row } = rest;
      const credited =
        estimator !== null && value !== null && n !== null && evaluatorCalls !== null && interval !== null;
      const trainingCredit = credited ? { estimator, value, low, high, n, evaluatorCalls, interval } : null;
      return { ...row, ...(stage !== null && { stage }), ...treeAround(row).outcome(id), credit, trainingCredit };
    });
  };
}

export function messageReaders(session: Session, treeOf: ReadTree, messagesOf: ReadMessages): MessageReaders {
  const { db } = session;
  const contextOf = contextReader(session);
  const message = db.prepare<[number], FullMessageRow>(`
    SELECT ${MESSAGE}, environment, stream_key AS streamKey, temperature, top_p AS topP, top_k AS topK, max_new_tokens AS maxNewTokens,
      prompt_tokens AS promptTokens, reused_tokens AS reusedTokens, token_hash AS tokenHash, tokens, logprobs,
      decision.context AS context
    FROM decision ${JOINED} WHERE decision.id = ?`);
  const group = db.prepare<[number], TreeGroup>(`
    SELECT run, phase, iteration, uid_sha AS problem
    FROM decision JOIN instance ON instance.id = decision.instance WHERE decision.id = ?`);
  const runs = db.prepare<[number], string>('SELECT run FROM decision WHERE id = ?').pluck();
  const children = db
    .prepare<[number], number>(
      'SELECT id FROM decision WHERE parent = ? ORDER BY phase DESC, iteration, sibling_index, id',
    )
    .pluck();
  const chain = db
    .prepare<[number], number>(
      `
    WITH RECURSIVE path (id, parent, depth) AS (
      SELECT id, parent, 0 FROM decision WHERE id = ?
      UNION ALL SELECT decision.id, decision.parent, depth + 1 FROM path JOIN decision ON decision.id = path.parent AND decision.id < path.id
    )
    SELECT id FROM path ORDER BY depth DESC`,
    )
    .pluck();

  return {
    message: withStoreErrors(session, (id) => messagesOf([id])[0] ?? throwNotFound(session, 'message', id)),
    messageRun: withStoreErrors(session, (id) => runs.get(id) ?? throwNotFound(session, 'message', id)),
    messages: withStoreErrors(session, (ids) => messagesOf(ids)),
    fullMessage: withStoreErrors(session, (id) => {
      const { temperature, topP, topK, maxNewTokens, tokens, logprobs, context, ...row } = requireParentBefore(
        session,
        message.get(id) ?? throwNotFound(session, 'message', id),
      );
      return {
        ...row,
        context: contextOf(context),
        tokens: decodeInt32(tokens),
        logprobs: decodeFloat32(logprobs),
        sampling: { temperature, topP, topK, maxNewTokens },
        ...treeOf(row).outcome(id),
      };
    }),
    children: withStoreErrors(session, (id) => messagesOf(children.all(id))),
    chain: withStoreErrors(session, (leaf) => {
      const ids = chain.all(leaf);
      return ids.length === 0 ? throwNotFound(session, 'message', leaf) : messagesOf(ids);
    }),
    lastMessages: withStoreErrors(session, (id) => {
      const of = group.get(id) ?? throwNotFound(session, 'message', id);
      return treeOf(of).leaves(id);
    }),
    transcript: withStoreErrors(session, (query) => {
      const { offset, limit } = checkPage(query);
      const { entries } = treeOf(query);
      return { total: entries.length, messages: messagesOf(entries.slice(offset, offset + limit).map(({ id }) => id)) };
    }),
  };
}
