/** The session of a transcript panel: answers its page from the store and starts replays. */

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
import { closesWithVote, listSeenByVoters } from '../../shared/transcript/protocolGraph.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { Disposable } from '../common/disposables.ts';
import type { Services } from '../services.ts';
import { attemptForPage, type Page, type SessionOf, type AnswersOf, type EventsOf } from '../webview/panelSession.ts';
import { readTranscriptHeader, addMarks, readMessageDetail, listProtocolRoles } from './message/messageDetail.ts';
import type { ProtocolReader } from './message/protocolReader.ts';
import { KnownVotes, addVotes } from './message/shownVote.ts';
import { cacheMessages } from './message/verificationMarks.ts';
import { summarizeLoss } from './message/whyLost.ts';
import type { PanelReplay } from './panelReplay.ts';
import { PanelReading } from './reading/panelReading.ts';
import { isOpenFilter } from './reading/transcriptFilter.ts';
import { findTranscriptTarget } from './reading/transcriptOutline.ts';
import type { ClassMembers } from './reading/transcriptReading.ts';

type Opened = Extract<TranscriptFromHost, { type: 'opened' }>;

export interface TranscriptSurroundings {
  /** @throws if the store no longer exists, with the reason */
  readonly reader: () => StoreReader;
  readonly protocols: () => Promise<ProtocolReader>;
  /** Creates the replays of this transcript. @param changed called with each new state of a replay */
  readonly replays: (changed: (state: NonNullable<Opened['replay']>) => void) => PanelReplay;
  readonly comparing: Services['comparing'];
  /** Asks the engine for the messages of each failure class. */
  readonly classesOf: (run: string) => Promise<ClassMembers>;
  /** Asks for the folder of another model. Returns null if the user canceled. */
  readonly chooseModel: () => Promise<string | null>;
  /** Finds the message that lost an episode. @param show called with that message */
  readonly findLost: (replay: PanelReplay, message: number, show: (message: number) => void) => Promise<void>;
  /** Returns the initial settings of replays, and the reason if there can be none. */
  readonly defaults: () => Opened['defaults'];
  readonly verify: (message: number) => Promise<void>;
  readonly command: (name: 'exportReport' | 'copyLink', of: { readonly message: number }) => Promise<void>;
  /** Shows a notification. */
  readonly say: (words: string) => void;
  /** Shows a text in the status bar for a moment. */
  readonly sayBriefly: (words: string) => void;
  /** Sets the title of the tab. */
  readonly title: (words: string) => void;
}

export class TranscriptSession implements SessionOf<typeof TRANSCRIPT_PANEL> {
  private readonly page: Page<TranscriptFromHost>;
  private readonly around: TranscriptSurroundings;
  private readonly shown: PanelReading;
  private selected: number | null;
  /** The revision that was last sent to the page. */
  private sentRevision = 0;
  /** The message to reveal once the page has the layout that contains it. */
  private wanted: number | null = null;
  private restored = false;
  /** Number of the newest requested filter. It supersedes an earlier one that still waits for the engine. */
  private asked = 0;
  private protocols: ProtocolReader | null = null;
  private readonly votes = new KnownVotes();
  private readonly replay: PanelReplay;
  private readonly marking: Disposable;
  /** The messages whose branches are compared. */
  private pair: { readonly left: number; readonly right: number } | null = null;
  private readonly costliest = new Costliest();
  readonly answers: AnswersOf<typeof TRANSCRIPT_PANEL> = {
    // A request about an outdated layout is answered with null.
    rows: async ({ revision, offset }) => {
      if (revision !== this.shown.revision) {
        return null;
      }
      const knowing = cacheMessages(this.around.reader());
      const graph = this.protocols?.(knowing, this.shown.target.run) ?? null;
      const rows = addMarks(knowing, this.shown.reading.target, graph, this.shown.reading.window(knowing, offset));
      return graph !== null && closesWithVote(graph) ? await addVotes(knowing, rows, this.votes) : rows;
    },
    detail: ({ message }) => readMessageDetail(this.around.reader(), this.shown.target, this.protocols, message),
    why: ({ message }) => summarizeLoss(this.around.reader(), message),
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
      return graph === null ? null : listSeenByVoters(graph);
    });
    this.selected = selected;
    this.replay = around.replays((state) => page.postNewest({ type: 'replay', state }));
    this.marking = around.comparing.onDidMark((message) => page.post({ type: 'marked', message }));
  }

  /** The selected message, or null. */
  get selection(): number | null {
    return this.selected;
  }

  get run(): string {
    return this.shown.target.run;
  }

  /** Returns true if the panel shows this transcript. */
  shows(target: TranscriptTarget): boolean {
    return sameTarget(this.shown.target, target);
  }

  /** Shows a message of this or another transcript. */
  show(target: TranscriptTarget, message: number | null): void {
    attemptForPage(this.page, () => {
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

  /** Moves the keyboard focus to the message tree. */
  focus(): void {
    this.page.post({ type: 'focus' });
  }

  /**
   * Selects the lowest-credit message or the clearest candidate in the episode of the selected message,
   * or in the transcript if none is selected.
   * @param orSay true to show a text about the result
   */
  goToCostliestMessage({ orSay = true }: { readonly orSay?: boolean } = {}): void {
    attemptForPage(this.page, () => {
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

  /** Finds the message that lost an episode, and goes there. */
  findLost(message: number): Promise<void> {
    return this.around.findLost(this.replay, message, (found) =>
      this.show(findTranscriptTarget(this.around.reader(), found), found),
    );
  }

  /** Shows the comparison of two branches. */
  showComparison(left: number, right: number): void {
    attemptForPage(this.page, () => this.compare(left, right));
  }

  /**
   * Tells the page if the transcript has changed. The page then requests it again, with the messages to
   * keep in view.
   */
  storeChanged(): void {
    attemptForPage(this.page, () => {
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
    // A restored panel keeps the filter of its page. After that, the filter of this session counts.
    const fresh = !this.restored;
    this.restored = true;
    // Changes that arrived while no page was listening.
    this.shown.catchUp();
    if (fresh && !isOpenFilter(message.filter)) {
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

  /** Applies a filter and sends the new layout. */
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

  /** Reveals a message and removes a filter that hides it. The page first requests a changed layout. */
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

  /** Sends the place of the wanted message, if the page has the present layout. */
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

  /** Shows in the page a failure of work that outlives the handling of its event. */
  private showFailureOf(work: Promise<void>): void {
    work.catch((error: unknown) => this.page.fail(error));
  }

  /** Sends all that a page needs to draw itself. */
  private open(folded: readonly number[], others: readonly number[]): void {
    const reader = this.around.reader();
    const { target, filter } = this.shown;
    const landmarks = this.selected === null ? others : [...others, this.selected];
    const header = readTranscriptHeader(reader, target, this.protocols);
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
      choices: { roles: listProtocolRoles(header), labels: reader.labelNames(target.run) },
      marked: this.around.comparing.marked,
    });
    this.sentRevision = this.shown.revision;
    this.tellWanted();
  }

  private locate(message: number): void {
    // The page may name a message that was added since the last update.
    if (this.shown.catchUp()) {
      this.page.post({ type: 'changed' });
    }
    const { reading } = this.shown;
    if (reading.place(message) === null && !reading.hides(message)) {
      this.show(findTranscriptTarget(this.around.reader(), message), message);
    } else {
      this.reveal(message);
    }
  }
}

// The lowest-credit message of an episode

/** The message to select. */
interface LowestCredit {
  readonly message: number;
  /** A sentence that says if it is the lowest-credit message or only the clearest candidate. */
  readonly words: string;
}

/** Remembers the last lowest-credit message that a panel selected. */
class Costliest {
  /**
   * The message found last, and the message from whose episode it came. That episode is used again while
   * the found message is selected.
   */
  private last: { readonly message: number; readonly of: number | null } | null = null;

  /** Works like `findCostliestMessage`. @param selected the selected message, or null */
  find(
    reader: Parameters<typeof findCostliestMessage>[0],
    target: TranscriptTarget,
    selected: number | null,
  ): LowestCredit | string {
    const of = this.last?.message === selected ? this.last.of : selected;
    const found = findCostliestMessage(reader, target, of);
    if (typeof found !== 'string') {
      this.last = { message: found.message, of };
    }
    return found;
  }
}

/**
 * Finds the lowest-credit message of the episodes through a message, or of the whole transcript. If no
 * credit is decided, finds the clearest candidate.
 * @param chosen the message, or null for the whole transcript
 * @returns the message, or one sentence if there is none
 */
export function findCostliestMessage(
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
