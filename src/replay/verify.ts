/** Re-executing stored replays: every sampled message again from its stored context, stream and snapshot, compared token by token. */
import type { Policy } from '../policy/policy.ts';
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

/** Finds the policy of a snapshot, or says in one sentence why it cannot be had. */
export type PolicyFinder = (snapshot: string) => Promise<Policy | string>;

interface Outcome {
  readonly result: VerificationResult;
  readonly detail: string;
  readonly message: number;
  readonly token: number;
}

/** Re-executes replays and appends what it found to each. @throws CancelledError, keeping what was found before */
export async function verifyReplays(store: StoreWriter, replays: readonly Replay[], policyOf: PolicyFinder, cancelled: () => boolean): Promise<VerificationReport> {
  const counts = { identical: 0, different: 0, notComparable: 0 };
  let firstDifference: VerificationReport['firstDifference'] = null;
  const paths = replays.map((replay) => pathOf(store, replay));
  const outcomes = await reexecute(store, paths.flat(), policyOf, cancelled);
  for (const [index, replay] of replays.entries()) {
    const path = paths[index] ?? [];
    const recorded = replayHash(path.map(({ tokens }) => tokens)) === replay.tokenHash;
    const failed = path.map(({ id }) => outcomes.get(id)).find((outcome) => outcome?.outcome.result !== 'identical')?.outcome;
    const last = path.at(-1);
    const outcome: Outcome = !recorded
      ? { result: 'different', detail: "the stored messages do not have the replay's token hash: a row was changed", message: last?.id ?? 0, token: 0 }
      : (failed ?? { result: 'identical', detail: '', message: last?.id ?? 0, token: 0 });
    counts[outcome.result]++;
    if (outcome.result === 'different') firstDifference ??= { replay: replay.id, message: outcome.message, token: outcome.token, detail: outcome.detail };
    const environment = path.map(({ id }) => outcomes.get(id)?.environment).find((value) => value !== undefined) ?? replay.environment;
    store.insertVerification({ replay: replay.id, result: outcome.result, detail: outcome.detail, environment });
  }
  return { checked: replays.length, ...counts, firstDifference };
}

/** The decisions from the alternative to the leaf, in order. */
function pathOf(store: StoreWriter, replay: Replay): Decision[] {
  const path: Decision[] = [];
  for (let id: number | null = replay.leaf; id !== null; ) {
    const decision: Decision = store.decision(id);
    path.unshift(decision);
    id = id === replay.alternative ? null : decision.parent;
  }
  return path;
}

async function reexecute(
  store: StoreWriter,
  decisions: readonly Decision[],
  policyOf: PolicyFinder,
  cancelled: () => boolean,
): Promise<Map<number, { outcome: Outcome; environment: number | undefined }>> {
  const found = new Map<number, { outcome: Outcome; environment: number | undefined }>();
  const bySnapshot = Map.groupBy(new Map(decisions.map((decision) => [decision.id, decision])).values(), ({ snapshot }) => snapshot);
  for (const [snapshot, members] of bySnapshot) {
    const policy = await policyOf(snapshot);
    if (typeof policy === 'string') {
      for (const { id } of members) found.set(id, { outcome: { result: 'notComparable', detail: policy, message: id, token: 0 }, environment: undefined });
      continue;
    }
    const environment = store.environmentId(policy.environment);
    const comparable: Decision[] = [];
    for (const decision of members) {
      const reason = decision.finish === 'typed' ? null : environmentReason(store.environment(decision.environment), policy.environment);
      if (decision.finish === 'typed') found.set(decision.id, { outcome: { result: 'identical', detail: 'typed', message: decision.id, token: 0 }, environment });
      else if (reason === null) comparable.push(decision);
      else found.set(decision.id, { outcome: { result: 'notComparable', detail: reason, message: decision.id, token: 0 }, environment });
    }
    const answers = await policy.answer(
      comparable.map(({ context, sampling, streamKey }) => ({ context, sampling, streamKey })),
      { cancelled },
    );
    comparable.forEach((decision, index) => {
      const tokens = answers[index]?.tokens ?? new Int32Array();
      found.set(decision.id, { outcome: compare(decision, tokens), environment });
    });
  }
  return found;
}

function compare(decision: Decision, tokens: Int32Array): Outcome {
  if (tokenHash(tokens) === decision.tokenHash) return { result: 'identical', detail: '', message: decision.id, token: 0 };
  const length = Math.max(tokens.length, decision.tokens.length);
  let token = 0;
  while (token < length && tokens[token] === decision.tokens[token]) token++;
  return { result: 'different', detail: `message ${String(decision.id)} differs at token ${String(token)}`, message: decision.id, token };
}

/** Why two environments cannot be expected to give the same bytes; null where they are the same. */
function environmentReason(stored: NumericEnvironment, current: NumericEnvironment): string | null {
  const keys = ['runtime', 'provider', 'device', 'threads', 'platform'] as const;
  const differing = keys.filter((key) => stored[key] !== current[key]);
  return differing.length === 0 ? null : `other numeric environment: ${differing.map((key) => `${key} ${String(stored[key])}, now ${String(current[key])}`).join('; ')}`;
}
