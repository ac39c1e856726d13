/** The options of select elements. */

import { h, replace } from './dom.ts';

export type Choice = readonly [value: string, words: string];

/** The options of each select element, serialized. */
const drawn = new WeakMap<HTMLSelectElement, string>();

/**
 * Sets the options of a select element and keeps its value if that is still an option. Does nothing if
 * the options are unchanged, so that an open list stays open.
 */
export function setChoices(select: HTMLSelectElement, choices: readonly Choice[]): void {
  const words = JSON.stringify(choices);
  if (drawn.get(select) === words) {
    return;
  }
  drawn.set(select, words);
  const { value } = select;
  replace(select, ...choices.map(([name, label]) => h('option', { value: name }, label)));
  if (choices.some(([name]) => name === value)) {
    select.value = value;
  }
}
