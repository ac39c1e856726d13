/** Controls the pane: requests messages, shows the newest answer only, and starts replays. */

import type { ReplayDraft } from '../../../src/shared/protocols/replayDraft.ts';
import type {
  MessageDetail,
  ReplayState,
  TranscriptFromHost,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import type { WhyLost } from '../../../src/shared/transcript/whyLost.ts';
import type { TranscriptRequestSender } from '../asking.ts';
import type { DetailPane } from './detail.ts';

type Opened = Extract<TranscriptFromHost, { type: 'opened' }>;

interface ShownContext {
  /** The newest layout; null until one is here. */
  readonly opened: Opened | null;
  readonly drafts: readonly ReplayDraft[];
}

export class ShownMessage {
  private readonly pane: DetailPane;
  private readonly asking: TranscriptRequestSender;
  /** Called with each message that the pane shows. */
  private readonly onShown: (detail: MessageDetail) => void;
  /** Number of the newest request. Answers to older ones are dropped. */
  private question = 0;
  /** A message to replay, with the numbers in the pane, as soon as the pane shows it. */
  private awaited: number | null = null;
  private state: ReplayState | null = null;
  /** Scroll position of the pane before the editor discarded the page, until its message is shown again. */
  private kept: number | null = null;

  constructor(pane: DetailPane, asking: TranscriptRequestSender, onShown: (detail: MessageDetail) => void) {
    this.pane = pane;
    this.asking = asking;
    this.onShown = onShown;
  }

  /** Scroll position of the pane in pixels. */
  get scroll(): number {
    return this.kept ?? Math.round(this.pane.element.scrollTop);
  }

  /** @param scroll scroll position in pixels to restore when a message is shown; null to begin at the top */
  keepScroll(scroll: number | null): void {
    this.kept = scroll;
  }

  /** Handles that another message was selected. */
  left(): void {
    this.awaited = null;
    this.kept = null;
  }

  /** The state of the newest replay, shown with the next message. */
  set replay(state: ReplayState | null) {
    this.state = state;
  }

  /**
   * Requests a message, or shows the question (null).
   * @param context returns the layout and the drafts at the time of the answer
   * @returns true if the question is shown
   */
  ask(message: number | null, context: () => ShownContext): boolean {
    const id = ++this.question;
    if (message !== null) {
      this.pane.expect(message);
      this.asking.ask('detail', { message }, (detail) => {
        if (id === this.question) {
          this.show(detail, context());
        }
      });
      this.asking.ask('why', { message }, (why) => {
        if (id === this.question) {
          this.showWhy(why, context().opened);
        }
      });
      return false;
    }
    const { opened } = context();
    if (opened === null) {
      return false;
    }
    this.showWhy(null, opened);
    this.pane.question(opened.header);
    this.restoreScroll();
    return true;
  }

  private show(detail: MessageDetail, { opened, drafts }: ShownContext): void {
    if (opened === null) {
      return;
    }
    const draft = drafts.find(({ message }) => message === detail.message.id);
    this.pane.message(detail, opened.defaults, this.state, draft);
    this.restoreScroll();
    this.onShown(detail);
    if (this.awaited !== null) {
      this.replayWhenShown(this.awaited);
    }
  }

  /** Shows why the episode of the message was lost. */
  private showWhy(why: WhyLost | null, opened: Opened | null): void {
    this.pane.why(why, this.state, opened?.defaults.unavailable === null);
  }

  /** Replays a message with the numbers in the pane, once the pane shows it. */
  replayWhenShown(message: number): void {
    const here = this.pane.shows(message);
    this.awaited = here ? null : message;
    if (here) {
      this.pane.startReplay();
    }
  }

  private restoreScroll(): void {
    if (this.kept !== null) {
      this.pane.element.scrollTop = this.kept;
    }
    this.kept = null;
  }
}
