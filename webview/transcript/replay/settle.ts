/** The button that replays a message until its credit is decided, with its progress. */

import { settleReplays } from '../../../src/domain/replay.ts';
import type { Headline } from '../../../src/shared/credit/headline.ts';
import type { ReplayState } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { focusedIn, h } from '../../common/dom.ts';
import { button } from '../../common/toolkit.ts';
import { labelSettleButton, describeSettleProgress } from './replayWords.ts';

export interface SettleEvents {
  /** Replays until the credit is decided or the replays are spent. */
  settle(replays: number): void;
  cancel(): void;
}

/** The control. Its buttons are never recreated, because one of them may be focused or pressed. */
export class SettleControl {
  readonly element: HTMLElement;
  private readonly start: ReturnType<typeof button>;
  private readonly cancel: ReturnType<typeof button>;
  private readonly words = h('span', { class: 'muted', role: 'status' });
  private readonly possible: boolean;
  private replays = 0;

  /** @param possible true if replays can be requested */
  constructor(events: SettleEvents, possible: boolean) {
    this.possible = possible;
    const title = 'Replays pairs of continuations until the interval excludes 0';
    this.start = button('', () => events.settle(this.replays), { title });
    this.cancel = button('Cancel settling', () => events.cancel());
    this.element = h('span', { class: 'settle' }, this.start, this.words, this.cancel);
  }

  /** @param here true if the replay is of this message */
  show(credit: Headline | null, state: ReplayState | null, here: boolean): void {
    const running = state?.status === 'running';
    const settling = running && here && state.settle !== null;
    const more = credit?.verdict === 'undecided' ? credit.more : null;
    const offered = this.possible && more !== null && more > 0;
    this.replays = settleReplays(more);
    if (offered) {
      const label = labelSettleButton(more);
      if (this.start.textContent !== label) {
        this.start.textContent = label;
      }
    }
    const held = focusedIn(this.element) !== null;
    this.start.hidden = !offered || settling;
    this.start.disabled = running;
    this.cancel.hidden = !settling;
    const words = here ? describeSettleProgress(state, credit) : '';
    if (this.words.textContent !== words) {
      this.words.textContent = words;
    }
    this.element.hidden = this.start.hidden && this.cancel.hidden && words === '';
    // The focus moves from the button that is hidden to the other one.
    if (held && settling) {
      this.cancel.focus();
    } else if (held && offered) {
      requestAnimationFrame(() => {
        if (focusedIn(this.element) !== null || document.activeElement === document.body) {
          this.start.focus();
        }
      });
    }
  }
}
