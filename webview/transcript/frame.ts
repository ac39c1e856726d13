/** The parts of the transcript panel in their places. */
import { h } from '../common/dom.ts';
import { term } from '../common/term.ts';

interface Part {
  readonly element: HTMLElement;
}

/** What the panel consists of, from top to bottom. */
export function frame(
  head: readonly HTMLElement[],
  banner: HTMLElement,
  above: readonly Part[],
  tree: Part,
  side: readonly Part[],
  keys: Part,
): readonly HTMLElement[] {
  const columns = h(
    'div',
    { class: 'columns' },
    h('span', {}, 'Message'),
    h('span', {}, term('return', 'Return')),
    h('span', {}, term('credit', 'Credit')),
  );
  const elements = (parts: readonly Part[]): readonly HTMLElement[] => parts.map(({ element }) => element);
  return [
    h('div', { class: 'chrome' }, h('header', { class: 'panel-head' }, ...head), ...elements(above)),
    banner,
    h(
      'div',
      { class: 'split' },
      h('div', { class: 'tree-pane' }, columns, tree.element),
      h('div', { class: 'side-pane' }, ...elements(side)),
    ),
    keys.element,
  ];
}
