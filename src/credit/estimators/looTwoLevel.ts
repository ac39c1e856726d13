/**
 * Leave-one-out at two levels: an alternative against its siblings and against the episodes outside
 * its context.
 *
 * The baseline of message m estimates the mean return V(h) of its context h from two independent means,
 * neither of which contains m:
 *
 *   b = w S + (1 - w) O    w = e_o / (e_w + e_o)
 *   S   the mean over the leaves of the siblings of m
 *   O   the mean over all leaves of the problem that are not below a parent of these siblings
 *
 * Since w is known before the step, the credit R_m - b is unbiased for the gradient of the expected
 * return, as leave-one-out is (C3 eq. 21). In the model of nestedVariance.ts, with the variance V_k at
 * level k, m at level l, n_v leaves below message v and N leaves in the mean, the squared errors are
 *
 *   e_w = sum over the messages v of level k below the siblings of V_k (n_v / N)^2
 *   e_o = the same sum over the messages v outside, and those above m of V_k (n_v / N - 1)^2
 *
 * where n_v counts only leaves in O. A message v above m shares its effect with m, which O has in part
 * only. These weights have the smallest error among all w. For J1 plans with J2 messages each,
 *
 *   e_w = V_d / (J2 - 1)    e_o = V_u J1 / (J1 - 1) + V_d / ((J1 - 1) J2)
 *
 * A mean without a leaf has weight 0. The first messages of a problem have nothing outside: theirs is
 * leave-one-out. So are all credits while V is unknown.
 */

import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import { NO_BOUNDS } from '../bounds.ts';
import type { Estimator, OutsideMean } from '../estimator.ts';
import { combineOthers } from '../leftOut.ts';
import type { ReturnNode } from '../nestedVariance.ts';
import { leaveOneOut, loo } from './loo.ts';

/** A credit that uses returns of other contexts has no interval: how these differ from its own is not known. */
export const looTwoLevel = {
  name: 'loo_two_level',
  label: 'two-level leave-one-out',
  words:
    'Leave-one-out, combined with the mean of the episodes in other contexts of the problem. ' +
    'The weight of each mean follows the variances of earlier steps.',
  needs: 'outside returns',
  configurable: true,
  diagnosed: 'loo',
  estimate(aggregates, { alternatives }) {
    const bySiblings = leaveOneOut(aggregates);
    const alone = aggregates.filter(({ count }) => count > 0).length < 2;
    return aggregates.map(({ mean }, index) => {
      const [found, outside] = [bySiblings[index] ?? null, alternatives[index]?.outside];
      if (found === null || mean === null || outside === undefined) {
        return found;
      }
      const weight = alone ? 1 : outside.weight;
      const baseline = (1 - weight) * found.baseline + weight * requireOutside(outside).mean;
      return { baseline, credit: mean - baseline };
    });
  },
  bounds: (compared) =>
    compared.group.alternatives.every(({ outside }) => outside === undefined) ? loo.bounds(compared) : NO_BOUNDS,
} as const satisfies Estimator;

/** @throws C3Error('input') if one of the numbers is out of range */
function requireOutside(outside: OutsideMean): OutsideMean {
  const { mean, weight } = outside;
  if (!isReturn(mean) || !(weight >= 0 && weight <= 1)) {
    throw new C3Error(
      'input',
      `The mean outside is ${mean}, with weight ${weight}; give ${RETURN_WORDS}, and a weight in [0, 1].`,
    );
  }
  return outside;
}

/** The place of compared messages in the trees of a problem. */
export interface GroupPlace {
  /** Their level; the smallest one if they differ. */
  readonly level: number;
  /** All messages that they follow. */
  readonly above: ReadonlySet<ReturnNode>;
}

/** Leaves in a mean, and the sum over messages v of V_k n_v^2. */
interface Weighed {
  readonly count: number;
  readonly spread: number;
}

/**
 * Returns the mean outside for each message of a group, with its weight 1 - w.
 * @param roots the first messages of the problem
 * @param group the compared messages, in order
 * @param variances V by level
 * @returns in order; undefined if nothing is outside or all V are 0
 */
export function weighOutside(
  roots: readonly ReturnNode[],
  group: readonly ReturnNode[],
  place: GroupPlace,
  variances: readonly number[],
): (OutsideMean | undefined)[] {
  const { level, above } = place;
  const sumSpread = ({ squares }: ReturnNode, from: number): number =>
    squares.reduce((sum, square, depth) => sum + (variances[from + depth] ?? 0) * square, 0);
  let [total, spread] = [0, 0];
  const counts = Array.from({ length: level }, () => 0);
  const visit = (nodes: readonly ReturnNode[], at: number): number =>
    nodes.reduce((count, node) => {
      if (!above.has(node)) {
        total += node.total;
        spread += sumSpread(node, at);
        return count + node.count;
      }
      const own = at + 1 < level ? visit(node.children, at + 1) : 0;
      counts[at] = (counts[at] ?? 0) + own;
      return count + own;
    }, 0);
  const count = level === 0 ? 0 : visit(roots, 0);
  if (count === 0 || variances.every((one) => one === 0)) {
    return group.map(() => undefined);
  }
  // Messages above the group on one level count as one: their contexts are equal.
  const apart = counts.reduce((sum, own, at) => sum + (variances[at] ?? 0) * (own - count) ** 2, spread);
  const outside = apart / count ** 2;
  const own = group.map((node): Weighed => ({ count: node.count, spread: sumSpread(node, level) }));
  const others = combineOthers(own, addWeighed, { count: 0, spread: 0 });
  return others.map(({ count: leaves, spread: siblings }) => {
    const within = siblings / leaves ** 2;
    const weight = leaves === 0 ? 1 : within === 0 ? 0 : within / (within + outside);
    return { mean: total / count, weight };
  });
}

const addWeighed = (one: Weighed, other: Weighed): Weighed => ({
  count: one.count + other.count,
  spread: one.spread + other.spread,
});
