/** The sheet that explains the keys, made from the bindings themselves. */
import { h } from '../common/dom.ts';
import { button } from '../common/toolkit.ts';

/**
 * A dialog with the keys of the grid; Esc, `?` and its button close it. The browser then gives the keyboard back to
 * what had it.
 */
export function keySheet(bindings: readonly { readonly shown: string; readonly words: string }[]): {
  readonly element: HTMLElement;
  toggle(): void;
} {
  const close = button('Close', () => {
    element.close();
  });
  const rows = bindings.flatMap(({ shown, words }) => [h('dt', {}, h('kbd', {}, shown)), h('dd', {}, words)]);
  const element = h(
    'dialog',
    { class: 'keys', 'aria-label': 'Keys of the grid' },
    h('div', { class: 'keys-head' }, h('h2', {}, 'Keys'), close),
    h('dl', {}, ...rows),
  );
  element.addEventListener('keydown', (event) => {
    if (event.key === '?') {
      element.close();
    }
  });
  return {
    element,
    toggle: () => {
      if (element.open) {
        element.close();
      } else {
        element.showModal();
      }
    },
  };
}
