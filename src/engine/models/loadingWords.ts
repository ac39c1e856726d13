/** How far a model is loaded, in bytes of its files. */
export const loadingWords = (done: number, total: number): string =>
  `Loading the model: ${String(Math.floor(done / 1e6))} of ${String(Math.floor(total / 1e6))} MB`;
