/** A dialog that explains the keys of a page. It is built from the key bindings. */

import { h } from './dom.ts';
import { button } from './toolkit.ts';

/**
 * Creates the dialog. Esc, `?` and its button close it; the browser then restores the focus.
 * @param label the accessible name of the dialog
 * @param below elements below the list of keys
 */
export function keySheet(
  label: string,
  bindings: readonly { readonly shown: string; readonly words: string }[],
  ...below: readonly HTMLElement[]
): { readonly element: HTMLElement; toggle(): void } {
  const close = button('Close', () => element.close());
  const rows = bindings.flatMap(({ shown, words }) => [h('dt', {}, h('kbd', {}, shown)), h('dd', {}, words)]);
  const element = h(
    'dialog',
    { class: 'keys', 'aria-label': label },
    h('div', { class: 'keys-head' }, h('h2', {}, 'Keys'), close),
    h('dl', {}, ...rows),
    ...below,
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
