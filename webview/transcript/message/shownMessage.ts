/** What the pane shows: asks for a message, takes the answer to the newest question only, and replays it when asked. */
import type { ReplayDraft } from '../../../src/shared/protocols/replayDraft.ts';
import type {
  MessageDetail,
  ReplayState,
  TranscriptFromHost,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import type { WhyLost } from '../../../src/shared/transcript/whyLost.ts';
import type { Asking } from '../asking.ts';
import type { DetailPane } from './detail.ts';

type Opened = Extract<TranscriptFromHost, { type: 'opened' }>;

interface ShownContext {
  /** Null before there is a layout. */
  readonly opened: Opened | null;
  readonly drafts: readonly ReplayDraft[];
}

export class ShownMessage {
  private readonly pane: DetailPane;
  private readonly asking: Asking;
  /** Hears of a message that the pane shows now. */
  private readonly onShown: (detail: MessageDetail) => void;
  /** Only the answer to the newest question is shown. */
  private question = 0;
  /** A message to be replayed as soon as the pane shows it, with the numbers that are in the pane. */
  private awaited: number | null = null;
  private state: ReplayState | null = null;
  /** Where the pane was scrolled to before the page was thrown away, until its message is there again. */
  private kept: number | null = null;

  constructor(pane: DetailPane, asking: Asking, onShown: (detail: MessageDetail) => void) {
    this.pane = pane;
    this.asking = asking;
    this.onShown = onShown;
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

  /**
   * Asks for a message, or shows the question (null).
   * @param context what the page shows, and what is begun, by the time that the answer is here
   * @returns whether the question is shown
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
