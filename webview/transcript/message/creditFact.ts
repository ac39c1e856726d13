/** Shows the credit of a message in the pane: bar, sentence, basis, and settle button. */

import type { Credit } from '../../../src/shared/credit/credit.ts';
import type { Headline } from '../../../src/shared/credit/headline.ts';
import { createCreditCell, createLearnedCell, createVerdict } from '../../common/creditBar.ts';
import { h, replace, type Child } from '../../common/dom.ts';
import { bounds, count, NOT_MEASURED, plural } from '../../common/format.ts';
import { term } from '../../common/term.ts';

/**
 * Creates the basis of a credit: `[0.05, 0.80] · n 20 · effective n 8 · 24 calls`.
 * @param explained true to explain its words with the glossary
 */
export function createCreditBasis(credit: Headline, explained: boolean): readonly Child[] {
  const { low, high, n, effectiveN, evaluatorCalls, reused } = credit;
  const named = (name: 'n' | 'effectiveN' | 'interval', words: string): Child =>
    explained ? term(name, words) : words;
  const interval = bounds(low, high);
  return [
    interval === null ? 'no ' : null,
    named('interval', interval ?? 'interval'),
    ' · ',
    named('n', 'n'),
    ` ${count(n)}`,
    ' · ',
    named('effectiveN', 'effective n'),
    ` ${count(effectiveN)}`,
    ` · ${plural(evaluatorCalls, 'evaluator call')}`,
    reused === 0 ? null : `, ${count(reused)} reused`,
  ];
}

/** The credit in the pane. Its element stays while the credit changes, to keep the focus. */
export class CreditFact {
  readonly element = h('div', { class: 'fact-credit' });
  private readonly cell = h('span', { class: 'fact-cell' });
  private readonly words = h('span', { role: 'status' });
  private readonly behind = h('span', { class: 'muted' });
  private drawn = '';

  /** @param settle the control that settles the credit */
  constructor(settle: HTMLElement) {
    this.element.append(this.cell, this.words, this.behind, settle);
  }

  /** @param learned the credit that training gave to a message without a comparison, else null */
  update(credit: Headline | null, learned: Credit | null): void {
    const drawn = JSON.stringify([credit, learned]);
    if (drawn === this.drawn) {
      return;
    }
    this.drawn = drawn;
    if (learned !== null) {
      replace(this.cell, createLearnedCell(learned, credit));
      replace(this.words, `in training, by ${learned.estimator}: no other message was sampled here`);
      replace(this.behind, `n ${count(learned.n)}`);
      return;
    }
    if (credit === null) {
      replace(this.cell);
      replace(this.words, NOT_MEASURED);
      replace(this.behind);
      return;
    }
    const measured = credit.verdict !== 'alone';
    replace(this.cell, measured ? createCreditCell(credit) : null);
    replace(this.words, createVerdict(credit));
    replace(this.behind, ...(measured ? createCreditBasis(credit, true) : []));
  }
}
