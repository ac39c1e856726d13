/** Where two texts differ, word by word, in one. */
import { wordDiff } from '../../../src/shared/transcript/wordDiff.ts';
import { h } from '../../common/dom.ts';
import { shownText } from '../../common/shownText.ts';

/** Both texts in one, what they share once. Marks carry words for a screen reader; the texts are text nodes. */
export function difference(before: string, after: string): HTMLElement {
  const parts = wordDiff(before, after).map(({ kind, text }) => {
    if (kind === 'same') {
      return h('span', {}, ...shownText(text));
    }
    return h(
      kind === 'removed' ? 'del' : 'ins',
      {},
      h('span', { class: 'for-readers', 'data-written': '' }, kind === 'removed' ? ' removed: ' : ' added: '),
      ...shownText(text),
    );
  });
  return h(
    'pre',
    { class: 'message-text why-difference', tabindex: 0, 'aria-label': 'Difference to the best alternative' },
    ...parts,
  );
}
