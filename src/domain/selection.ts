/** Selections of episodes of a run: conditions such as `level=3`, as typed text and in words. */

import { toOneLine } from '../shared/text/oneLine.ts';

/**
 * The conditions on an episode. class: the taxonomy class of its problem. episode: the number of any
 * of its messages. label: at least one of its messages has the label. level, source, uid: fields of
 * its problem in the data set.
 */
export const SELECTION_KEYS = ['class', 'episode', 'label', 'level', 'source', 'uid'] as const;

export type SelectionKey = (typeof SELECTION_KEYS)[number];

export interface Condition {
  readonly key: SelectionKey;
  readonly value: string;
}

/**
 * Selects the episodes that match one of the values of every key. Without conditions, it selects every
 * episode.
 */
export type Selection = readonly Condition[];

/** The most characters of a value to show, and the most values of one key. */
const SHOWN = 40;
const MOST_SHOWN = 5;

/** `level 3 or 4, source gsm8k`. */
export function describeSelection(selection: Selection): string {
  return [...Map.groupBy(selection, ({ key }) => key)]
    .map(([key, own]) => {
      const values = own.map(({ value }) => toOneLine(value, SHOWN));
      const [first, ...more] = values.length > MOST_SHOWN ? [...values.slice(0, MOST_SHOWN), '…'] : values;
      return `${key} ${[first, ...more].join(' or ')}`;
    })
    .join(', ');
}
