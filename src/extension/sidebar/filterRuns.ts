/**
 * The question which runs to show: what is typed filters by words, what is ticked by status and method; the tree
 * follows at once.
 */
import { QuickPickItemKind, window, type QuickPickItem } from 'vscode';
import { askLive } from './liveFilter.ts';
import { counted, passes, STATUSES, type FilteredRun, type RunsFilter } from './runsFilter.ts';

interface FilterItem extends QuickPickItem {
  readonly status?: RunsFilter['statuses'][number];
  readonly method?: string;
}

/**
 * @param apply hears every change while the question is open
 * @returns the filter chosen; undefined when the question was left
 */
export function askForFilter(
  runs: readonly FilteredRun[],
  present: RunsFilter,
  apply: (filter: RunsFilter) => void,
): Promise<RunsFilter | undefined> {
  const pick = window.createQuickPick<FilterItem>();
  const items = itemsOf(runs);
  const current = (): RunsFilter => ({
    words: pick.value.slice(0, 200),
    methods: pick.selectedItems.flatMap(({ method }) => method ?? []),
    statuses: pick.selectedItems.flatMap(({ status }) => status ?? []),
  });
  pick.placeholder =
    'Type words of the title, tags, note, method or id, or select a status or a method; press Enter to apply';
  pick.items = items;
  pick.value = present.words;
  pick.selectedItems = items.filter(
    ({ status, method }) =>
      (status !== undefined && present.statuses.includes(status)) ||
      (method !== undefined && present.methods.includes(method)),
  );
  return askLive(pick, current, (filter) => {
    pick.title = `Filter runs: ${runs.filter((run) => passes(filter, run)).length} of ${runs.length}`;
    apply(filter);
  });
}

/** What is typed is looked for in the runs, not among these: all of them stay in sight. */
function itemsOf(runs: readonly FilteredRun[]): readonly FilterItem[] {
  const statuses = counted(runs.map(({ status }) => status));
  return [
    { label: 'Status', kind: QuickPickItemKind.Separator },
    ...STATUSES.flatMap((status) => statuses.filter(({ value }) => value === status)).map(
      ({ value, count }): FilterItem => ({
        label: value,
        description: runsWord(count),
        alwaysShow: true,
        status: value,
      }),
    ),
    { label: 'Method', kind: QuickPickItemKind.Separator },
    ...counted(runs.map(({ run }) => run.method)).map(({ value, count }): FilterItem => ({
      label: value,
      description: runsWord(count),
      alwaysShow: true,
      method: value,
    })),
  ];
}

function runsWord(count: number): string {
  return count === 1 ? '1 run' : `${count} runs`;
}
