/** Which episodes of a run are meant: conditions such as `level=3`, as they are typed and in words. */
import { oneLine } from '../shared/text/oneLine.ts';

/**
 * What can be asked of an episode. class: the taxonomy class of its problem. episode: the number of any message of it.
 * label: one of its messages has it. level, source, uid: what the data set says of its problem.
 */
export const SELECTION_KEYS = ['class', 'episode', 'label', 'level', 'source', 'uid'] as const;

export type SelectionKey = (typeof SELECTION_KEYS)[number];

export interface Condition {
  readonly key: SelectionKey;
  readonly value: string;
}

/** An episode is meant where every key has one of its values; without conditions, every one is. */
export type Selection = readonly Condition[];

/** Characters of a value that are shown, and values of one key. */
const SHOWN = 40;
const MOST_SHOWN = 5;

/** `level 3 or 4, source gsm8k`. */
export function selectionWords(selection: Selection): string {
  return [...Map.groupBy(selection, ({ key }) => key)]
    .map(([key, own]) => {
      const values = own.map(({ value }) => oneLine(value, SHOWN));
      const [first, ...more] = values.length > MOST_SHOWN ? [...values.slice(0, MOST_SHOWN), '…'] : values;
      return `${key} ${[first, ...more].join(' or ')}`;
    })
    .join(', ');
}
