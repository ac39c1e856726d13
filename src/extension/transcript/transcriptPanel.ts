/** One transcript panel: answers what its page asks from the store, and takes replays to the engine. */
import { commands, window, type WebviewPanel } from 'vscode';
import { AS_RECORDED } from '../../domain/replay.ts';
import { messageOf } from '../../shared/errors.ts';
import { protocolReader, type ProtocolReader } from './message/protocolReader.ts';
import {
  TRANSCRIPT_PANEL,
  NO_FILTER,
  sameTarget,
  type TranscriptFilter,
  type TranscriptFromHost,
  type TranscriptTarget,
  type TranscriptToHost,
} from '../../shared/protocols/transcriptProtocol.ts';
import { replyTo } from '../../shared/protocols/requests.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { classMembers } from './reading/classMembers.ts';
import { Costliest } from './costliest.ts';
import { findLost } from './findLost.ts';
import { Disposables } from '../common/disposables.ts';
import { headerOf, rolesOf } from './message/messageDetail.ts';
import { panelAnswers } from './panelAnswers.ts';
import { PanelComparison } from './panelComparison.ts';
import { PanelReading } from './reading/panelReading.ts';
import { PanelReplay } from './panelReplay.ts';
import type { Services } from '../services.ts';
import { replayDefaults } from '../common/settings.ts';
import { targetOf } from './reading/transcriptOutline.ts';
import { isOpen } from './reading/transcriptFilter.ts';
import { transcriptStore } from './reading/transcriptStore.ts';
import { WebviewDoor } from '../webview/webviewDoor.ts';

/** Milliseconds that the status bar says which message was gone to. */
const SHORTLY = 5000;

export class TranscriptPanel {
  readonly panel: WebviewPanel;
  private readonly services: Services;
  private readonly disposables = new Disposables();
  private readonly door: WebviewDoor<TranscriptToHost, TranscriptFromHost>;
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
  private readonly replay: PanelReplay;
  private readonly comparison: PanelComparison;
  private readonly answers: ReturnType<typeof panelAnswers>;
  private readonly costliest = new Costliest();
  private readonly reader = (): StoreReader => transcriptStore(this.services);

  constructor(panel: WebviewPanel, services: Services, target: TranscriptTarget, selected: number | null) {
    this.panel = panel;
    this.services = services;
    this.shown = new PanelReading(this.reader, target);
    this.selected = selected;
    this.door = new WebviewDoor(panel, TRANSCRIPT_PANEL, services, (message) => {
      this.guarded(() => {
        this.receive(message);
      });
    });
    this.disposables.add(
      services.store.onDidChange(() => {
        this.guarded(() => {
          this.refresh();
        });
      }),
    );
    this.disposables.add(
      services.comparing.onDidMark((message) => {
        this.door.post({ type: 'marked', message });
      }),
    );
    this.answers = panelAnswers({
      shown: this.shown,
      reader: this.reader,
      protocols: () => this.protocols,
      modelFolders: services.modelFolders,
    });
    this.comparison = new PanelComparison(services.comparing, (message) => {
      this.door.post(message);
    });
    this.replay = new PanelReplay(services, (state) => {
      this.door.postNewest({ type: 'replay', state });
    });
    panel.onDidDispose(() => {
      this.replay.dispose();
      this.disposables.dispose();
    });
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
    this.guarded(() => {
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

  /** Brings the panel to the front; the message tree has the keyboard. */
  focus(): void {
    this.panel.reveal(undefined, false);
    this.door.post({ type: 'focus' });
  }

  /**
   * Selects the lowest-credit message, or the clearest candidate: of the episode of the selected message, else of the
   * transcript.
   * @param orSay whether to say which, or that there is none
   */
  goToCostliestMessage({ orSay = true }: { readonly orSay?: boolean } = {}): void {
    this.guarded(() => {
      const found = this.costliest.find(this.reader(), this.shown.target, this.selected);
      if (typeof found === 'string') {
        if (orSay) {
          void window.showInformationMessage(found);
        }
        return;
      }
      this.show(this.shown.target, found.message);
      if (orSay) {
        window.setStatusBarMessage(found.words, SHORTLY);
      }
    });
  }

  /** Replays a message with the defaults of the settings. */
  replayMessage(message: number): void {
    const { alternatives, replays } = replayDefaults();
    const sampled = { text: null, independent: false, continuation: AS_RECORDED };
    this.later(this.replay.begin({ message, alternatives, replays, ...sampled }));
  }

  /** Finds which message lost an episode, and goes there. */
  findLost(message: number): Promise<void> {
    const { engine, store } = this.services;
    const place = { engine, store, replay: this.replay, reader: this.reader };
    return findLost(place, message, (found) => {
      this.show(targetOf(this.reader(), found), found);
    });
  }

  private receive(message: TranscriptToHost): void {
    switch (message.type) {
      case 'ready':
        this.later(
          protocolReader().then((protocols) => {
            this.protocols = protocols;
            this.ready(message);
          }),
        );
        break;
      case 'filter':
        this.change(message);
        break;
      case 'request':
        this.later(
          replyTo(this.answers, message).then((reply) => {
            this.door.post(reply);
          }),
        );
        break;
      case 'locateRow':
        this.locateRow(message.revision, message.index);
        break;
      case 'locate':
        this.locate(message.message);
        break;
      case 'selected':
        this.selected = message.message;
        break;
      case 'replay':
        this.later(this.replay.request(message));
        break;
      case 'replayResult':
        this.later(this.replay.withResult(message));
        break;
      case 'settle':
        this.later(this.replay.settle(message.message, message.replays));
        break;
      case 'findLost':
        this.later(this.findLost(message.message));
        break;
      case 'verify':
        void this.services.verifier.verify(message.message);
        break;
      case 'exportReport':
      case 'copyLink':
        void commands.executeCommand(`c3.${message.type}`, { message: message.message });
        break;
      case 'cancelReplay':
        this.replay.cancel();
        break;
      case 'goToCostliest':
        this.goToCostliestMessage();
        break;
      case 'compare':
        this.comparison.choose(message.message);
        break;
      case 'comparePair':
        this.comparison.show(message.left, message.right);
        break;
      case 'endComparison':
        this.comparison.end();
        break;
      case 'openDiff':
        this.later(this.comparison.openDiff());
        break;
      case 'showContext':
        this.later(this.services.comparing.openContext(message.message, this.reader().message(message.message).role));
        break;
    }
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
      this.later(
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
    const classes = await classMembers(this.services, run);
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
      this.door.post({ type: 'changed' });
    }
    this.tellWanted();
  }

  /** A place is sent to a page that has its layout only. */
  private tellWanted(): void {
    if (this.wanted === null || !this.door.open || this.sentRevision !== this.shown.revision) {
      return;
    }
    const place = this.shown.reading.place(this.wanted);
    this.wanted = null;
    if (place !== null) {
      this.door.post({ type: 'reveal', place });
    }
  }

  private locateRow(revision: number, index: number): void {
    const place = revision === this.shown.revision ? this.shown.reading.placeAt(index) : null;
    if (place !== null) {
      this.door.post({ type: 'reveal', place });
    }
  }

  /** Shows where two branches part. */
  showComparison(left: number, right: number): void {
    this.guarded(() => {
      this.comparison.show(left, right);
    });
  }

  /** A failure of work that ends later is reported as any other. */
  private later(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.guarded(() => {
        throw error;
      });
    });
  }

  /** Sends everything that a page needs to draw itself. */
  private open(folded: readonly number[], others: readonly number[]): void {
    const reader = this.reader();
    const { target, filter } = this.shown;
    const landmarks = this.selected === null ? others : [...others, this.selected];
    const header = headerOf(reader, target, this.protocols);
    this.panel.title = header.question.replaceAll(/\s+/gu, ' ').slice(0, 40);
    this.door.post({
      type: 'opened',
      target,
      header,
      layout: this.shown.layout(folded, landmarks),
      selected: this.selected,
      defaults: { ...replayDefaults(), unavailable: this.services.engine.unavailable() },
      replay: this.replay.state,
      filter,
      choices: { roles: rolesOf(header), labels: reader.labelNames(target.run) },
      marked: this.services.comparing.marked,
    });
    this.sentRevision = this.shown.revision;
    this.tellWanted();
  }

  private locate(message: number): void {
    // The page may name what came since the store was last looked at.
    if (this.shown.catchUp()) {
      this.door.post({ type: 'changed' });
    }
    const { reading } = this.shown;
    if (reading.place(message) === null && !reading.hides(message)) {
      this.show(targetOf(this.reader(), message), message);
    } else {
      this.reveal(message);
    }
  }

  /** Looks whether the transcript grew; the page then asks for it again, with what it wants to keep in sight. */
  private refresh(): void {
    if (this.door.open && this.shown.catchUp()) {
      this.door.postNewest({ type: 'changed' });
    }
  }

  /** A failure is shown in the panel itself. */
  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.services.log.error(messageOf(error));
      this.door.post({ type: 'failed', message: messageOf(error) });
    }
  }
}
