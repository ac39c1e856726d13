/** What one transcript panel shows: it answers its page from the store, and takes replays to the engine. */
import { AS_RECORDED } from '../../domain/replay.ts';
import {
  NO_FILTER,
  sameTarget,
  type TRANSCRIPT_PANEL,
  type TranscriptFilter,
  type TranscriptFromHost,
  type TranscriptTarget,
  type TranscriptToHost,
} from '../../shared/protocols/transcriptProtocol.ts';
import { closesWithVote, seenByVoters } from '../../shared/transcript/protocolGraph.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { Disposable } from '../common/disposables.ts';
import type { Services } from '../services.ts';
import { attempt, type Page, type SessionOf, type AnswersOf, type EventsOf } from '../webview/panelSession.ts';
import { headerOf, markedRows, messageDetail, rolesOf } from './message/messageDetail.ts';
import type { ProtocolReader } from './message/protocolReader.ts';
import { KnownVotes, votedRows } from './message/shownVote.ts';
import { remembering } from './message/verificationMarks.ts';
import { whyLost } from './message/whyLost.ts';
import type { PanelReplay } from './panelReplay.ts';
import { PanelReading } from './reading/panelReading.ts';
import { isOpen } from './reading/transcriptFilter.ts';
import { targetOf } from './reading/transcriptOutline.ts';
import type { ClassMembers } from './reading/transcriptReading.ts';

type Opened = Extract<TranscriptFromHost, { type: 'opened' }>;

export interface TranscriptSurroundings {
  /** @throws with the reason where the store is gone */
  readonly reader: () => StoreReader;
  readonly protocols: () => Promise<ProtocolReader>;
  /** The replays of this transcript. @param changed hears how far one is */
  readonly replays: (changed: (state: NonNullable<Opened['replay']>) => void) => PanelReplay;
  readonly comparing: Services['comparing'];
  /** Which messages are in which failure class; worked out by the engine. */
  readonly classesOf: (run: string) => Promise<ClassMembers>;
  /** The folder of another model, as the user chooses it; null where the question was left. */
  readonly chooseModel: () => Promise<string | null>;
  /** Finds which message lost an episode. @param show hears it */
  readonly findLost: (replay: PanelReplay, message: number, show: (message: number) => void) => Promise<void>;
  /** What replays are asked for with, and why there can be none. */
  readonly defaults: () => Opened['defaults'];
  readonly verify: (message: number) => Promise<void>;
  readonly command: (name: 'exportReport' | 'copyLink', of: { readonly message: number }) => Promise<void>;
  /** Says something that the panel does not show. */
  readonly say: (words: string) => void;
  /** Says it for a moment. */
  readonly sayBriefly: (words: string) => void;
  /** Names the tab. */
  readonly title: (words: string) => void;
}

export class TranscriptSession implements SessionOf<typeof TRANSCRIPT_PANEL> {
  private readonly page: Page<TranscriptFromHost>;
  private readonly around: TranscriptSurroundings;
  private readonly shown: PanelReading;
  private selected: number | null;
  /** The revision that was last sent to the page. */
  private sentRevision = 0;
  /** A message to be brought into sight as soon as the page has the layout that it is in. */
  private wanted: number | null = null;
  private restored = false;
  /** Number of the newest filter asked for: one that has to wait for the engine gives way to later ones. */
  private asked = 0;
  private protocols: ProtocolReader | null = null;
  private readonly votes = new KnownVotes();
  private readonly replay: PanelReplay;
  private readonly marking: Disposable;
  /** The messages whose branches are compared. */
  private pair: { readonly left: number; readonly right: number } | null = null;
  private readonly costliest = new Costliest();
  readonly answers: AnswersOf<typeof TRANSCRIPT_PANEL> = {
    // A request about a layout that the panel no longer has is answered with null.
    rows: async ({ revision, offset }) => {
      if (revision !== this.shown.revision) {
        return null;
      }
      const knowing = remembering(this.around.reader());
      const graph = this.protocols?.(knowing, this.shown.target.run) ?? null;
      const rows = markedRows(knowing, this.shown.reading.target, graph, this.shown.reading.window(knowing, offset));
      return graph !== null && closesWithVote(graph) ? await votedRows(knowing, rows, this.votes) : rows;
    },
    detail: ({ message }) => messageDetail(this.around.reader(), this.shown.target, this.protocols, message),
    why: ({ message }) => whyLost(this.around.reader(), message),
    search: ({ revision, query }) =>
      revision === this.shown.revision ? this.shown.reading.search(this.around.reader(), query) : null,
    chooseModel: () => this.around.chooseModel(),
  };
  readonly events: EventsOf<typeof TRANSCRIPT_PANEL> = {
    ready: async (event) => {
      const known = this.protocols !== null;
      this.protocols = await this.around.protocols();
      if (!known) {
        this.shown.layOut();
      }
      this.ready(event);
    },
    filter: (event) => this.change(event),
    locateRow: ({ revision, index }) => {
      const place = revision === this.shown.revision ? this.shown.reading.placeAt(index) : null;
      if (place !== null) {
        this.page.post({ type: 'reveal', place });
      }
    },
    locate: ({ message }) => this.locate(message),
    selected: ({ message }) => {
      this.selected = message;
    },
    replay: (event) => this.replay.request(event),
    replayResult: (event) => this.replay.withResult(event),
    settle: ({ message, replays }) => this.replay.settle(message, replays),
    findLost: ({ message }) => this.findLost(message),
    verify: ({ message }) => this.around.verify(message),
    exportReport: ({ message }) => this.around.command('exportReport', { message }),
    copyLink: ({ message }) => this.around.command('copyLink', { message }),
    cancelReplay: () => this.replay.cancel(),
    goToCostliest: () => this.goToCostliestMessage(),
    compare: ({ message }) => {
      const pair = this.around.comparing.choose(message);
      if (pair !== null) {
        this.compare(pair.left, pair.right);
      }
    },
    comparePair: ({ left, right }) => this.compare(left, right),
    endComparison: () => {
      this.pair = null;
    },
    openDiff: async () => {
      if (this.pair !== null) {
        await this.around.comparing.openDiff(this.pair.left, this.pair.right);
      }
    },
    showContext: ({ message }) =>
      this.around.comparing.openContext(message, this.around.reader().message(message).role),
  };

  constructor(
    target: TranscriptTarget,
    selected: number | null,
    page: Page<TranscriptFromHost>,
    around: TranscriptSurroundings,
  ) {
    this.page = page;
    this.around = around;
    this.shown = new PanelReading(around.reader, target, (run) => {
      const graph = this.protocols?.(around.reader(), run) ?? null;
      return graph === null ? null : seenByVoters(graph);
    });
    this.selected = selected;
    this.replay = around.replays((state) => page.postNewest({ type: 'replay', state }));
    this.marking = around.comparing.onDidMark((message) => page.post({ type: 'marked', message }));
  }

  /** The message that the user looks at. */
  get selection(): number | null {
    return this.selected;
  }

  /** The run of the transcript. */
  get run(): string {
    return this.shown.target.run;
  }

  /** Whether the panel shows this transcript. */
  shows(target: TranscriptTarget): boolean {
    return sameTarget(this.shown.target, target);
  }

  /** Shows a message, of this or of another transcript. */
  show(target: TranscriptTarget, message: number | null): void {
    attempt(this.page, () => {
      this.selected = message;
      this.wanted = null;
      if (!this.shows(target)) {
        this.shown.change(target);
        this.open([], message === null ? [] : [message]);
        return;
      }
      if (message !== null) {
        this.reveal(message);
      }
    });
  }

  /** The message tree takes the keyboard. */
  focus(): void {
    this.page.post({ type: 'focus' });
  }

  /**
   * Selects the lowest-credit message, or the clearest candidate: of the episode of the selected message, else of the
   * transcript.
   * @param orSay whether to say which, or that there is none
   */
  goToCostliestMessage({ orSay = true }: { readonly orSay?: boolean } = {}): void {
    attempt(this.page, () => {
      const found = this.costliest.find(this.around.reader(), this.shown.target, this.selected);
      if (typeof found === 'string') {
        if (orSay) {
          this.around.say(found);
        }
        return;
      }
      this.show(this.shown.target, found.message);
      if (orSay) {
        this.around.sayBriefly(found.words);
      }
    });
  }

  /** Replays a message with the defaults of the settings. */
  replayMessage(message: number): void {
    const { alternatives, replays } = this.around.defaults();
    const sampled = { text: null, independent: false, continuation: AS_RECORDED };
    this.showFailureOf(this.replay.begin({ message, alternatives, replays, ...sampled }));
  }

  /** Finds which message lost an episode, and goes there. */
  findLost(message: number): Promise<void> {
    return this.around.findLost(this.replay, message, (found) =>
      this.show(targetOf(this.around.reader(), found), found),
    );
  }

  /** Shows where two branches part. */
  showComparison(left: number, right: number): void {
    attempt(this.page, () => this.compare(left, right));
  }

  /** Looks whether the transcript grew; the page then asks for it again, with what it wants to keep in sight. */
  storeChanged(): void {
    attempt(this.page, () => {
      if (this.shown.catchUp()) {
        this.page.postNewest({ type: 'changed' });
      }
    });
  }

  dispose(): void {
    this.replay.dispose();
    this.marking.dispose();
  }

  private compare(left: number, right: number): void {
    const comparison = this.around.comparing.compare(left, right);
    this.pair = { left, right };
    this.page.post({ type: 'comparison', comparison });
  }

  private ready(message: Extract<TranscriptToHost, { type: 'ready' }>): void {
    this.selected ??= message.selected;
    // A panel that came back after a reload keeps its filter; later the word of this side holds.
    const fresh = !this.restored;
    this.restored = true;
    // What came while no page listened was not looked at.
    this.shown.catchUp();
    if (fresh && !isOpen(message.filter)) {
      this.change(message);
    } else {
      this.open(message.collapsed, message.others);
    }
  }

  private change({
    filter,
    collapsed,
    others,
  }: Pick<Extract<TranscriptToHost, { type: 'filter' }>, 'filter' | 'collapsed' | 'others'>): void {
    const number = ++this.asked;
    if (filter.label?.startsWith('class:') === true && this.shown.classes === null) {
      const { target } = this.shown;
      this.showFailureOf(
        this.findClasses().then(
          () => {
            if (number === this.asked && target === this.shown.target) {
              this.filterBy(filter, collapsed, others);
            }
          },
          (error: unknown) => {
            if (number === this.asked) {
              this.open(collapsed, others);
            }
            throw error;
          },
        ),
      );
    } else {
      this.filterBy(filter, collapsed, others);
    }
  }

  /** Puts a filter in force and sends the layout under it. */
  private filterBy(filter: TranscriptFilter, folded: readonly number[], others: readonly number[]): void {
    this.shown.filterBy(filter);
    this.open(folded, others);
  }

  private async findClasses(): Promise<void> {
    const { run } = this.shown.target;
    const classes = await this.around.classesOf(run);
    if (run === this.shown.target.run) {
      this.shown.classes = classes;
    }
  }

  /**
   * Brings a message into sight; a filter that hides it goes. Where that makes another layout, the page first asks for
   * it.
   */
  private reveal(message: number): void {
    this.wanted = message;
    let other = this.shown.catchUp();
    if (this.shown.reading.hides(message)) {
      this.shown.filterBy(NO_FILTER);
      other = true;
    }
    if (other) {
      this.page.post({ type: 'changed' });
    }
    this.tellWanted();
  }

  /** A place is sent to a page that has its layout only. */
  private tellWanted(): void {
    if (this.wanted === null || !this.page.isListening || this.sentRevision !== this.shown.revision) {
      return;
    }
    const place = this.shown.reading.place(this.wanted);
    this.wanted = null;
    if (place !== null) {
      this.page.post({ type: 'reveal', place });
    }
  }

  /** Shows in the page that work failed after its event was handled. */
  private showFailureOf(work: Promise<void>): void {
    work.catch((error: unknown) => this.page.fail(error));
  }

  /** Sends everything that a page needs to draw itself. */
  private open(folded: readonly number[], others: readonly number[]): void {
    const reader = this.around.reader();
    const { target, filter } = this.shown;
    const landmarks = this.selected === null ? others : [...others, this.selected];
    const header = headerOf(reader, target, this.protocols);
    this.around.title(header.question.replaceAll(/\s+/gu, ' ').slice(0, 40));
    this.page.post({
      type: 'opened',
      target,
      header,
      layout: this.shown.layout(folded, landmarks),
      selected: this.selected,
      defaults: this.around.defaults(),
      replay: this.replay.state,
      filter,
      choices: { roles: rolesOf(header), labels: reader.labelNames(target.run) },
      marked: this.around.comparing.marked,
    });
    this.sentRevision = this.shown.revision;
    this.tellWanted();
  }

  private locate(message: number): void {
    // The page may name what came since the store was last looked at.
    if (this.shown.catchUp()) {
      this.page.post({ type: 'changed' });
    }
    const { reading } = this.shown;
    if (reading.place(message) === null && !reading.hides(message)) {
      this.show(targetOf(this.around.reader(), message), message);
    } else {
      this.reveal(message);
    }
  }
}

// Which message of an episode has the lowest credit, or how to find out.

/** The message to go to. */
interface LowestCredit {
  readonly message: number;
  /** What it is: the lowest-credit message, or the clearest candidate only, where no interval lies below 0. */
  readonly words: string;
}

/** The lowest-credit message that a panel went to last. */
class Costliest {
  /** It, and the message of whose episode it was: while it is selected, that episode is meant. */
  private last: { readonly message: number; readonly of: number | null } | null = null;

  /** As `costliestMessage`. @param selected null where none is */
  find(
    reader: Parameters<typeof costliestMessage>[0],
    target: TranscriptTarget,
    selected: number | null,
  ): LowestCredit | string {
    const of = this.last?.message === selected ? this.last.of : selected;
    const found = costliestMessage(reader, target, of);
    if (typeof found !== 'string') {
      this.last = { message: found.message, of };
    }
    return found;
  }
}

/**
 * The lowest-credit message of the episodes that go through a message, or of the whole transcript; where none is
 * decided, the clearest candidate.
 * @param chosen null where none is
 * @returns the message, or one sentence where there is none to go to
 */
export function costliestMessage(
  reader: Pick<StoreReader, 'costliestOf' | 'costliestThrough'>,
  target: TranscriptTarget,
  chosen: number | null,
): LowestCredit | string {
  const found = chosen === null ? reader.costliestOf(target) : reader.costliestThrough(chosen);
  const where = chosen === null ? 'transcript' : 'episode';
  if (found !== null) {
    return {
      message: found.message,
      words: found.decided
        ? `Lowest-credit message of this ${where}.`
        : `Clearest candidate of this ${where}; no message is known to have hurt.`,
    };
  }
  return `No message of this ${where} has a credit that is below 0 or undecided: choose one and replay its alternatives (R in the message tree) to measure what it was worth.`;
}
