/**
 * The number of threads that may share a matrix product without making the result of a row depend on
 * the rows beside it.
 *
 * ONNX Runtime's CPU product (MLAS, core/mlas/lib/sgemm.cpp) adds up the inner axis in slices, whose
 * length follows from the number of columns of one thread. It divides columns among threads only if
 * there are fewer rows than columns and enough work. A row in a small batch can therefore be added up
 * in other slices than in a large one, unless every thread's columns give the same slices.
 */

import { adapterSpecs, type TransformerConfig } from './transformer.ts';

/** Columns are divided among threads in multiples of this number. */
const SHARE_MULTIPLE = 16;
/** Columns and inner elements of one packed panel, before more inner elements replace unused columns. */
const PANEL_COLUMNS = 128;
const PANEL_DEPTH = 128;

/**
 * Returns the largest number of threads, up to `threads`, with which generation and scoring give the
 * same bits in any batch.
 */
export function exactThreads(config: TransformerConfig, threads: number): number {
  const { hiddenSize, intermediateSize, vocabularySize, headDim } = config;
  const queries = config.heads * headDim;
  const products: readonly (readonly [inner: number, columns: number])[] = [
    [hiddenSize, queries + 2 * config.keyValueHeads * headDim],
    [queries, hiddenSize],
    [hiddenSize, intermediateSize],
    [intermediateSize, hiddenSize],
    [hiddenSize, vocabularySize],
    ...adapterSpecs(config).map(({ shape: [columns = 1, inner = 1] }) => [inner, columns] as const),
  ];
  // The products of attention are divided among threads as a whole while there are enough of them: at
  // least two rows, each with its key-value heads.
  let exact = Math.min(threads, 2 * config.keyValueHeads);
  while (
    exact > 1 &&
    !products.every(
      ([inner, columns]) => sliceLength(inner, smallestShare(columns, exact)) === sliceLength(inner, columns),
    )
  ) {
    exact--;
  }
  return exact;
}

/**
 * Returns the number of slots that attention adds up in one slice. Within the first slice, the sum
 * over the visible slots of a row is independent of their position among masked ones. Beyond it, the
 * sum also depends on the slice of each slot.
 */
export const exactSlots = ({ headDim }: TransformerConfig): number => sliceLength(Infinity, headDim);

/** Returns true if two slots, and thus all between them, are in the same slice. */
export const sameSlice = (slice: number, first: number, last: number): boolean =>
  Math.floor(first / slice) === Math.floor(last / slice);

/** Returns the number of inner elements of one slice. */
function sliceLength(inner: number, columns: number): number {
  let depth = PANEL_DEPTH;
  for (let width = PANEL_COLUMNS; columns < inner && width > SHARE_MULTIPLE && width / 2 >= columns; width /= 2) {
    depth *= 2;
  }
  return Math.min(depth, inner);
}

/** Returns the columns of the thread with the fewest: the last, with the incomplete block. */
function smallestShare(columns: number, threads: number): number {
  const blocks = Math.ceil(columns / SHARE_MULTIPLE);
  return Math.floor(blocks / Math.min(threads, blocks)) * SHARE_MULTIPLE - (blocks * SHARE_MULTIPLE - columns);
}
