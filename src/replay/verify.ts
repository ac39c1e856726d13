/** Re-executing stored replays: every sampled message again from its stored context, stream and snapshot, compared token by token. */
import type { Policy } from '../policy/policy.ts';
import { CancelledError } from '../shared/errors.ts';
import type { Decision, NumericEnvironment, Replay } from '../shared/records.ts';
import type { StoreWriter, VerificationResult } from '../store/types.ts';
import { tokenHash } from '../store/tokens.ts';
import { replayHash } from './record.ts';

export interface VerificationReport {
  readonly checked: number;
  readonly identical: number;
  readonly different: number;
  readonly notComparable: number;
  /** The first difference in the order of the replays. */
  readonly firstDifference: { readonly replay: number; readonly message: number; readonly token: number; readonly detail: string } | null;
}

/** Lends the policy of a snapshot to a piece of work, or one sentence why it cannot be had. */
export type PolicyLender = <Result>(snapshot: string, work: (policy: Policy | string) => Promise<Result>) => Promise<Result>;

interface Outcome {
  readonly result: VerificationResult;
  readonly detail: string;
  readonly message: number;
  readonly token: number;
}

/** A replay with its decisions from the alternative to the leaf, in order. */
interface Path {
  readonly replay: Replay;
  readonly decisions: readonly Decision[];
}

/** Re-executes replays, snapshot by snapshot, and appends what it found to each. @throws CancelledError, keeping what was found before */
export async function verifyReplays(store: StoreWriter, replays: readonly Replay[], lend: PolicyLender, cancelled: () => boolean): Promise<VerificationReport> {
  const outcomes = new Map<number, Outcome>();
  for (const [snapshot, members] of bySnapshot(store, replays)) {
    const paths = members.map((replay) => ({ replay, decisions: decisionsOf(store, replay) }));
    await lend(snapshot, async (policy) => {
      const messages = await reexecute(store, paths.flatMap(({ decisions }) => decisions), policy, cancelled);
      const environment = typeof policy === 'string' ? null : policy.environment;
      store.transaction(() => {
        for (const path of paths) {
          const outcome = verdict(path, messages);
          outcomes.set(path.replay.id, outcome);
          const place = environment === null ? path.replay.environment : store.environmentId(environment);
          store.insertVerification({ replay: path.replay.id, result: outcome.result, detail: outcome.detail, environment: place });
        }
      });
    });
  }
  return report(replays, outcomes);
}

/** All messages of a replay were made by one snapshot, its bucket's. */
function bySnapshot(store: StoreWriter, replays: readonly Replay[]): Map<string, Replay[]> {
  const snapshots = new Map<number, string>();
  return Map.groupBy(replays, ({ bucket }) => {
    const snapshot = snapshots.get(bucket) ?? store.bucket(bucket).snapshot;
    snapshots.set(bucket, snapshot);
    return snapshot;
  });
}

function decisionsOf(store: StoreWriter, replay: Replay): Decision[] {
  const path: Decision[] = [];
  for (let id: number | null = replay.leaf; id !== null; ) {
    const decision: Decision = store.decision(id);
    path.unshift(decision);
    id = id === replay.alternative ? null : decision.parent;
  }
  return path;
}

/** What each decision turned out to be, by its id. */
async function reexecute(store: StoreWriter, decisions: readonly Decision[], policy: Policy | string, cancelled: () => boolean): Promise<Map<number, Outcome>> {
  const found = new Map<number, Outcome>();
  const comparable: Decision[] = [];
  for (const decision of new Map(decisions.map((one) => [one.id, one])).values()) {
    const { id } = decision;
    if (decision.finish === 'typed') found.set(id, { result: 'identical', detail: 'typed', message: id, token: 0 });
    else {
      const reason = typeof policy === 'string' ? policy : environmentReason(store.environment(decision.environment), policy.environment);
      if (reason === null) comparable.push(decision);
      else found.set(id, { result: 'notComparable', detail: reason, message: id, token: 0 });
    }
  }
  if (cancelled()) throw new CancelledError();
  if (typeof policy === 'string' || comparable.length === 0) return found;
  const answers = await policy.answer(
    comparable.map(({ context, sampling, streamKey }) => ({ context, sampling, streamKey })),
    { cancelled },
  );
  comparable.forEach((decision, index) => {
    found.set(decision.id, compare(decision, answers[index]?.tokens ?? new Int32Array()));
  });
  return found;
}

function compare({ id, tokens: stored }: Decision, tokens: Int32Array): Outcome {
  const length = Math.max(tokens.length, stored.length);
  let token = 0;
  while (token < length && tokens[token] === stored[token]) token++;
  if (token === length) return { result: 'identical', detail: '', message: id, token: 0 };
  return { result: 'different', detail: `message ${String(id)} differs at token ${String(token)}`, message: id, token };
}

/** The first message that differs decides; then a row that was changed since; then one that could not be compared. */
function verdict({ replay, decisions }: Path, messages: ReadonlyMap<number, Outcome>): Outcome {
  const outcomes = decisions.flatMap(({ id }) => messages.get(id) ?? []);
  return (
    outcomes.find(({ result }) => result === 'different') ??
    changedRow(replay, decisions) ??
    outcomes.find(({ result }) => result === 'notComparable') ?? { result: 'identical', detail: '', message: replay.leaf, token: 0 }
  );
}

/** The stored hashes were taken when the rows were appended: tokens that no longer give them were changed. */
function changedRow(replay: Replay, decisions: readonly Decision[]): Outcome | null {
  const changed = decisions.find((decision) => tokenHash(decision.tokens) !== decision.tokenHash);
  if (changed !== undefined) return { result: 'different', detail: `the stored tokens of message ${String(changed.id)} do not have their hash: the row was changed`, message: changed.id, token: 0 };
  if (replayHash(decisions.map(({ tokens }) => tokens)) === replay.tokenHash) return null;
  return { result: 'different', detail: `the stored messages of replay ${String(replay.id)} do not have its hash: a row was changed`, message: replay.leaf, token: 0 };
}

function report(replays: readonly Replay[], outcomes: ReadonlyMap<number, Outcome>): VerificationReport {
  const counts = { identical: 0, different: 0, notComparable: 0 };
  let firstDifference: VerificationReport['firstDifference'] = null;
  for (const { id } of replays) {
    const outcome = outcomes.get(id);
    if (outcome === undefined) continue;
    counts[outcome.result]++;
    if (outcome.result === 'different') firstDifference ??= { replay: id, message: outcome.message, token: outcome.token, detail: outcome.detail };
  }
  return { checked: replays.length, ...counts, firstDifference };
}

/** Why two environments cannot be expected to give the same bytes; null where they are the same. */
function environmentReason(stored: NumericEnvironment, current: NumericEnvironment): string | null {
  const keys = ['runtime', 'provider', 'device', 'threads', 'platform'] as const;
  const differing = keys.filter((key) => stored[key] !== current[key]);
  return differing.length === 0 ? null : `other numeric environment: ${differing.map((key) => `${key} ${String(stored[key])}, now ${String(current[key])}`).join('; ')}`;
}
