/**
 * Converts trees to rows: messages, episodes, buckets, replays and credits, appended in one
 * transaction per call.
 */

import { hash } from 'node:crypto';
import type { Phase } from '../domain/episode.ts';
import type { NewMessage } from '../domain/message.ts';
import type { NewReplay } from '../domain/replay.ts';
import type { Credit } from '../shared/credit/credit.ts';
import { viewAsBuffer, eventHash, textHash, tokenHash } from '../store/tokens.ts';
import type { StoreWriter } from '../store/types.ts';
import { requireOccurrence, type Protocol } from '../team/protocol.ts';
import {
  alternativeReturns,
  countMessageCalls,
  eventScores,
  findReplays,
  computeReturn,
  type AlternativeReturns,
  type TreeEvent,
  type TreeMessage,
} from './tree.ts';

/** The values that all rows of one round share. */
export interface RoundRecord {
  readonly run: string;
  readonly phase: Phase;
  readonly iteration: number;
  readonly snapshot: string;
  readonly environment: number;
  readonly returnBound: number;
}

/** Returns the credits of a bucket's alternatives, in order, or null for an undefined one. */
export type CreditRule = (alternatives: readonly AlternativeReturns[]) => readonly (Credit | null)[];

/** The same for a group of siblings in a tree. It may use more than their own returns. */
export type TreeCreditRule = (
  alternatives: readonly AlternativeReturns[],
  siblings: readonly TreeMessage[],
) => readonly (Credit | null)[];

/** One sampling group with its credits. */
export interface CreditedGroup {
  readonly messages: readonly TreeMessage[];
  readonly credits: readonly (Credit | null)[];
  readonly bucket: number | null;
}

/** Returns the row of a message. Its parent must be stored. */
export function toMessageRow(
  message: TreeMessage,
  protocol: Protocol,
  round: RoundRecord,
  bucket: number | null,
): NewMessage {
  const occurrence = requireOccurrence(protocol, message.position);
  if (message.parent !== null && message.parent.stored === undefined) {
    throw new Error('A message is stored after its parent.');
  }
  return {
    run: round.run,
    phase: round.phase,
    iteration: round.iteration,
    problem: message.problem.uidSha,
    snapshot: round.snapshot,
    environment: round.environment,
    role: occurrence.role,
    turn: occurrence.turn,
    position: message.position,
    parent: message.parent?.stored ?? null,
    bucket,
    siblingIndex: message.sibling,
    context: message.context,
    contextKey: message.contextKey,
    text: message.answer.text,
    tokens: message.answer.tokens,
    logprobs: message.answer.logprobs,
    streamKey: message.streamKey,
    sampling: message.sampling,
    finish: message.answer.finish,
    promptTokens: message.answer.prompt.length,
    reusedTokens: message.answer.reusedTokens,
  };
}

/** Appends a message with the events before it. Its parent must be stored. Returns its id. */
export function recordMessage(
  store: StoreWriter,
  message: TreeMessage,
  protocol: Protocol,
  round: RoundRecord,
  bucket: number | null,
): number {
  const id = store.insertMessage(toMessageRow(message, protocol, round, bucket));
  message.stored = id;
  recordEvents(
    store,
    round.run,
    { message: id, side: 'before', parent: message.parent?.stored ?? null },
    message.before,
  );
  return id;
}

/** Appends the environment events at the end of an episode. Its leaf must be stored. */
export function recordEnd(store: StoreWriter, leaf: TreeMessage, run: string): void {
  if (leaf.stored !== undefined) {
    recordEvents(store, run, { message: leaf.stored, side: 'after', parent: leaf.stored }, leaf.after);
  }
}

/** Appends environment events that are not stored yet, and links them to their message. */
function recordEvents(
  store: StoreWriter,
  run: string,
  { message, side, parent }: { message: number; side: 'before' | 'after'; parent: number | null },
  events: readonly TreeEvent[] = [],
): void {
  let previous: number | null = null;
  for (const one of events) {
    one.stored ??= store.insertEnvironmentEvent({
      run,
      parent,
      previous,
      event: one.event,
      reward: one.score?.score ?? null,
    });
    previous = one.stored;
  }
  if (previous !== null) {
    store.linkEnvironmentEvent(message, side, previous);
  }
}

/**
 * Appends the messages of a subtree and the episodes at its leaves, without buckets, for
 * evaluations and continuations.
 */
export function recordSubtree(
  store: StoreWriter,
  messages: readonly TreeMessage[],
  protocol: Protocol,
  round: RoundRecord,
): void {
  for (const message of messages) {
    if (message.stored === undefined) {
      recordMessage(store, message, protocol, round, null);
    }
    if (message.children.length === 0) {
      recordEpisode(store, message, round);
    } else {
      recordSubtree(store, message.children, protocol, round);
    }
  }
}

/**
 * Appends the episode that ends in a leaf. Its evaluator calls are the scored messages of its path
 * except those with a reused score. A reused score that several episodes share is subtracted only
 * from the first of them, so that sums over episodes count it once.
 * @param firstThrough returns true if the episode is the first through one of its messages; in a
 *   complete tree, that is the episode of its first leaf
 */
export function recordEpisode(
  store: StoreWriter,
  leaf: TreeMessage,
  round: RoundRecord,
  firstThrough: (message: TreeMessage) => boolean = createFirstLeafTest(leaf),
): void {
  if (leaf.stored === undefined) {
    throw new Error('An episode is stored after its leaf.');
  }
  const rules: string[] = [];
  let reused = 0;
  for (let message: TreeMessage | null = leaf; message !== null; message = message.parent) {
    if (message.score === undefined) {
      continue;
    }
    rules.unshift(message.score.rule);
    if (countMessageCalls(message) === 0 && firstThrough(message)) {
      reused++;
    }
  }
  rules.push(...eventScores(leaf).map(({ rule }) => rule));
  recordEnd(store, leaf, round.run);
  store.insertEpisode({
    run: round.run,
    phase: round.phase,
    iteration: round.iteration,
    problem: leaf.problem.uidSha,
    leaf: leaf.stored,
    return: computeReturn(leaf, round.returnBound),
    rule: rules.join(', '),
    evaluatorCalls: rules.length - reused,
  });
}

/** Returns a function that tells for a message above a leaf if the leaf is the first below it. */
function createFirstLeafTest(leaf: TreeMessage): (message: TreeMessage) => boolean {
  return (message) => {
    for (let below = leaf; below !== message; below = below.parent) {
      if (below.parent === null || below.parent.children[0] !== below) {
        return false;
      }
    }
    return true;
  };
}

/** The stored fields of a message that its replays' hash covers, as in a tree. */
export type SealedMessage = Pick<
  NewMessage,
  | 'problem'
  | 'position'
  | 'siblingIndex'
  | 'contextKey'
  | 'text'
  | 'tokens'
  | 'logprobs'
  | 'streamKey'
  | 'sampling'
  | 'finish'
>;

/** The stored fields of a replay that its hash covers. */
export type SealedReplay = Pick<NewReplay, 'replayIndex' | 'return' | 'evaluatorCalls' | 'environment'>;

/** Returns the SHA-256 over all content of a message. */
export function hashStoredMessage({
  problem,
  position,
  siblingIndex,
  contextKey,
  text,
  tokens,
  logprobs,
  streamKey,
  sampling,
  finish,
}: SealedMessage): string {
  const { temperature, topP, topK, maxNewTokens } = sampling;
  const parts = [
    problem,
    position,
    siblingIndex,
    contextKey,
    textHash(text),
    tokenHash(tokens),
    hash('sha256', viewAsBuffer(logprobs)),
    streamKey,
    temperature,
    topP,
    topK,
    maxNewTokens,
    finish,
  ];
  return hash('sha256', JSON.stringify(parts));
}

/**
 * Returns the hash of a replay: SHA-256 over its messages, the alternative's first, with the
 * environment events between and after them, and its outcome. A row that is changed later has
 * another hash.
 */
export function hashReplay(
  messages: readonly string[],
  { replayIndex, return: value, evaluatorCalls, environment }: SealedReplay,
): string {
  return hash('sha256', JSON.stringify([messages, replayIndex, value, evaluatorCalls, environment]));
}

/** The hashes of messages, because many replays share one. A message never changes. */
const messageHashes = new WeakMap<TreeMessage, string>();

function hashMessage(message: TreeMessage): string {
  const { problem, position, sibling, contextKey, answer, streamKey, sampling } = message;
  const known =
    messageHashes.get(message) ??
    hashStoredMessage({
      ...answer,
      problem: problem.uidSha,
      position,
      siblingIndex: sibling,
      contextKey,
      streamKey,
      sampling,
    });
  messageHashes.set(message, known);
  return known;
}

const hashEvents = (events: readonly TreeEvent[] = []): string[] => events.map(({ event }) => eventHash(event));

/** Returns the hashes of the messages and events from an alternative to a leaf. */
function hashPath(alternative: TreeMessage, leaf: TreeMessage): string[] {
  const hashes = hashEvents(leaf.after);
  for (
    let message: TreeMessage | null = leaf;
    message !== null;
    message = message === alternative ? null : message.parent
  ) {
    hashes.unshift(...(message === alternative ? [] : hashEvents(message.before)), hashMessage(message));
  }
  return hashes;
}

/** Appends one replay of an alternative in a bucket. */
export function recordReplay(
  store: StoreWriter,
  bucket: number,
  alternative: TreeMessage,
  leaf: TreeMessage,
  replayIndex: number,
  calls: number,
  round: RoundRecord,
): void {
  if (alternative.stored === undefined || leaf.stored === undefined) {
    throw new Error('A replay is stored after its messages.');
  }
  const outcome = {
    replayIndex,
    return: computeReturn(leaf, round.returnBound),
    evaluatorCalls: calls,
    environment: round.environment,
  };
  store.insertReplay({
    bucket,
    alternative: alternative.stored,
    leaf: leaf.stored,
    ...outcome,
    tokenHash: hashReplay(hashPath(alternative, leaf), outcome),
  });
}

/**
 * Returns the evaluator calls that a leaf added below an alternative. A message that was scored on
 * the way counts at the first leaf below it.
 */
function countLeafCalls(alternative: TreeMessage, leaf: TreeMessage): number {
  let calls = eventScores(leaf).length;
  for (let message = leaf; ; message = message.parent) {
    calls += countMessageCalls(message);
    if (message === alternative || message.parent === null || message.parent.children[0] !== message) {
      return calls;
    }
  }
}

/**
 * Appends a training tree. Every group of siblings is a bucket, and its messages are the
 * alternatives.
 * @returns every group with its credits, parents before children
 */
export function recordTrainingTree(
  store: StoreWriter,
  siblings: readonly TreeMessage[],
  protocol: Protocol,
  round: RoundRecord,
  rule: TreeCreditRule,
): CreditedGroup[] {
  const first = siblings[0];
  if (first === undefined) {
    return [];
  }
  const occurrence = requireOccurrence(protocol, first.position);
  const bucket = store.insertBucket({
    run: round.run,
    origin: 'training',
    iteration: round.iteration,
    problem: first.problem.uidSha,
    role: occurrence.role,
    turn: occurrence.turn,
    contextKey: first.contextKey,
    snapshot: round.snapshot,
    message: null,
  });
  for (const message of siblings) {
    recordMessage(store, message, protocol, round, bucket);
    if (message.children.length === 0) {
      recordEpisode(store, message, round);
    }
  }
  const below = siblings.flatMap((message) => recordTrainingTree(store, message.children, protocol, round, rule));
  const credits = rule(
    siblings.map((message) => alternativeReturns(message, round.returnBound)),
    siblings,
  );
  siblings.forEach((message, index) => {
    findReplays(message).forEach((leaf, replayIndex) =>
      recordReplay(store, bucket, message, leaf, replayIndex, countLeafCalls(message, leaf), round),
    );
    const credit = credits[index];
    if (credit !== null && credit !== undefined && message.stored !== undefined) {
      store.insertCredit(bucket, message.stored, credit);
    }
  });
  return [{ messages: siblings, credits, bucket }, ...below];
}
