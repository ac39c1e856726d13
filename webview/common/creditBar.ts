/**
 * Shows a credit as a bar that grows from the middle: to the right above the baseline, to the left
 * below it. A thin line spans the interval. The bar is faded if the interval leaves the side open.
 */

import type { Credit } from '../../src/shared/credit/credit.ts';
import { isSignOpen, describeHeadline, type Headline } from '../../src/shared/credit/headline.ts';
import { h } from './dom.ts';
import { describeShownCredit, describeLearnedCredit, signed } from './format.ts';

/**
 * The credit at the end of the bar. Credits of returns in [0, 1] lie in [-1, 1]. The bar of a larger
 * credit ends here, and its number stays exact.
 */
const EDGE = 1;

/** Returns the position of a value on the bar, in percent from the left. */
export function toBarPercent(value: number): number {
  return 50 + (50 * Math.max(-EDGE, Math.min(EDGE, value))) / EDGE;
}

/** Creates the bar with its number, or a dash if no credit was measured or compared. */
export function createCreditCell(credit: Credit | Headline | null): HTMLElement {
  const alone = credit !== null && 'verdict' in credit && credit.verdict === 'alone' ? describeHeadline(credit) : null;
  if (credit === null || alone !== null) {
    return h(
      'span',
      { class: 'credit credit-none', title: alone === null ? 'credit not measured' : `credit not measured: ${alone}` },
      h('span', { class: 'bar' }),
      h('span', { class: 'credit-value' }, '–'),
    );
  }
  const zero = toBarPercent(0);
  const end = toBarPercent(credit.value);
  const fill = h('span', { class: `fill ${credit.value < 0 ? 'fill-negative' : 'fill-positive'}` });
  fill.style.left = `${Math.min(zero, end)}%`;
  fill.style.width = `${Math.abs(end - zero)}%`;
  const bar = h('span', { class: 'bar', 'aria-hidden': 'true' }, h('span', { class: 'zero' }), fill);
  if (credit.low !== null && credit.high !== null) {
    const whisker = h('span', { class: 'whisker' });
    whisker.style.left = `${toBarPercent(credit.low)}%`;
    whisker.style.width = `${toBarPercent(credit.high) - toBarPercent(credit.low)}%`;
    bar.append(whisker);
  }
  return h(
    'span',
    { class: isSignOpen(credit) ? 'credit credit-open' : 'credit', title: describeShownCredit(credit) },
    bar,
    h('span', { class: 'credit-value' }, signed(credit.value)),
  );
}

/**
 * Creates the bar of the credit that training gave to a message.
 * @param credit the credit of the comparison with other messages, or null if there was none
 */
export function createLearnedCell(learned: Credit, credit: Headline | null): HTMLElement {
  const cell = createCreditCell(learned);
  cell.setAttribute('title', describeLearnedCredit(learned, credit));
  return cell;
}

/** Creates the element with the sentence of a credit. Its CSS class names the verdict. */
export function createVerdict(credit: Headline): HTMLElement {
  return h('span', { class: `verdict verdict-${credit.verdict}` }, describeHeadline(credit));
}
