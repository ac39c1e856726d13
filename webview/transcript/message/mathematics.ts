/**
 * Sets mathematics as MathML, which browsers draw and screen readers read. It is a bundle of its own
 * that is loaded for the first message with mathematics.
 */

import katex from 'katex';

/**
 * Commands that define others, link, load, style, hide, strike out or move. A formula with one of them
 * is shown as written.
 */
const REFUSED = new RegExp(
  String.raw`\\(?:@|(?:[egx]?def|(?:global)?long|global|let|futurelet|(?:re|provide)?newcommand|renewcommand|expandafter|noexpand|char|catcode|show|message|errmessage|verb` +
    String.raw`|href|url|includegraphics|html[A-Za-z]*|class|cssId|style|(?:text|define)?color|f?colorbox|pmb` +
    String.raw`|[hv]?phantom|smash|(?:math)?[rlc]lap|[bx]?cancel|sout|phase|angl|m?kern|[mh]skip|hspace|raisebox|vcenter|rule)(?![A-Za-z]))`,
  'u',
);
/** Limits on the depth and the number of elements of a formula. Larger ones are slow to draw. */
const DEEPEST = 40;
const MOST_ELEMENTS = 4_000;

/**
 * Sets a formula. Returns null if it cannot be parsed or is refused; it is then shown as written.
 * @param display true if the formula is on a line of its own
 */
export function formulaOf(tex: string, display: boolean): HTMLElement | null {
  if (REFUSED.test(tex)) {
    return null;
  }
  const element = document.createElement('span');
  try {
    katex.render(tex, element, {
      output: 'mathml',
      displayMode: display,
      trust: false,
      strict: false,
      throwOnError: true,
      maxExpand: 200,
      maxSize: 5,
    });
  } catch {
    return null;
  }
  return isModest(element) ? element : null;
}

function isModest(root: Element): boolean {
  let elements = 0;
  const open: { readonly element: Element; readonly depth: number }[] = [{ element: root, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { element, depth } = next;
    elements++;
    if (depth > DEEPEST || elements > MOST_ELEMENTS) {
      return false;
    }
    for (const child of element.children) {
      open.push({ element: child, depth: depth + 1 });
    }
  }
  return true;
}
