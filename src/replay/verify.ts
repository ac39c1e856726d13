/**
 * Re-executes stored replays: every message from its stored context, stream and snapshot, and every
 * return by the evaluator. The results are compared with the rows.
 */

import { hash } from 'node:crypto';
import type { FullMessage } from '../domain/message.ts';
import type { Replay } from '../domain/replay.ts';
import { describeChangedRow, type VerificationReport, type VerificationResult } from '../domain/verification.ts';
import { PolicyGone, type Policy, type PolicySource } from '../policy/policy.ts';
import { unlessCancelled } from '../shared/cancellation.ts';
import { CancelledError, toErrorMessage } from '../shared/errors.ts';
import type { Held } from '../shared/holds.ts';
import { eventHash, tokenHash } from '../store/tokens.ts';
import type { StoredEvent, StoreReader, StoreWriter } from '../store/types.ts';
import { hashContext } from '../team/contextKey.ts';
import type { Protocol } from '../team/protocol.ts';
import { hashStoredMessage, hashReplay } from './recordTree.ts';
import { reexecute, type Outcome } from './reexecute.ts';
import { ReturnCheck, type ReturnRules } from './returnCheck.ts';

export type { VerificationReport } from '../domain/verification.ts';

export interface VerifyControl {
  readonly signal: AbortSignal;
  /** Receives the number of finished replays and of all replays. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Replays that are re-executed together: enough to keep the batch full, and the most that a cancel
 * or a crash can lose.
 */
const TOGETHER = 256;

/** A replay with its messages from the alternative to the leaf, and from the start of the episode. */
interface Path {
  readonly replay: Replay;
  readonly messages: readonly FullMessage[];
  readonly episode: readonly FullMessage[];
  /** The environment events before each message of the episode, and after its last one. */
  readonly events: readonly (readonly StoredEvent[])[];
}

/**
 * Re-executes replays of one run, snapshot by snapshot, and appends the result to each.
 * @throws CancelledError, keeping earlier results
 */
export async function verifyReplays(
  store: StoreWriter,
  replays: readonly Replay[],
  source: PolicySource,
  rules: ReturnRules,
  control: VerifyControl,
): Promise<VerificationReport> {
  const outcomes = new Map<number, Outcome>();
  const returns = new ReturnCheck(store, rules, control.signal);
  const strange = new Map<number, Outcome>();
  for (const [snapshot, strangers] of findStrangers(store, replays)) {
    await using taken = await takeOrGone(source, snapshot);
    await reexecuteStrangers(store, strangers, taken.policy, strange, control.signal);
  }
  for (const [snapshot, members] of groupBySnapshot(store, replays)) {
    await using taken = await takeOrGone(source, snapshot);
    const { policy } = taken;
    const messages = new Map(strange);
    const isOwn = ({ snapshot: made }: FullMessage): boolean => made === snapshot;
    for (let start = 0; start < members.length; start += TOGETHER) {
      const paths = readPaths(store, rules.protocol, members.slice(start, start + TOGETHER));
      const checking = paths.map(async (path) => ({
        path,
        change: findChange(path),
        returned: await returns.outcome(path.replay, path.episode, path.events),
      }));
      const checks = await unlessCancelled(Promise.all(checking), control.signal);
      if (control.signal.aborted) {
        throw new CancelledError();
      }
      await reexecute(
        store,
        filterMessages(checks, (change) => change === null).filter(isOwn),
        policy,
        messages,
        control.signal,
      );
      await reexecuteChanged(
        store,
        filterMessages(checks, (change) => change !== null).filter(isOwn),
        policy,
        messages,
        control.signal,
      );
      const environment = policy instanceof PolicyGone ? null : store.environmentId(policy.environment);
      store.transaction(() => {
        for (const { path, change, returned } of checks) {
          const outcome = verdict(path, messages, change, returned);
          outcomes.set(path.replay.id, outcome);
          store.insertVerification({
            replay: path.replay.id,
            result: outcome.result,
            detail: outcome.detail,
            difference: outcome.difference,
            environment: environment ?? path.replay.environment,
          });
        }
      });
      control.onProgress?.(outcomes.size, replays.length);
    }
  }
  return report(replays, outcomes);
}

/** Returns the policy of a snapshot, or the error if it is gone, so that nothing can be compared. */
async function takeOrGone(
  source: PolicySource,
  snapshot: string,
): Promise<Held<{ readonly policy: Policy | PolicyGone }>> {
  try {
    return await source(snapshot);
  } catch (error) {
    if (error instanceof PolicyGone) {
      return { policy: error, [Symbol.asyncDispose]: () => Promise.resolve() };
    }
    throw error;
  }
}

/**
 * Returns the stored replays that a message stands for: those that continue it or contain it, and
 * all of every request about it.
 * @returns replays in the order of their buckets; none if the message was never replayed
 */
export function findReplaysOfMessage(store: StoreReader, id: number): Replay[] {
  const message = store.message(id);
  const found = store
    .bucketsFor(id)
    .flatMap((bucket) =>
      store
        .replaysOfBucket(bucket.id)
        .filter(({ alternative }) => bucket.message === id || (bucket.id === message.bucket && alternative === id)),
    );
  if (found.length > 0 || message.phase !== 'replay') {
    return found;
  }
  // A continuation belongs to the request of its round.
  const request = store
    .requestsOf(message.run, message.problem)
    .find(({ iteration }) => iteration === message.iteration);
  return request === undefined
    ? []
    : store.replaysOfBucket(request.id).filter(({ leaf }) => store.chain(leaf).some((one) => one.id === id));
}

/**
 * Returns the first messages of replays that come from other weights than their bucket's, by
 * snapshot. In these requests another snapshot or model was chosen to continue them.
 */
function findStrangers(store: StoreReader, replays: readonly Replay[]): Map<string, FullMessage[]> {
  const strangers = new Map<number, FullMessage>();
  for (const bucket of new Set(replays.map((replay) => replay.bucket))) {
    const { message, snapshot } = store.bucket(bucket);
    if (message === null || store.message(message).snapshot === snapshot) {
      continue;
    }
    if (replays.some((replay) => replay.bucket === bucket && replay.alternative === message)) {
      strangers.set(message, store.fullMessage(message));
    }
  }
  return Map.groupBy(strangers.values(), ({ snapshot }) => snapshot);
}

/** Re-executes such messages. A failure becomes their outcome, because nothing else would report it. */
async function reexecuteStrangers(
  store: StoreReader,
  messages: readonly FullMessage[],
  policy: Policy | PolicyGone,
  found: Map<number, Outcome>,
  signal: AbortSignal,
): Promise<void> {
  for (const message of messages) {
    try {
      await reexecute(store, [message], policy, found, signal);
    } catch (error) {
      if (error instanceof CancelledError) {
        throw error;
      }
      found.set(message.id, {
        result: 'notComparable',
        detail: `Message ${message.id} cannot be executed again: ${toErrorMessage(error)}`,
        message: message.id,
        difference: null,
      });
    }
  }
}

/** Groups replays by snapshot. All other messages of a replay come from its bucket's snapshot. */
function groupBySnapshot(store: StoreReader, replays: readonly Replay[]): Map<string, Replay[]> {
  const snapshots = new Map<number, string>();
  return Map.groupBy(replays, ({ bucket }) => {
    const snapshot = snapshots.get(bucket) ?? store.bucket(bucket).snapshot;
    snapshots.set(bucket, snapshot);
    return snapshot;
  });
}

function readPaths(store: StoreReader, protocol: Protocol, replays: readonly Replay[]): Path[] {
  const known = new Map<number, FullMessage>();
  const read = (id: number): FullMessage => {
    const message = known.get(id) ?? store.fullMessage(id);
    known.set(id, message);
    return message;
  };
  return replays.map((replay) => {
    const episode: FullMessage[] = [];
    for (let id: number | null = replay.leaf; id !== null; id = episode[0]?.parent ?? null) {
      episode.unshift(read(id));
    }
    const sides =
      protocol.rounds === undefined
        ? []
        : [
            ...episode.map(({ id }) => store.environmentEvents(id, 'before')),
            store.environmentEvents(replay.leaf, 'after'),
          ];
    return {
      replay,
      episode,
      events: sides,
      messages: episode.slice(
        Math.max(
          0,
          episode.findIndex(({ id }) => id === replay.alternative),
        ),
      ),
    };
  });
}

/**
 * Re-executes messages whose rows were changed. A changed row may hold a request that no model can
 * answer. Each message is then tried alone, and a failing one is only known to be changed.
 */
async function reexecuteChanged(
  store: StoreReader,
  messages: readonly FullMessage[],
  policy: Policy | PolicyGone,
  found: Map<number, Outcome>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await reexecute(store, messages, policy, found, signal);
  } catch (error) {
    if (error instanceof CancelledError) {
      throw error;
    }
    if (messages.length > 1) {
      for (const message of messages) {
        await reexecuteChanged(store, [message], policy, found, signal);
      }
    }
  }
}

function filterMessages(
  checks: readonly { readonly path: Path; readonly change: Outcome | null }[],
  wanted: (change: Outcome | null) => boolean,
): FullMessage[] {
  return checks.flatMap(({ path, change }) => (wanted(change) ? path.messages : []));
}

/**
 * Returns the outcome of a replay: the first message that differs, then a different return, then a
 * changed row, then a reason against comparing.
 */
function verdict(
  { replay, messages }: Path,
  known: ReadonlyMap<number, Outcome>,
  change: Outcome | null,
  returned: Outcome | null,
): Outcome {
  const outcomes = messages.flatMap(({ id }) => known.get(id) ?? []);
  const different = outcomes.find(({ result }) => result === 'different');
  if (different !== undefined) {
    return change === null || different.detail === change.detail
      ? different
      : { ...different, detail: `${different.detail}; ${change.detail}` };
  }
  if (returned?.result === 'different') {
    return returned;
  }
  return (
    change ??
    outcomes.find(({ result }) => result === 'notComparable') ??
    returned ?? { result: 'identical', detail: '', message: replay.leaf, difference: null }
  );
}

/** Returns an outcome if a row no longer has the hash that was stored when it was appended, or null. */
function findChange({ replay, messages, episode, events }: Path): Outcome | null {
  for (const { id, tokens, tokenHash: stored, context, contextKey: key } of messages) {
    if (tokenHash(tokens) !== stored) {
      return makeChangedOutcome(id, `the stored tokens of message ${id} do not match their hash`);
    }
    if (hashContext(context).key !== key) {
      return makeChangedOutcome(id, `the stored context of message ${id} does not match its key`);
    }
  }
  for (const { id, event, sha256 } of events.flat()) {
    if (eventHash(event) !== sha256) {
      return makeChangedOutcome(replay.leaf, `the stored environment event ${id} does not match its hash`);
    }
  }
  const start = episode.length - messages.length;
  const hashes = messages.flatMap((message, index) => [
    ...(index === 0 ? [] : listEventHashes(events[start + index])),
    hashStoredMessage(message),
  ]);
  if (
    replay.tokenHash === hashReplay([...hashes, ...listEventHashes(events[episode.length])], replay) ||
    replay.tokenHash === hashTokens(messages)
  ) {
    return null;
  }
  return makeChangedOutcome(
    replay.leaf,
    `the stored messages or the return of replay ${replay.id} do not match its hash`,
  );
}

const makeChangedOutcome = (message: number, what: string): Outcome => ({
  result: 'different',
  detail: describeChangedRow(what),
  message,
  difference: { kind: 'row' },
});

const listEventHashes = (events: readonly StoredEvent[] = []): string[] => events.map(({ sha256 }) => sha256);

/** Returns the hash that older stores hold for replays, which covers only tokens. */
function hashTokens(messages: readonly FullMessage[]): string {
  return hash('sha256', messages.map(({ tokens }) => tokenHash(tokens)).join('\n'));
}

function report(replays: readonly Replay[], outcomes: ReadonlyMap<number, Outcome>): VerificationReport {
  const counts: Record<VerificationResult, number> = { identical: 0, different: 0, notComparable: 0 };
  let firstDifference: VerificationReport['firstDifference'] = null;
  let firstReason: string | null = null;
  for (const { id } of replays) {
    const outcome = outcomes.get(id);
    if (outcome === undefined) {
      continue;
    }
    counts[outcome.result]++;
    if (outcome.result === 'notComparable') {
      firstReason ??= outcome.detail;
    }
    if (outcome.result === 'different') {
      const { message, difference, detail } = outcome;
      const token = difference?.kind === 'token' ? difference.token : null;
      firstDifference ??= { replay: id, message, token, detail };
    }
  }
  return { checked: replays.length, ...counts, firstDifference, firstReason };
}
