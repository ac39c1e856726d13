/** Shows two branches side by side: where they part, their returns and their lengths. */

import { describeParting, type ComparedSide, type Comparison } from '../../src/shared/transcript/comparison.ts';
import { h, linkButton, replace } from '../common/dom.ts';
import { count, plural, formatReturnValue } from '../common/format.ts';
import { createReturnCell } from '../common/returnMark.ts';
import { copyAsWritten, createTextNodes } from '../common/shownText.ts';
import { button } from '../common/toolkit.ts';

export interface ComparisonEvents {
  /** Opens the two branches in the diff editor. */
  openDiff(): void;
  /** Shows a message in the tree. */
  open(message: number): void;
  close(): void;
}

export class ComparisonView {
  readonly element = h('section', { class: 'comparison', 'aria-label': 'Comparison', 'aria-live': 'polite' });
  private readonly events: ComparisonEvents;
  private pair: { readonly left: number; readonly right: number } | null = null;

  constructor(events: ComparisonEvents) {
    this.events = events;
    this.element.hidden = true;
    copyAsWritten(this.element);
  }

  /** The messages compared, or null if none are. */
  get compared(): { readonly left: number; readonly right: number } | null {
    return this.pair;
  }

  show(comparison: Comparison): void {
    const { left, right } = comparison;
    const plain = comparison.parting.kind === 'same' || comparison.parting.kind === 'question';
    this.pair = { left: left.message, right: right.message };
    this.element.hidden = false;
    replace(
      this.element,
      h('div', { class: 'comparison-head' }, h('h2', {}, 'Comparison'), h('span', {}, describeParting(comparison))),
      h('div', { class: 'sides' }, this.side(left, 'First', plain), this.side(right, 'Second', plain)),
      h(
        'div',
        { class: 'actions' },
        button('Open in the diff editor', () => this.events.openDiff(), {
          primary: true,
          title: 'Both branches in full, read-only (D)',
        }),
        button('Close', () => {
          this.close();
          this.events.close();
        }),
      ),
    );
  }

  close(): void {
    this.pair = null;
    this.element.hidden = true;
    replace(this.element);
  }

  /** @param same true if there is no message at which the branches part */
  private side(side: ComparedSide, name: string, same: boolean): HTMLElement {
    const { parted } = side;
    const others =
      side.otherContinuations === 0
        ? null
        : h('span', { class: 'muted' }, `the first of ${count(side.otherContinuations + 1)} continuations`);
    const title = linkButton(
      () => this.events.open(side.message),
      { title: 'Show this message in the tree' },
      side.title,
    );
    return h(
      'div',
      {
        class: 'side',
        role: 'group',
        'aria-label': `${name}: ${side.title}, return ${formatReturnValue(side.return)}`,
      },
      title,
      h(
        'div',
        { class: 'side-facts' },
        h('span', {}, 'Return ', createReturnCell(side.return, side.outcome, side.byHand)),
        h(
          'span',
          {},
          `${plural(side.messages, 'message')} · ${count(side.tokens)} tokens · ${count(side.characters)} characters`,
        ),
        others,
      ),
      same
        ? null
        : parted === null
          ? h('p', { class: 'empty' }, 'it has ended')
          : h(
              'pre',
              { class: 'message-text', tabindex: 0 },
              parted.cut ? '…' : null,
              h('span', { class: 'common' }, ...createTextNodes(parted.before)),
              parted.rest === ''
                ? h('span', { class: 'end' }, '⟨end⟩')
                : h('mark', {}, ...createTextNodes(parted.rest)),
              parted.more ? '…' : null,
            ),
    );
  }
}
