/**
 * How many threads may share a matrix product so that a row's result does not depend on the rows beside it.
 *
 * ONNX Runtime's CPU product (MLAS, core/mlas/lib/sgemm.cpp) adds up the inner axis in slices, whose length follows
 * from the columns that one thread works on. Columns are divided among threads only where there are fewer rows than
 * columns and enough work, so a row can be added up in other slices in a small batch than in a large one, unless every
 * share of the columns gives the same slices.
 */
import { adapterSpecs, type TransformerConfig } from './transformer.ts';

/** Columns are divided among threads in multiples of this. */
const SHARE_MULTIPLE = 16;
/** Columns and inner elements of one packed panel, before they are traded against each other. */
const PANEL_COLUMNS = 128;
const PANEL_DEPTH = 128;

/** The largest count up to `threads` at which generation and scoring give the same bits in any batch. */
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
  // Attention's products are divided among threads one by one while there are enough of them: two rows at least, each
  // with its key-value heads.
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
 * How many slots attention adds up in one go. Up to here the sum over a row's visible slots is the same wherever they
 * are among masked ones; beyond, it also depends on which slice of this length they are in.
 */
export const exactSlots = ({ headDim }: TransformerConfig): number => sliceLength(Infinity, headDim);

/** Whether two slots are in the same slice, and so everything between them. */
export const sameSlice = (slice: number, first: number, last: number): boolean =>
  Math.floor(first / slice) === Math.floor(last / slice);

/** Inner elements that are added up before the next slice begins. */
function sliceLength(inner: number, columns: number): number {
  let depth = PANEL_DEPTH;
  for (let width = PANEL_COLUMNS; columns < inner && width > SHARE_MULTIPLE && width / 2 >= columns; width /= 2) {
    depth *= 2;
  }
  return Math.min(depth, inner);
}

/** Columns of the thread that gets the fewest: the last, which also has the incomplete block. */
function smallestShare(columns: number, threads: number): number {
  const blocks = Math.ceil(columns / SHARE_MULTIPLE);
  return Math.floor(blocks / Math.min(threads, blocks)) * SHARE_MULTIPLE - (blocks * SHARE_MULTIPLE - columns);
}
