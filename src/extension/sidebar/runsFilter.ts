/** Which runs the tree shows: by words, method and status. */
import type { RunRecord, ShownStatus } from '../../domain/run.ts';
import { list, literal, object, text, type Guarded } from '../../shared/guard.ts';

/** Every status that a run can be shown with. */
export const STATUSES: readonly ShownStatus[] = ['running', 'done', 'cancelled', 'failed', 'interrupted'];

/** What the user chose, as it is kept. Nothing chosen of a kind: that kind is not looked at. */
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

/** Whether the filter leaves anything out. */
export function isFiltering({ words, methods, statuses }: RunsFilter): boolean {
  return words.trim() !== '' || methods.length > 0 || statuses.length > 0;
}

/** Whether a run is shown: every word is in its title, tags, note, method, status or id, in any case. */
export function passes({ words, methods, statuses }: RunsFilter, { run, status }: FilteredRun): boolean {
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

/** The filter in a few words, for beside the title of the view. */
export function filterWords({ words, methods, statuses }: RunsFilter): string {
  return [...(words.trim() === '' ? [] : [`“${words.trim()}”`]), ...statuses, ...methods].join(', ');
}

/** The values of one kind with how many runs have each, in the order in which they first come. */
export function counted<T extends string>(
  values: readonly T[],
): readonly { readonly value: T; readonly count: number }[] {
  const counts = new Map<T, number>();
  for (const value of values) {
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].map(([value, count]) => ({ value, count }));
}
