/**
 * MAPPO's credit: a return against a learned value, and generalised advantage estimation along an episode (C3 appendix
 * H; reference section 4.1).
 */
import { C3Error } from '../../shared/errors.ts';
import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import type { Aggregate, Estimate } from '../aggregate.ts';
import { shifted } from '../bounds.ts';
import type { CreditGroup, Estimator } from '../estimator.ts';
import { meanInterval } from '../interval.ts';

/** The interval is that of the alternative's mean return, shifted by the value, which is taken as known. */
export const mappo = {
  name: 'mappo',
  label: 'mappo',
  words: 'The baseline is what the value head says of the context.',
  needs: 'context value',
  configurable: false,
  diagnosed: 'stored',
  estimate: (aggregates, group) => againstValue(aggregates, contextValue(group)),
  bounds: ({ own, credit }) => shifted(meanInterval(own), credit),
} as const satisfies Estimator;

function contextValue({ value }: CreditGroup): number {
  if (value === undefined) {
    throw new C3Error('input', 'mappo needs the value of the context: give "value" beside "alternatives".');
  }
  return value;
}

/**
 * An alternative against the value of its context (C3 appendix I):
 *
 *   b   = V(h)
 *   A_j = R_j - V(h)
 *
 * @param value what the value head says of the context
 * @returns one estimate per alternative, in order; null for one without a return
 * @throws C3Error('input') for a value beyond MAX_RETURN
 */
export function againstValue(
  alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[],
  value: number,
): (Estimate | null)[] {
  if (!isReturn(value)) {
    throw new C3Error('input', `The value of the context is ${value}; give ${RETURN_WORDS}.`);
  }
  return alternatives.map(({ mean, count }) =>
    mean === null || count === 0 ? null : { baseline: value, credit: mean - value },
  );
}

/** Advantages and value targets of one episode's messages, in order. */
export interface Advantages {
  readonly advantages: readonly number[];
  /** Advantage + value: what the value head is to learn. */
  readonly returns: readonly number[];
}

/**
 * Generalised advantage estimation (Schulman et al. 2016, eq. 16), nothing after the last message:
 *
 *   delta_t = r_t + gamma V_(t+1) - V_t
 *   A_t     = delta_t + gamma lambda A_(t+1)
 *
 * With gamma = lambda = 1, the paper's setting, A_t is the sum of the rewards from t on, less V_t.
 * @param rewards one per message; without shaping all but the last are 0
 * @param values V of each message's context
 * @throws C3Error('input') unless both are as long, finite, and gamma and lambda in [0, 1]
 */
export function generalisedAdvantages(
  rewards: readonly number[],
  values: readonly number[],
  gamma = 1,
  lambda = 1,
): Advantages {
  if (rewards.length !== values.length || ![...rewards, ...values].every(Number.isFinite)) {
    throw new C3Error(
      'input',
      `${rewards.length} rewards and ${values.length} values do not form an episode; ` +
        'give one finite number of each for every message.',
    );
  }
  if (!(gamma >= 0 && gamma <= 1 && lambda >= 0 && lambda <= 1)) {
    throw new C3Error('input', `gamma ${gamma} and lambda ${lambda} must lie in [0, 1].`);
  }
  const advantages = new Array<number>(values.length).fill(0);
  let after = 0;
  let next = 0;
  for (const [index, value] of [...values.entries()].reverse()) {
    after = (rewards[index] ?? 0) + gamma * next - value + gamma * lambda * after;
    advantages[index] = after;
    next = value;
  }
  return { advantages, returns: advantages.map((advantage, index) => advantage + (values[index] ?? 0)) };
}
