/** Selects episodes of a run. Pure. */

import { NOT_CLASSIFIED, type Problem } from '../../domain/problem.ts';
import { describeSelection, type Selection, type SelectionKey } from '../../domain/selection.ts';
import { C3Error } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import type { RunMarks } from './divideLosses.ts';

/** An episode that can be selected. */
export interface Selectable {
  readonly problem: Pick<Problem, 'uid' | 'uidSha' | 'level' | 'source'>;
  /** The numbers of the episode's messages, in order. */
  readonly messages: readonly number[];
}

/** Most values that an error lists, and most characters of a value. */
const LISTED = 12;
const SHOWN = 40;

/**
 * Returns the episodes that match a selection.
 * @param found noun for one episode in an error, such as `lost episode of the last evaluation`
 * @throws C3Error('input') for a value that no episode has, with the values that exist, and if no
 *   episode has all requested values
 */
export function selectEpisodes<Of extends Selectable>(
  all: readonly Of[],
  selection: Selection,
  marks: RunMarks,
  found: string,
): readonly Of[] {
  if (all.length === 0) {
    return [];
  }
  for (const { key, value } of selection) {
    if (!all.some((one) => hasValue(one, key, value, marks))) {
      throw new C3Error(
        'input',
        `No ${found} has ${describeSelection([{ key, value }])}; ${describeExistingValues(all, key, marks)}.`,
      );
    }
  }
  const byKey = [...Map.groupBy(selection, ({ key }) => key)];
  const selected = all.filter((one) =>
    byKey.every(([key, own]) => own.some(({ value }) => hasValue(one, key, value, marks))),
  );
  if (selected.length === 0) {
    throw new C3Error('input', `No ${found} has ${describeSelection(selection)} together; ask for less.`);
  }
  return selected;
}

const hasValue = (one: Selectable, key: SelectionKey, value: string, marks: RunMarks): boolean =>
  listSelectionValues(one, key, marks).some((own) => own === value || (key === 'class' && isSameName(own, value)));

/** Compares names of classes without regard to case. */
const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

function listSelectionValues({ problem, messages }: Selectable, key: SelectionKey, marks: RunMarks): readonly string[] {
  switch (key) {
    case 'class':
      return [marks.classes.get(problem.uidSha) ?? NOT_CLASSIFIED];
    case 'episode':
      return messages.map(String);
    case 'label':
      return messages.flatMap((message) => marks.labels.get(message)?.trim() ?? []);
    case 'level':
      return [problem.level === null ? 'none' : String(problem.level)];
    case 'source':
      return [problem.source.trim()];
    case 'uid':
      return [problem.uid.trim()];
  }
}

/** Lists the existing values of a key, those with the most episodes first. */
function describeExistingValues(all: readonly Selectable[], key: SelectionKey, marks: RunMarks): string {
  const counts = new Map<string, number>();
  for (const one of all) {
    const values = listSelectionValues(one, key, marks);
    // An episode is named by its last message.
    for (const value of new Set(key === 'episode' ? values.slice(-1) : values)) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  const ordered = [...counts].toSorted((a, b) => b[1] - a[1]);
  const named = ordered.slice(0, LISTED).map(([value, count]) => `${toOneLine(value, SHOWN)} (${count})`);
  const more = ordered.length - named.length;
  return ordered.length === 0
    ? `none of ${all.length} has a ${key}`
    : `by ${key}, with the number of episodes: ${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}
