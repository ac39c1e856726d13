/** The sheet that explains the keys of a page, made from the bindings themselves. */
import { h } from './dom.ts';
import { button } from './toolkit.ts';

/**
 * A dialog with keys; Esc, `?` and its button close it. The browser then gives the keyboard back to what had it.
 * @param label what the keys are of, for screen readers
 * @param below what else the sheet explains
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
