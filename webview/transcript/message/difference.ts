/** Shows the difference of two texts, word by word. */

import { diffWords } from '../../../src/shared/transcript/wordDiff.ts';
import { h } from '../../common/dom.ts';
import { createTextNodes } from '../../common/shownText.ts';

/** Creates an element with both texts merged. Removed and added parts have words for screen readers. */
export function createDifference(before: string, after: string): HTMLElement {
  const parts = diffWords(before, after).map(({ kind, text }) => {
    if (kind === 'same') {
      return h('span', {}, ...createTextNodes(text));
    }
    return h(
      kind === 'removed' ? 'del' : 'ins',
      {},
      h('span', { class: 'for-readers', 'data-written': '' }, kind === 'removed' ? ' removed: ' : ' added: '),
      ...createTextNodes(text),
    );
  });
  return h(
    'pre',
    { class: 'message-text why-difference', tabindex: 0, 'aria-label': 'Difference to the best alternative' },
    ...parts,
  );
}
