/** The facts of a message: names with values in a description list. */

import { h, type Child } from '../../common/dom.ts';

/** Creates the two elements of a fact. */
export function createFact(name: Child, ...value: readonly Child[]): readonly HTMLElement[] {
  return [h('dt', {}, name), h('dd', {}, ...value)];
}
