/**
 * How much the messages of each level of rollout trees contribute to the variance of the returns. The
 * return of a leaf is modeled as the mean of its problem plus an independent effect of each message on
 * its path, with the variance V_l at level l. With n_c leaves below a message c, and their mean R_c,
 *
 *   S_l = sum over parents p, over their messages c at level l of n_c (R_c - R_p)^2
 *   E[S_l] = sum over k >= l of E_lk V_k
 *   E_lk = sum over p, c of (1 / n_c - 1 / n_p) * sum over the messages v at level k below c of n_v^2
 *
 * These are the sums of squares of the analysis of variance of nested data with any number of leaves
 * (Searle, Casella and McCulloch, Variance Components, 1992, sections 3.6 and 5.2). Equating S_l with
 * its expectation gives unbiased V, the deepest level first. Masked leaves count as missing. Pure.
 */

/** The returns below a message. */
export interface ReturnNode {
  /** Leaves with a return. */
  readonly count: number;
  /** The sum of their returns. */
  readonly total: number;
  /** By level, from the message itself down: the sum over the messages there of their counts squared. */
  readonly squares: readonly number[];
  readonly children: readonly ReturnNode[];
}

/** S and E above. They add up over problems and steps. */
export interface NestedSums {
  /** S_l, by level. */
  readonly squares: readonly number[];
  /** E_lk, by l and k. */
  readonly expected: readonly (readonly number[])[];
}

export const NO_SUMS: NestedSums = { squares: [], expected: [] };

/** Makes the node of a message that ends an episode. @param value its return, or null if it is masked */
export const makeLeafNode = (value: number | null): ReturnNode =>
  value === null
    ? { count: 0, total: 0, squares: [], children: [] }
    : { count: 1, total: value, squares: [1], children: [] };

/** Makes the node of a message that others follow. */
export function makeParentNode(children: readonly ReturnNode[]): ReturnNode {
  const [count, total] = [sumOf(children, (node) => node.count), sumOf(children, (node) => node.total)];
  const below = children.reduce<readonly number[]>((sum, { squares }) => addLists(sum, squares), []);
  return { count, total, squares: [count ** 2, ...below], children };
}

/** Returns the sums of one problem. @param roots its first messages */
export function sumNestedSquares(roots: readonly ReturnNode[]): NestedSums {
  return addBelow(makeParentNode(roots), 0);
}

function addBelow({ count, total, children }: ReturnNode, level: number): NestedSums {
  const measured = children.filter((child) => child.count > 0);
  const zeros = Array.from({ length: level }, () => 0);
  const own = measured.reduce((sum, child) => sum + child.count * (child.total / child.count - total / count) ** 2, 0);
  const row = measured.reduce<readonly number[]>(
    (sum, child) =>
      addLists(
        sum,
        child.squares.map((square) => square * (1 / child.count - 1 / count)),
      ),
    [],
  );
  const here: NestedSums =
    measured.length === 0
      ? NO_SUMS
      : { squares: [...zeros, own], expected: [...zeros.map(() => []), [...zeros, ...row]] };
  return measured.reduce((sum, child) => addNestedSums(sum, addBelow(child, level + 1)), here);
}

/** Adds sums, the first of them times a factor. */
export function addNestedSums(one: NestedSums, other: NestedSums, factor = 1): NestedSums {
  const length = Math.max(one.squares.length, other.squares.length);
  return {
    squares: addLists(one.squares, other.squares, factor),
    expected: Array.from({ length }, (_, level) =>
      addLists(one.expected[level] ?? [], other.expected[level] ?? [], factor),
    ),
  };
}

const addLists = (one: readonly number[], other: readonly number[], factor = 1): number[] =>
  Array.from({ length: Math.max(one.length, other.length) }, (_, i) => factor * (one[i] ?? 0) + (other[i] ?? 0));

const sumOf = <Item>(items: readonly Item[], valueOf: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + valueOf(item), 0);

/**
 * Returns V by level. A negative estimate becomes 0, and levels above use that. A level whose messages
 * have no siblings has 0: its variance counts at the level above.
 */
export function estimateNestedVariances({ squares, expected }: NestedSums): number[] {
  const found = squares.map(() => 0);
  for (let level = squares.length - 1; level >= 0; level--) {
    const row = expected[level] ?? [];
    const own = row[level] ?? 0;
    const below = row.reduce((sum, factor, k) => sum + (k > level ? factor * (found[k] ?? 0) : 0), 0);
    found[level] = own > 0 ? Math.max(0, ((squares[level] ?? 0) - below) / own) : 0;
  }
  return found;
}
