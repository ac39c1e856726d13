/**
 * A value head that is fitted by least squares instead of by gradient steps: V(s) = w . h(s) + c with the smallest
 *
 *   sum over examples of keep^age (V(s) - R)^2 + ridge m |w|^2
 *
 * with m the mean square of the elements of h, so that `ridge` counts examples, and age the steps
 * since an example came. Older examples fade, because their hidden states come from older weights. The bias c is free.
 */

/** A hidden state and the value that it should have. */
export interface ValueSample {
  readonly hidden: Float32Array;
  readonly target: number;
}

/** The weights with the bias last, [hidden + 1], and the sums behind them. f is h with 1 appended. */
export interface LeastSquaresHead {
  readonly kind: 'least squares';
  readonly parameters: Float32Array;
  /** Sum of f R, [hidden + 1]. */
  readonly products: Float32Array;
  /** Sum of f f^T, its lower triangle by rows. */
  readonly moments: Float32Array;
  readonly step: number;
}

export interface LeastSquares {
  readonly ridge: number;
  readonly keep: number;
}

/** A small ridge on the bias, so that the system can always be solved. */
const BIAS_RIDGE = 1e-6;

export function initialLeastSquares(hiddenSize: number): LeastSquaresHead {
  const size = hiddenSize + 1;
  return {
    kind: 'least squares',
    parameters: new Float32Array(size),
    products: new Float32Array(size),
    moments: new Float32Array((size * (size + 1)) / 2),
    step: 0,
  };
}

/**
 * Returns the head with further examples; the given one does not change. Sums and solution are
 * computed in float64, in order, and stored in float32, so a head from a checkpoint continues as if it
 * had never been saved.
 */
export function fitLeastSquares(
  head: LeastSquaresHead,
  samples: readonly ValueSample[],
  { ridge, keep }: LeastSquares,
): LeastSquaresHead {
  const size = head.parameters.length;
  const products = Float64Array.from(head.products, (value) => keep * value);
  const moments = Float64Array.from(head.moments, (value) => keep * value);
  // Equal states are added once, with their number.
  for (const [hidden, own] of Map.groupBy(samples, (sample) => sample.hidden)) {
    const feature = (index: number): number => (index === size - 1 ? 1 : (hidden[index] ?? 0));
    const sum = own.reduce((total, { target }) => total + target, 0);
    for (let row = 0; row < size; row++) {
      const value = feature(row);
      products[row] = (products[row] ?? 0) + value * sum;
      const weight = value * own.length;
      const start = (row * (row + 1)) / 2;
      for (let column = 0; column <= row; column++) {
        moments[start + column] = (moments[start + column] ?? 0) + weight * feature(column);
      }
    }
  }
  const next = { products: Float32Array.from(products), moments: Float32Array.from(moments) };
  return { ...next, kind: head.kind, parameters: solveWeights(next, ridge), step: head.step + 1 };
}

/** Solves for the weights by Cholesky decomposition. */
function solveWeights(
  { products, moments }: Pick<LeastSquaresHead, 'products' | 'moments'>,
  ridge: number,
): Float32Array {
  const size = products.length;
  const at = (row: number, column: number): number => (row * (row + 1)) / 2 + column;
  // The sum of the squared bias features is the weighted number of examples.
  const examples = moments[at(size - 1, size - 1)] ?? 0;
  let squares = 0;
  for (let row = 0; row < size - 1; row++) {
    squares += moments[at(row, row)] ?? 0;
  }
  const scale = squares / Math.max(1, (size - 1) * examples);
  const factor = Float64Array.from(moments);
  for (let row = 0; row < size; row++) {
    const diagonal = at(row, row);
    factor[diagonal] = (factor[diagonal] ?? 0) + (row === size - 1 ? BIAS_RIDGE : ridge * scale + BIAS_RIDGE);
  }
  for (let row = 0; row < size; row++) {
    for (let column = 0; column <= row; column++) {
      let sum = factor[at(row, column)] ?? 0;
      for (let before = 0; before < column; before++) {
        sum -= (factor[at(row, before)] ?? 0) * (factor[at(column, before)] ?? 0);
      }
      factor[at(row, column)] = row === column ? Math.sqrt(sum) : sum / (factor[at(column, column)] ?? 1);
    }
  }
  const solved = Float64Array.from(products);
  for (let row = 0; row < size; row++) {
    for (let before = 0; before < row; before++) {
      solved[row] = (solved[row] ?? 0) - (factor[at(row, before)] ?? 0) * (solved[before] ?? 0);
    }
    solved[row] = (solved[row] ?? 0) / (factor[at(row, row)] ?? 1);
  }
  for (let row = size - 1; row >= 0; row--) {
    for (let after = row + 1; after < size; after++) {
      solved[row] = (solved[row] ?? 0) - (factor[at(after, row)] ?? 0) * (solved[after] ?? 0);
    }
    solved[row] = (solved[row] ?? 0) / (factor[at(row, row)] ?? 1);
  }
  return Float32Array.from(solved);
}
