/** The sheet that explains the keys, made from the bindings themselves, and the words, made from the glossary. */
import { GLOSSARY } from '../../src/shared/text/glossary.ts';
import { h } from '../common/dom.ts';
import { button } from '../common/toolkit.ts';
import { TREE_KEYS, TYPE_AHEAD_KEYS } from './keys.ts';

/**
 * A dialog with the tree's keys; Esc, `?` and its button close it. The browser then gives the keyboard back to what had
 * it.
 */
export function keySheet(): { readonly element: HTMLElement; toggle(): void } {
  const rows = [...TREE_KEYS, TYPE_AHEAD_KEYS].flatMap((binding) => [
    h('dt', {}, h('kbd', {}, binding.shown)),
    h('dd', {}, binding.words),
  ]);
  const words = Object.values(GLOSSARY).flatMap(({ name, meaning }) => [h('dt', {}, name), h('dd', {}, meaning)]);
  const close = button('Close', () => {
    element.close();
  });
  const element = h(
    'dialog',
    { class: 'keys', 'aria-label': 'Keys of the message tree' },
    h('div', { class: 'keys-head' }, h('h2', {}, 'Keys'), close),
    h('dl', {}, ...rows),
    h('h2', {}, 'Words'),
    h('dl', { class: 'words-list' }, ...words),
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
