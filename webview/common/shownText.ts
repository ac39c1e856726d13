/**
 * Texts of models and files in a page: what acts in them unseen is there by its code, set apart, and turns nothing
 * around.
 */
import { pieces } from '../../src/shared/text/visible.ts';
import { h } from './dom.ts';

/** Codes of one text that are set apart; later ones are codes among the other characters. */
const SET_APART = 2_000;

/** The nodes of a text. Copied through `copyAsWritten` a code is the character that it represents. */
export function shownText(text: string, setApart = SET_APART): readonly (HTMLElement | string)[] {
  return pieces(text, setApart).map((piece) =>
    piece.written === null
      ? piece.text
      : h(
          'span',
          { class: 'unseen', title: 'An invisible character, shown by its code', 'data-written': piece.written },
          piece.text,
        ),
  );
}

/**
 * Has what is copied out of an element be what was written: characters for their codes, formulas as they were typed.
 */
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
    const parts = Array.from({ length: selection.rangeCount }, (_, index) => writtenIn(selection.getRangeAt(index)));
    event.clipboardData.setData('text/plain', parts.join(''));
    event.preventDefault();
  });
}

function writtenIn(range: Range): string {
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
