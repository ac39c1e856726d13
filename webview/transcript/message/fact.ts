/** A name with its value in a list of facts. */
import { h, type Child } from '../../common/dom.ts';

/** The two elements of one fact. */
export function fact(name: Child, ...value: readonly Child[]): readonly HTMLElement[] {
  return [h('dt', {}, name), h('dd', {}, ...value)];
}
