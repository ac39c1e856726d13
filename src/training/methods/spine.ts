/**
 * The spine: one episode of a problem, and alternatives to each of its messages, each continued once,
 * like the replays of a user who examines an episode. Its calls are split over the positions: evenly,
 * or so that the variance of the gradient, summed over the roles that learn, is least. With J_t
 * messages in the context of position t and the variance V_t of returns in it (from its message and
 * all later ones), the credits of t have the mean square
 *
 *   E_t = J_t / (J_t - 1) * V_t
 *
 * The messages that continue alternatives to earlier positions have the credit of those. With them, the
 * gradient of t has, in units of the policy's own score, the variance
 *
 *   (J_t E_t + sum over s < t of (J_s - 1) E_s) / (J_t + sum over s < t of (J_s - 1))^2
 *
 * V_t / V_(t+1) - 1 is the rho of position t: the larger it is, the more alternatives after t save. V
 * is measured in the step before, so that no message is credited by returns that decided how often it
 * was sampled.
 */

import { isLearningRole } from '../../shared/rolePolicies.ts';
import type { Protocol } from '../../team/protocol.ts';
import { countFanoutCalls, countMostMessages } from '../../team/rounds.ts';
import { isOneByOne } from '../../team/roundsForm.ts';
import { inheritsCredit } from './loneMessages.ts';
import type { MethodSettings, Spread } from './method.ts';

/**
 * Returns the number of messages in each context of a spine, including the spine's own message, within
 * the budget. A role that does not learn has no alternatives.
 * @param spread null splits the budget evenly
 */
export function planSpineFanout(settings: SpineSettings, protocol: Protocol, spread: Spread | null): number[] {
  const { evaluator_budget: budget, policies } = settings;
  let fanout = Array.from({ length: countMostMessages(protocol) }, () => 1);
  const open = fanout.flatMap((_, level) => (someRoleLearnsAt(protocol, policies, level) ? [level] : []));
  const variances = fillVariances(spread);
  const costOf = (counts: readonly number[], added: number): number =>
    variances === null
      ? (counts[added] ?? 1)
      : open.reduce(
          (sum, level) => sum + estimateGradientVariance(counts, variances, level, inheritsCredit(settings.credit)),
          0,
        );
  for (;;) {
    const [best] = open
      .map((level) => ({ level, counts: fanout.with(level, (fanout[level] ?? 1) + 1) }))
      .filter(({ counts }) => countFanoutCalls(protocol, counts, 'spine') <= budget)
      .map(({ level, counts }) => ({ counts, cost: costOf(counts, level) }))
      .sort((one, other) => one.cost - other.cost);
    if (best === undefined) {
      return fanout;
    }
    fanout = best.counts;
  }
}

export type SpineSettings = Pick<MethodSettings, 'evaluator_budget' | 'policies' | 'credit'>;

/**
 * Returns the variances, or null if no returns varied. An earlier context varies at least as much as a
 * later one, and an unmeasured position takes the variance of the next one.
 */
function fillVariances(spread: Spread | null): readonly number[] | null {
  if (spread?.some((variance) => variance !== null && variance > 0) !== true) {
    return null;
  }
  return spread.reduceRight<number[]>((later, variance) => [Math.max(variance ?? 0, later[0] ?? 0), ...later], []);
}

/** The variance assumed for a role that learns nothing, so that it gets the first alternatives. */
const NOTHING_LEARNED = 1e6;

/** Returns the variance of the gradient of one position (see above). */
function estimateGradientVariance(
  fanout: readonly number[],
  variances: readonly number[],
  position: number,
  inherits: boolean,
): number {
  let [squares, messages] = [0, 0];
  // The mean square that a message without a sibling inherits.
  let inherited: number | null = null;
  for (let level = 0; level <= position; level++) {
    const count = fanout[level] ?? 1;
    const square: number | null = count > 1 ? (count / (count - 1)) * (variances[level] ?? 0) : inherited;
    const own = level === position ? count : count - 1;
    const learned = count > 1 ? level === position || inherits : level === position && inherits;
    if (square !== null && learned) {
      squares += own * square;
      messages += own;
    }
    inherited = square;
  }
  return messages === 0 ? NOTHING_LEARNED : squares / messages ** 2;
}

/** Returns true if a role that may speak at a place in an episode learns. */
function someRoleLearnsAt(
  { occurrences, rounds }: Protocol,
  policies: MethodSettings['policies'],
  level: number,
): boolean {
  const isOpen = rounds?.order === 'random' || isOneByOne(rounds?.order);
  const may = isOpen ? occurrences : occurrences.slice(level, level + 1);
  return may.some(({ role }) => isLearningRole(policies, role));
}

/** Returns the reason why the budget cannot pay for a spine with a protocol, or null if it can. */
export function findSpineFault(settings: MethodSettings, protocol: Protocol): string | null {
  if (planSpineFanout(settings, protocol, null).some((count) => count > 1)) {
    return null;
  }
  return `shape ${settings.shape} needs an episode and at least one alternative, and evaluator_budget (${settings.evaluator_budget}) pays for no more than the episode with the protocol ${protocol.name}; raise it.`;
}

/** The part of a message from which the variance of returns in its context is computed. */
interface Credited {
  /** Equal for the messages of one context. */
  readonly bucket: number;
  readonly position: number;
  readonly credit: number | null;
}

/**
 * Returns the variance of returns in the contexts of each position, from leave-one-out credits. For J
 * messages of a context with credits A it is (J - 1) / J^2 times the sum of A^2; positions average
 * over their contexts.
 */
export function measureSpread(messages: readonly Credited[], positions: number): Spread {
  const found = Array.from({ length: positions }, () => ({ sum: 0, contexts: 0 }));
  for (const members of Map.groupBy(messages, ({ bucket }) => bucket).values()) {
    const credits = members.flatMap(({ credit }) => credit ?? []);
    const place = found[members[0]?.position ?? -1];
    if (credits.length > 1 && place !== undefined) {
      place.sum += (credits.reduce((sum, one) => sum + one ** 2, 0) * (credits.length - 1)) / credits.length ** 2;
      place.contexts++;
    }
  }
  return found.map(({ sum, contexts }) => (contexts === 0 ? null : sum / contexts));
}
