/**
 * Measures held-out questions with and without a role's message, from the replays in which an empty
 * message replaced one of an evaluation (the thinker-emptied experiment of CCPO, for any role).
 */

import { mean } from '../credit/describe.ts';
import { meanInterval, studentInterval } from '../credit/interval.ts';
import { isEmptied } from '../credit/sideBySide.ts';
import type { Interval } from '../domain/credit.ts';
import { roundTitle } from '../domain/evaluation.ts';
import type { Message } from '../domain/message.ts';
import type { Alternative } from '../domain/replay.ts';

/** The fields that are read of a request. */
interface RequestedBucket {
  readonly message: number | null;
  readonly continuation: object | null;
  readonly alternatives: readonly Pick<Alternative, 'message' | 'text' | 'finish' | 'returns'>[];
}

/** The functions that are used of a store. */
export interface EmptiedRows {
  readonly countBuckets: (query: { readonly run: string; readonly origin: 'request' }) => number;
  readonly bucketsOfRun: (query: {
    readonly run: string;
    readonly origin: 'request';
    readonly offset: number;
    readonly limit: number;
  }) => readonly RequestedBucket[];
  readonly messages: (ids: number[]) => readonly Pick<Message, 'id' | 'phase' | 'iteration' | 'problem' | 'role'>[];
}

/** The effect for one role in one evaluation, as means over questions. */
export interface EmptiedEffect {
  readonly role: string;
  /** The evaluation of the messages, such as `Evaluation after, sampled`. */
  readonly evaluation: string;
  readonly team: Interval;
  readonly without: Interval;
  /** Paired differences: the same question and random numbers, with the message and without it. */
  readonly difference: Interval;
  /** The number of replays on each side. */
  readonly replays: number;
}

/** An emptied message with the returns of the streams that continued it and the empty one. */
interface Emptied {
  readonly message: number;
  readonly pairs: readonly (readonly [kept: number, gone: number])[];
}

/** The most requests that are read, the newest ones, and the number of requests in one reading. */
const MOST = 20_000;
const PAGE = 500;

function readEmptied({ message, alternatives, continuation }: RequestedBucket): Emptied | null {
  const original = alternatives.find((one) => one.message === message);
  const empty = alternatives.find(isEmptied);
  if (message === null || continuation !== null || original === undefined || empty === undefined) {
    return null;
  }
  const pairs = original.returns.flatMap((kept, stream): [number, number][] => {
    const gone = empty.returns[stream] ?? null;
    return kept === null || gone === null ? [] : [[kept, gone]];
  });
  return original.text.trim() === '' || pairs.length === 0 ? null : { message, pairs };
}

/** Returns all emptied messages, oldest first. */
function emptiedMessages(store: EmptiedRows, run: string): readonly Emptied[] {
  const total = store.countBuckets({ run, origin: 'request' });
  const found: Emptied[] = [];
  for (let offset = Math.max(0, total - MOST); offset < total; offset += PAGE) {
    found.push(
      ...store
        .bucketsOfRun({ run, origin: 'request', offset, limit: PAGE })
        .flatMap((bucket) => readEmptied(bucket) ?? []),
    );
  }
  return found;
}

/** Returns the emptied messages of a run, with their largest numbers of replays. */
export function countEmptied(store: EmptiedRows, run: string): ReadonlyMap<number, number> {
  const times = new Map<number, number>();
  for (const { message, pairs } of emptiedMessages(store, run)) {
    times.set(message, Math.max(times.get(message) ?? 0, pairs.length));
  }
  return times;
}

/**
 * Returns the effects by role and evaluation, in the order in which they were emptied. Returns none
 * if no message of an evaluation was.
 */
export function emptiedEffects(store: EmptiedRows, run: string): readonly EmptiedEffect[] {
  const emptied = emptiedMessages(store, run);
  const known = new Map(
    store.messages([...new Set(emptied.map(({ message }) => message))]).map((message) => [message.id, message]),
  );
  const held = emptied.flatMap(({ message, pairs }) => {
    const found = known.get(message);
    return found?.phase === 'evaluate' ? [{ ...found, pairs }] : [];
  });
  const groups = Map.groupBy(held, ({ role, iteration }) => JSON.stringify([role, iteration]));
  return [...groups.values()].flatMap((own): EmptiedEffect[] => {
    const questions = [...Map.groupBy(own, ({ problem }) => problem).values()].map((of) =>
      of.flatMap(({ pairs }) => pairs),
    );
    const over = (valueOf: (pair: readonly [number, number]) => number): number[] =>
      questions.map((pairs) => mean(pairs.map(valueOf)));
    const team = meanInterval(over(([kept]) => kept));
    const without = meanInterval(over(([, gone]) => gone));
    const difference = studentInterval(over(([kept, gone]) => kept - gone));
    const [first] = own;
    return first === undefined || team === null || without === null || difference === null
      ? []
      : [
          {
            role: first.role,
            evaluation: roundTitle('evaluate', first.iteration),
            team,
            without,
            difference,
            replays: questions.flat().length,
          },
        ];
  });
}
