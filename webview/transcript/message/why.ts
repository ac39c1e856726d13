/**
 * Shows at the top of the pane why an episode was lost: the message that decided it, the best
 * alternative, the difference between the two, and whether the result is certain.
 */

import { describeHeadline } from '../../../src/shared/credit/headline.ts';
import type { ReplayState } from '../../../src/shared/protocols/transcriptProtocol.ts';
import type { WhyLost, WhyMessage } from '../../../src/shared/transcript/whyLost.ts';
import { createCreditCell, createVerdict } from '../../common/creditBar.ts';
import { h, linkButton, replace } from '../../common/dom.ts';
import { toSingleLine, formatReturnValue, signed } from '../../common/format.ts';
import { copyAsWritten, createTextNodes } from '../../common/shownText.ts';
import { button, type Button } from '../../common/toolkit.ts';
import { SettleControl } from '../replay/settle.ts';
import { createDifference } from './difference.ts';

export interface WhyEvents {
  /** Shows a message in the tree. */
  open(message: number): void;
  settle(message: number, replays: number): void;
  /** Compares every message of the episode with alternatives. */
  findLost(message: number): void;
  cancelReplay(): void;
  /** The view was opened, or folded to one line. */
  toggled(): void;
}

export class WhyView {
  readonly element: HTMLDetailsElement;
  private readonly events: WhyEvents;
  private readonly line = h('summary', {});
  private readonly body = h('div', { class: 'why-body' });
  private settle: SettleControl | null = null;
  private find: Button | null = null;
  private why: WhyLost | null = null;
  private possible = false;
  private drawn = '';

  constructor(events: WhyEvents) {
    this.events = events;
    this.element = h('details', { class: 'why', open: true }, this.line, this.body);
    this.element.hidden = true;
    copyAsWritten(this.body);
    this.element.addEventListener('toggle', () => events.toggled());
  }

  /** @param possible true if replays can be requested */
  show(why: WhyLost | null, replay: ReplayState | null, possible: boolean): void {
    this.element.hidden = why === null;
    const drawn = JSON.stringify([why, possible]);
    const other = why?.decisive?.message !== this.why?.decisive?.message || possible !== this.possible;
    this.why = why;
    this.possible = possible;
    if (drawn !== this.drawn && why !== null) {
      this.draw(why, other);
    }
    this.drawn = drawn;
    this.replay(replay);
  }

  /** Shows the progress of a replay that settles the message's credit. */
  replay(state: ReplayState | null): void {
    if (this.find !== null) {
      this.find.disabled = state?.status === 'running';
    }
    const decisive = this.why?.decisive ?? null;
    if (decisive !== null) {
      this.settle?.show(decisive.credit, state, state?.message === decisive.message);
    }
  }

  /** @param other true if the decisive message, or whether replays are possible, has changed */
  private draw(why: WhyLost, other: boolean): void {
    const { decisive, best, decided } = why;
    replace(
      this.line,
      h('strong', {}, why.outcome === 'failed' ? 'Why it was lost' : `Why it got ${formatReturnValue(why.return)}`),
      createWhyLine(why),
    );
    if (decisive === null) {
      replace(
        this.body,
        h(
          'p',
          {},
          'No message of this episode has been compared with others yet. Replay one (R) to see what it was worth, or all of them.',
        ),
        this.possible ? h('p', {}, this.findButton(why.leaf)) : null,
      );
      return;
    }
    if (other || this.settle === null) {
      const { message } = decisive;
      this.settle = new SettleControl(
        { settle: (replays) => this.events.settle(message, replays), cancel: () => this.events.cancelReplay() },
        this.possible,
      );
    }
    replace(
      this.body,
      this.side(decided ? 'Decisive message' : 'Clearest candidate', decisive),
      best === null
        ? h('p', { class: 'muted' }, 'No better message was sampled in its place.')
        : this.side(best.typed ? 'Best alternative, typed' : 'Best alternative', best),
      best === null ? null : createDifference(decisive.text, best.text),
      h(
        'p',
        { class: 'why-sure' },
        decided ? 'Decided: ' : 'To be sure: ',
        createVerdict(decisive.credit),
        ' ',
        this.settle.element,
      ),
    );
  }

  private findButton(leaf: number): Button {
    const find = button('Find the message that lost it', () => this.events.findLost(leaf));
    this.find = find;
    return find;
  }

  private side(name: string, { message, role, turn, credit, return: value }: WhyMessage): HTMLElement {
    const title = linkButton(
      () => this.events.open(message),
      { title: 'Show this message in the tree' },
      turn > 0 ? `${role} ${turn + 1}` : role,
    );
    const facts = h(
      'span',
      { class: 'why-facts' },
      h('span', { class: 'muted' }, `return ${formatReturnValue(value)}`),
      createCreditCell(credit),
    );
    return h('div', { class: 'why-side' }, h('span', { class: 'muted' }, name), title, facts);
  }
}

/** Creates the rest of the summary line, after its title. */
function createWhyLine({ decisive, decided, best }: WhyLost): HTMLElement {
  if (decisive === null) {
    return h('span', { class: 'why-line' }, ': no message has been compared yet');
  }
  const said = createTextNodes(toSingleLine(decisive.text.slice(0, 200)));
  const words = decided
    ? `${decisive.role} ${describeHeadline(decisive.credit)} `
    : `${decisive.role} is the clearest candidate `;
  return h(
    'span',
    { class: 'why-line' },
    `: ${words}(${signed(decisive.credit.value)}): `,
    ...said,
    best === null ? null : ' → ',
    ...(best === null ? [] : createTextNodes(toSingleLine(best.text.slice(0, 200)))),
  );
}
