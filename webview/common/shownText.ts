/**
 * Shows texts of models and files. Invisible characters are shown as codes in elements of their own,
 * so that they cannot change the direction of the text around them.
 */

import { splitAtInvisible } from '../../src/shared/text/visible.ts';
import { h } from './dom.ts';

/** Number of codes of one text with an element of their own. Later codes are plain text. */
const MOST_ISOLATED_CODES = 2_000;

/** Returns the nodes of a text. `copyAsWritten` copies the original character for each code. */
export function createTextNodes(text: string, setApart = MOST_ISOLATED_CODES): readonly (HTMLElement | string)[] {
  return splitAtInvisible(text, setApart).map((piece) =>
    piece.written === null
      ? piece.text
      : h(
          'span',
          { class: 'unseen', title: 'An invisible character, shown by its code', 'data-written': piece.written },
          piece.text,
        ),
  );
}

/** Makes copies contain the original text: characters for codes, and the source of formulas. */
export function copyAsWritten(element: HTMLElement): void {
  element.addEventListener('copy', (event) => {
    const selection = document.getSelection();
    const [at] = event.composedPath();
    if (
      selection === null ||
      selection.isCollapsed ||
      event.clipboardData === null ||
      at instanceof HTMLInputElement ||
      at instanceof HTMLTextAreaElement
    ) {
      return;
    }
    const parts = Array.from({ length: selection.rangeCount }, (_, index) =>
      readWrittenText(selection.getRangeAt(index)),
    );
    event.clipboardData.setData('text/plain', parts.join(''));
    event.preventDefault();
  });
}

function readWrittenText(range: Range): string {
  const { commonAncestorContainer: inside } = range;
  const whole = (inside instanceof Element ? inside : inside.parentElement)?.closest('[data-written]');
  if (whole !== null && whole !== undefined) {
    return whole.getAttribute('data-written') ?? '';
  }
  const copy = range.cloneContents();
  for (const part of copy.querySelectorAll('[data-written]')) {
    part.replaceWith(part.getAttribute('data-written') ?? '');
  }
  return copy.textContent;
}
