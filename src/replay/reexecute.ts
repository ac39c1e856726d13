/** Compares a stored message with its re-execution: tokens, text, end, and log-probabilities. */

import type { FullMessage } from '../domain/message.ts';
import { NO_SEEDS_REMARK } from '../domain/replay.ts';
import type { NumericEnvironment } from '../domain/snapshot.ts';
import {
  describeChangedRow,
  describeProbabilityDifference,
  describeTokenDifference,
  type Difference,
  type VerificationResult,
} from '../domain/verification.ts';
import { PolicyGone, hasSeeds, type Policy, type PolicyAnswer } from '../policy/policy.ts';
import { CancelledError } from '../shared/errors.ts';
import type { StoreReader } from '../store/types.ts';

/** The result of verifying a message or a replay. */
export interface Outcome {
  readonly result: VerificationResult;
  /** One sentence, or empty if it is identical. */
  readonly detail: string;
  readonly message: number;
  /** Null if nothing differs. */
  readonly difference: Difference | null;
}

/**
 * The tolerance for log-probabilities. Inexact kernels differ by less (measured: 2e-5). A changed
 * row or another context differs by more.
 */
const PROBABILITY_TOLERANCE = 1e-4;

/**
 * Adds the outcome of each message to `found`, by its id. A message that is already there is not
 * executed again.
 * @param policy the messages' snapshot, or the reason why it is not available
 * @throws CancelledError; the errors of the policy
 */
export async function reexecute(
  store: StoreReader,
  messages: readonly FullMessage[],
  policy: Policy | PolicyGone,
  found: Map<number, Outcome>,
  signal: AbortSignal,
): Promise<void> {
  const fresh = [...new Map(messages.map((one) => [one.id, one])).values()].filter(({ id }) => !found.has(id));
  const comparable: FullMessage[] = [];
  for (const message of fresh) {
    const reason = findMessageObstacle(store, message, policy);
    if (reason === null) {
      comparable.push(message);
    } else {
      found.set(message.id, { result: 'notComparable', detail: reason, message: message.id, difference: null });
    }
  }
  if (policy instanceof PolicyGone || comparable.length === 0) {
    return;
  }
  if (signal.aborted) {
    throw new CancelledError();
  }
  const sampled = comparable.filter(({ finish }) => finish !== 'typed');
  if (sampled.length > 0) {
    const answers = await policy.answer(
      sampled.map(({ role, context, sampling, streamKey, problem, turn }) => ({
        role,
        context,
        sampling,
        streamKey,
        question: store.problem(problem).question,
        turn,
      })),
      { signal },
    );
    for (const [index, message] of sampled.entries()) {
      found.set(message.id, compare(message, answers[index]));
    }
  }
  for (const message of comparable) {
    if (message.finish !== 'typed') {
      continue;
    }
    const { role, context, text, sampling } = message;
    found.set(
      message.id,
      compare(message, await policy.typed({ role, context, text, temperature: sampling.temperature }, { signal })),
    );
  }
}

/** Returns the reason why a message may not come out the same, or null. */
function findMessageObstacle(
  store: StoreReader,
  { environment, streamKey, finish, role }: FullMessage,
  policy: Policy | PolicyGone,
): string | null {
  if (policy instanceof PolicyGone) {
    return policy.message;
  }
  if (!hasSeeds(policy, role) || (streamKey === '' && finish !== 'typed')) {
    return NO_SEEDS_REMARK;
  }
  return findEnvironmentObstacle(store.environment(environment), policy.environment);
}

/** Returns the reason why two environments may not give the same bytes, or null. */
function findEnvironmentObstacle(stored: NumericEnvironment, current: NumericEnvironment): string | null {
  const keys = ['runtime', 'provider', 'device', 'threads', 'platform'] as const;
  const differing = keys.filter((key) => stored[key] !== current[key]);
  return differing.length === 0
    ? null
    : `other numeric environment: ${differing.map((key) => `${key} ${stored[key]}, now ${current[key]}`).join('; ')}`;
}

function compare(message: FullMessage, answer: PolicyAnswer | undefined): Outcome {
  const { id, text, finish, tokens, logprobs } = message;
  const different = (detail: string, difference: Difference = { kind: 'row' }): Outcome => ({
    result: 'different',
    detail,
    message: id,
    difference,
  });
  const token = firstDifference(tokens, answer?.tokens ?? new Int32Array(), 0);
  if (answer === undefined || token !== null) {
    return different(describeTokenDifference(id, token ?? 0), { kind: 'token', token: token ?? 0 });
  }
  if (answer.text !== text) {
    return different(describeChangedRow(`the stored text of message ${id} is not that of its tokens`));
  }
  if (answer.finish !== finish) {
    return different(
      describeChangedRow(`message ${id} is stored as ended by ${finish}, re-execution ends by ${answer.finish}`),
    );
  }
  const probability = firstDifference(logprobs, answer.logprobs, PROBABILITY_TOLERANCE);
  if (probability !== null) {
    return different(describeProbabilityDifference(id, probability), { kind: 'token', token: probability });
  }
  return { result: 'identical', detail: '', message: id, difference: null };
}

/** Returns the first index at which two lists differ beyond the tolerance, or null. */
function firstDifference(
  first: Int32Array | Float32Array,
  second: Int32Array | Float32Array,
  tolerance: number,
): number | null {
  const length = Math.max(first.length, second.length);
  for (let place = 0; place < length; place++) {
    const [one, other] = [first[place] ?? Number.NaN, second[place] ?? Number.NaN];
    if (!(one === other || Math.abs(one - other) <= tolerance)) {
      return place;
    }
  }
  return null;
}
