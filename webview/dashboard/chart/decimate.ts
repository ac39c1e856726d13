/** Fewer points to draw than there are: for the eye only, never for tables or copies. */

/**
 * Indices of at most `most` values, in order: the first, the last, and the lowest and the highest of each stretch
 * between, so that no peak is lost. All of them where they are few enough.
 */
export function decimate(values: readonly number[], most: number): readonly number[] {
  if (values.length <= most || most < 4) {
    return values.map((_, index) => index).slice(0, values.length <= most ? undefined : Math.max(0, most));
  }
  const stretches = Math.floor((most - 2) / 2);
  const kept = new Set([0, values.length - 1]);
  const inner = values.length - 2;
  for (let stretch = 0; stretch < stretches; stretch++) {
    const from = 1 + Math.floor((stretch * inner) / stretches);
    const to = 1 + Math.floor(((stretch + 1) * inner) / stretches);
    let low = from;
    let high = from;
    for (let index = from; index < to; index++) {
      if ((values[index] ?? 0) < (values[low] ?? 0)) {
        low = index;
      }
      if ((values[index] ?? 0) > (values[high] ?? 0)) {
        high = index;
      }
    }
    kept.add(low).add(high);
  }
  return [...kept].sort((a, b) => a - b);
}

/** Indices of at most `most` of so many things, evenly apart, the last among them. */
export function spaced(length: number, most: number): readonly number[] {
  const stride = Math.max(1, Math.ceil(length / most));
  return Array.from({ length: Math.ceil(length / stride) }, (_, index) => length - 1 - index * stride).reverse();
}
