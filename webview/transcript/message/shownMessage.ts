/** What the pane shows: asks for a message, takes the answer to the newest question only, and replays it when asked. */
import type {
  MessageDetail,
  ReplayDraft,
  ReplayState,
  TranscriptFromHost,
  TranscriptToHost,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import type { WhyLost } from '../../../src/shared/transcript/whyLost.ts';
import type { DetailPane } from './detail.ts';

type Opened = Extract<TranscriptFromHost, { type: 'opened' }>;

export class ShownMessage {
  private readonly pane: DetailPane;
  private readonly post: (message: TranscriptToHost) => void;
  /** Only the answer to the newest question is shown. */
  private question = 0;
  /** A message to be replayed as soon as the pane shows it, with the numbers that are in the pane. */
  private awaited: number | null = null;
  private state: ReplayState | null = null;
  /** Where the pane was scrolled to before the page was thrown away, until its message is there again. */
  private kept: number | null = null;

  constructor(pane: DetailPane, post: (message: TranscriptToHost) => void) {
    this.pane = pane;
    this.post = post;
  }

  /** Pixels of the pane that are scrolled away. */
  get scroll(): number {
    return this.kept ?? Math.round(this.pane.element.scrollTop);
  }

  /** @param scroll pixels that are scrolled away once a message is shown; null where it begins at its top */
  keepScroll(scroll: number | null): void {
    this.kept = scroll;
  }

  /** Another message was selected. */
  left(): void {
    this.awaited = null;
    this.kept = null;
  }

  /** The state of the newest replay, shown with the next message. */
  set replay(state: ReplayState | null) {
    this.state = state;
  }

  /** Asks for a message, or shows the question (null). @returns whether the question is shown */
  ask(message: number | null, opened: Opened | null): boolean {
    this.question++;
    if (message !== null) {
      const id = this.question;
      this.pane.expect(message);
      this.post({ type: 'detail', id, message });
      this.post({ type: 'why', id, message });
      return false;
    }
    if (opened === null) {
      return false;
    }
    this.why(null, this.question, opened);
    this.pane.question(opened.header);
    this.restoreScroll();
    return true;
  }

  /** Takes a message. @returns whether it is the one asked for last, and so shown */
  take(detail: MessageDetail, id: number, opened: Opened | null, drafts: readonly ReplayDraft[]): boolean {
    if (id !== this.question || opened === null) {
      return false;
    }
    const draft = drafts.find(({ message }) => message === detail.message.id);
    this.pane.message(detail, opened.defaults, this.state, draft);
    this.restoreScroll();
    return true;
  }

  /** Takes why the episode of the message was lost. */
  why(why: WhyLost | null, id: number, opened: Opened | null): void {
    if (id === this.question) {
      this.pane.why(why, this.state, opened?.defaults.unavailable === null);
    }
  }

  /** Replays a message with the numbers in the pane, once the pane shows it. */
  replayWhenShown(message: number): void {
    const here = this.pane.shows(message);
    this.awaited = here ? null : message;
    if (here) {
      this.pane.startReplay();
    }
  }

  /** The pane shows a message: a replay that waited for it begins. */
  replayAwaited(): void {
    if (this.awaited !== null) {
      this.replayWhenShown(this.awaited);
    }
  }

  private restoreScroll(): void {
    if (this.kept !== null) {
      this.pane.element.scrollTop = this.kept;
    }
    this.kept = null;
  }
}
