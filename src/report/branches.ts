/** Reads branches from a message to the end of its episode from the store, for a report. */

import type { Message } from '../domain/message.ts';
import type { Replay } from '../domain/replay.ts';
import type { ReplayVerdict, StoreReader } from '../store/types.ts';
import type { Allowance } from './allowance.ts';
import type { Branch, ReportedMessage } from './types.ts';

/** The most characters of one message, and messages of one branch. */
export const MESSAGE_CHARACTERS = 20_000;
const BRANCH_MESSAGES = 200;

export function toReportedMessage(
  { id, role, turn, text, tokenCount, finish }: Message,
  allowance: Allowance,
): ReportedMessage {
  return { message: id, role, turn, text: allowance.excerpt(text, MESSAGE_CHARACTERS), tokens: tokenCount, finish };
}

/**
 * Returns the messages before a message, or between two, in order. Of many, only the last ones are
 * returned.
 * @param last the message after them, which is not included
 * @param above the message before them; null for all
 * @returns the messages, and the number of earlier ones that are left out
 */
export function readPath(
  store: Pick<StoreReader, 'message'>,
  last: Message,
  above: Message | null,
  allowance: Allowance,
): { readonly messages: readonly ReportedMessage[]; readonly leftOut: number } {
  const found: ReportedMessage[] = [];
  let first = last;
  while (
    first.parent !== null &&
    first.parent !== above?.id &&
    found.length < BRANCH_MESSAGES &&
    allowance.takeMessage()
  ) {
    first = store.message(first.parent);
    found.unshift(toReportedMessage(first, allowance));
  }
  // Positions count the messages of an episode one by one.
  return { messages: found, leftOut: Math.max(0, first.position - (above === null ? 0 : above.position + 1)) };
}

function readBranch(
  store: Pick<StoreReader, 'message'>,
  from: Message,
  leaf: Message,
  allowance: Allowance,
): Pick<Branch, 'messages' | 'leftOut'> {
  if (leaf.id === from.id) {
    return { messages: [], leftOut: 0 };
  }
  const end = allowance.takeMessage() ? [toReportedMessage(leaf, allowance)] : [];
  const between = readPath(store, leaf, from, allowance);
  return { messages: [...between.messages, ...end], leftOut: between.leftOut + 1 - end.length };
}

/** Returns the replays of an alternative. */
export function readReplayedBranches(
  store: Pick<StoreReader, 'message'>,
  alternative: Message,
  replays: readonly Replay[],
  verdicts: readonly ReplayVerdict[],
  allowance: Allowance,
): readonly Branch[] {
  return replays
    .filter((replay) => replay.alternative === alternative.id)
    .map((replay) => {
      const verdict = verdicts.find(
        (one) => one.alternative === replay.alternative && one.replayIndex === replay.replayIndex,
      );
      const verification =
        verdict === undefined || verdict.result === null ? null : { result: verdict.result, detail: verdict.detail };
      return {
        replay: replay.replayIndex,
        return: replay.return,
        ...readBranch(store, alternative, store.message(replay.leaf), allowance),
        verification,
      };
    });
}

/** The shape of a transcript tree, built once for many lookups. */
export interface Shape {
  /** Returns the message and all messages below it, depth first. */
  below(id: number): readonly number[];
  isLeaf(id: number): boolean;
}

export function buildShape(
  store: Pick<StoreReader, 'outline'>,
  { run, phase, iteration, problem }: Pick<Message, 'run' | 'phase' | 'iteration' | 'problem'>,
): Shape {
  const { messages } = store.outline({ run, phase, iteration, problem });
  const children = Map.groupBy(messages, ({ parent }) => parent);
  const isLeaf = (id: number): boolean => !children.has(id);
  return {
    isLeaf,
    below: (id) => {
      const found: number[] = [];
      const stack = [id];
      for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
        found.push(next);
        stack.push(...(children.get(next) ?? []).map((child) => child.id).reverse());
      }
      return found;
    },
  };
}

/**
 * Returns the run's own continuations of a message: the paths to the leaves below it.
 * @param most branches; the others are left out
 */
export function readOwnBranches(
  store: Pick<StoreReader, 'message'>,
  from: Message,
  shape: Shape,
  most: number,
  allowance: Allowance,
): readonly Branch[] {
  const leaves = shape.below(from.id).filter((id) => shape.isLeaf(id));
  allowance.omit(BRANCHES, leaves.length - most);
  return leaves.slice(0, most).map((id) => {
    const leaf = store.message(id);
    return { replay: null, return: leaf.return, ...readBranch(store, from, leaf, allowance), verification: null };
  });
}

/** The name of the replays that a report leaves out of a large bucket. */
export const BRANCHES = 'branches';
