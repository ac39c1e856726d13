/** Filters the runs of the tree by words, method and status. */

import type { RunRecord, ShownStatus } from '../../domain/run.ts';
import { list, literal, object, text, type Guarded } from '../../shared/guard.ts';

/** All statuses that a run can be shown with. */
export const STATUSES: readonly ShownStatus[] = ['running', 'done', 'cancelled', 'failed', 'interrupted'];

/** Guard of the stored filter. An empty part accepts every run. */
export const isRunsFilter = object({
  words: text(200),
  methods: list(text(200)),
  statuses: list(literal('running', 'done', 'cancelled', 'failed', 'interrupted')),
});
export type RunsFilter = Guarded<typeof isRunsFilter>;

export const NO_FILTER: RunsFilter = { words: '', methods: [], statuses: [] };

export interface FilteredRun {
  readonly run: Pick<RunRecord, 'id' | 'title' | 'method' | 'note' | 'tags'>;
  readonly status: ShownStatus;
}

/** Returns true if the filter may hide any run. */
export function isFiltering({ words, methods, statuses }: RunsFilter): boolean {
  return words.trim() !== '' || methods.length > 0 || statuses.length > 0;
}

/**
 * Returns true if a run is shown. Each word must occur in its title, tags, note, method, status or id,
 * ignoring case.
 */
export function passesRunsFilter({ words, methods, statuses }: RunsFilter, { run, status }: FilteredRun): boolean {
  if (methods.length > 0 && !methods.includes(run.method)) {
    return false;
  }
  if (statuses.length > 0 && !statuses.includes(status)) {
    return false;
  }
  const text = [run.title, ...run.tags, run.note, run.method, status, run.id].join('\n').toLocaleLowerCase();
  return words
    .toLocaleLowerCase()
    .split(/\s+/u)
    .every((word) => text.includes(word));
}

/** Formats the filter for the description of the view. */
export function formatRunsFilter({ words, methods, statuses }: RunsFilter): string {
  return [...(words.trim() === '' ? [] : [`“${words.trim()}”`]), ...statuses, ...methods].join(', ');
}

/** Counts equal values, in the order of their first occurrence. */
export function countValues<T extends string>(
  values: readonly T[],
): readonly { readonly value: T; readonly count: number }[] {
  const counts = new Map<T, number>();
  for (const value of values) {
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].map(([value, count]) => ({ value, count }));
}
