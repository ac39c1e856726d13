/**
 * A credit as a bar that grows from the middle: right for more than the baseline, left for less; a thin line spans its
 * interval. Where that leaves the side open, the bar is faded.
 */
import type { Credit } from '../../src/shared/credit/credit.ts';
import { isOpen, sentence, type Headline } from '../../src/shared/credit/headline.ts';
import { h } from './dom.ts';
import { creditText, learnedText, signed } from './format.ts';

/** Credits of returns in [0, 1] lie in [-1, 1]; others are cut at the edge and keep their number. */
const EDGE = 1;

/** Where a value is on the bar, in percent from the left. */
export function position(value: number): number {
  return 50 + (50 * Math.max(-EDGE, Math.min(EDGE, value))) / EDGE;
}

/** The bar with its number; a dash when there is no credit, or nothing to compare with. */
export function creditCell(credit: Credit | Headline | null): HTMLElement {
  const alone = credit !== null && 'verdict' in credit && credit.verdict === 'alone' ? sentence(credit) : null;
  if (credit === null || alone !== null) {
    return h(
      'span',
      { class: 'credit credit-none', title: alone === null ? 'credit not measured' : `credit not measured: ${alone}` },
      h('span', { class: 'bar' }),
      h('span', { class: 'credit-value' }, '–'),
    );
  }
  const zero = position(0);
  const end = position(credit.value);
  const fill = h('span', { class: `fill ${credit.value < 0 ? 'fill-negative' : 'fill-positive'}` });
  fill.style.left = `${Math.min(zero, end)}%`;
  fill.style.width = `${Math.abs(end - zero)}%`;
  const bar = h('span', { class: 'bar', 'aria-hidden': 'true' }, h('span', { class: 'zero' }), fill);
  if (credit.low !== null && credit.high !== null) {
    const whisker = h('span', { class: 'whisker' });
    whisker.style.left = `${position(credit.low)}%`;
    whisker.style.width = `${position(credit.high) - position(credit.low)}%`;
    bar.append(whisker);
  }
  return h(
    'span',
    { class: isOpen(credit) ? 'credit credit-open' : 'credit', title: creditText(credit) },
    bar,
    h('span', { class: 'credit-value' }, signed(credit.value)),
  );
}

/** The bar of what training learned from a message. @param credit what it shows where it was compared with others */
export function learnedCell(learned: Credit, credit: Headline | null): HTMLElement {
  const cell = creditCell(learned);
  cell.setAttribute('title', learnedText(learned, credit));
  return cell;
}

/** The sentence of a credit, as its own element: its tone follows the verdict. */
export function verdictWords(credit: Headline): HTMLElement {
  return h('span', { class: `verdict verdict-${credit.verdict}` }, sentence(credit));
}
