/** Formats the loading progress of a model, in bytes of its files. */
export const formatLoading = (done: number, total: number): string =>
  `Loading the model: ${Math.floor(done / 1e6)} of ${Math.floor(total / 1e6)} MB`;
