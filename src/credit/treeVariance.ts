/**
 * The variance of the gradient that a nested tree of messages gives, and the tree with the least
 * variance for its cost. The tree has f_l messages in each context of level l, so M_l = f_1 ... f_l
 * messages there, D_l = f_(l+1) ... f_L leaves below each, and N leaves in all. A return is modeled as
 * in nestedVariance.ts, with the variance V_l at level l.
 *
 * The gradient of the role at level l is the mean of A s over its messages, where A is the credit and s
 * the score, the gradient of the log-probability: its mean is 0, and S_l is the mean of |s|^2. As in
 * `predictVarianceRatios`, s explains little of the returns and counts as independent of them. The
 * products of two messages then have mean 0, and the variance of the gradient is
 *
 *   S_l E[A^2] / M_l
 *
 * With W_l, the variance of a message's mean return in its context, and e_w, that of the mean of its
 * siblings, which is independent of it,
 *
 *   W_l = V_l + sum over k > l of V_k / (f_(l+1) ... f_k)    e_w = W_l / (f_l - 1)
 *   E[A^2] = W_l + w e_w
 *
 * Leave-one-out has w = 1. With two levels (looTwoLevel.ts), the baseline has the error e_w e_o / (e_w +
 * e_o), so w = e_o / (e_w + e_o). Inserting the counts of the tree into e_o gives, for Q = N - D_(l-1)
 * leaves outside the context,
 *
 *   e_o = sum over k < l of V_k N (N - D_k) / Q^2 + sum over k >= l of V_k D_k / Q
 *
 * If all f_l but the first are 1, these are whole episodes. A message without siblings has the credit A
 * of the nearest message above it that has some. Contexts and messages count as distinct: equal ones,
 * which `credit.merge_contexts` compares together, make the true variance smaller. Pure.
 */

/** What is known of the messages by level, from the first message of an episode to the last. */
export interface LevelFacts {
  /** V_l. */
  readonly variances: readonly number[];
  /** S_l; 0 for a role that does not learn. */
  readonly scores: readonly number[];
}

/**
 * Returns E[A^2] / M_l by level: the variance of the gradient in units of S_l.
 * @param fanout f, by level
 * @param variances V, by level
 * @param twoLevel true for leave-one-out at two levels
 * @returns null for a level without credit: it has no siblings, and neither has a level above it
 */
export function predictCreditVariances(
  fanout: readonly number[],
  variances: readonly number[],
  twoLevel: boolean,
): (number | null)[] {
  const leaves = countLeaves(fanout);
  let above: number | null = null;
  return fanout.map((siblings, level) => {
    if (siblings > 1) {
      const own = leaves(level + 1);
      const deviation = variances.reduce((sum, one, k) => sum + (k < level ? 0 : (one * leaves(k + 1)) / own), 0);
      const within = deviation / (siblings - 1);
      const share = twoLevel ? weighSiblings(within, leaves, variances, level) : 1;
      above = ((deviation + share * within) * own) / leaves(0);
    }
    return above;
  });
}

/** Returns a function that gives the leaves below each message above a level: N for level 0, 1 for level L. */
const countLeaves =
  (fanout: readonly number[]) =>
  (level: number): number =>
    fanout.slice(level).reduce((product, one) => product * one, 1);

/** Returns w. @param within e_w */
function weighSiblings(
  within: number,
  leaves: (level: number) => number,
  variances: readonly number[],
  level: number,
): number {
  const outside = leaves(0) - leaves(level);
  if (outside === 0 || within === 0) {
    return 1;
  }
  const apart = variances.reduce((sum, one, k) => {
    const each = leaves(k + 1);
    return sum + one * (k < level ? (leaves(0) * (leaves(0) - each)) / outside ** 2 : each / outside);
  }, 0);
  return apart / (within + apart);
}

/**
 * Returns the variance of the gradient, summed over the roles that learn.
 * @returns Infinity if one of them has no credit
 */
export function predictGradientVariance(
  fanout: readonly number[],
  { variances, scores }: LevelFacts,
  twoLevel: boolean,
): number {
  const each = predictCreditVariances(fanout, variances, twoLevel);
  return scores.reduce((sum, score, level) => sum + (score === 0 ? 0 : score * (each[level] ?? Infinity)), 0);
}

/** A tree that may be sampled. */
export interface PricedTree {
  readonly fanout: readonly number[];
  readonly cost: number;
}

/**
 * Returns the tree with the least product of gradient variance and cost: the variance at equal cost. Of
 * equal ones, it is the one with more messages at the first level at which they differ.
 * @returns undefined without trees
 */
export function chooseTree<Tree extends PricedTree>(
  trees: readonly Tree[],
  facts: LevelFacts,
  twoLevel: boolean,
): Tree | undefined {
  let best: { readonly tree: Tree; readonly product: number } | undefined;
  for (const tree of trees) {
    const product = predictGradientVariance(tree.fanout, facts, twoLevel) * tree.cost;
    if (best === undefined || product < best.product || (product === best.product && isWider(tree, best.tree))) {
      best = { tree, product };
    }
  }
  return best?.tree;
}

function isWider({ fanout }: PricedTree, { fanout: other }: PricedTree): boolean {
  const level = fanout.findIndex((count, index) => count !== other[index]);
  return (fanout[level] ?? 0) > (other[level] ?? 0);
}
