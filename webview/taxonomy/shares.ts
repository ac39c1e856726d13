/** How the cases of a run spread over the classes. */
import type { TaxonomyClass, TaxonomyClassName } from '../../src/shared/records.ts';

/** Share of each class among all cases; 0 where there are none. */
export function shares(classes: readonly TaxonomyClass[]): ReadonlyMap<TaxonomyClassName, number> {
  const total = classes.reduce((sum, { count: cases }) => sum + cases, 0);
  return new Map(classes.map((entry) => [entry.name, total === 0 ? 0 : entry.count / total]));
}
