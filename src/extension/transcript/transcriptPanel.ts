/** One transcript panel: answers what its page asks from the store, and takes replays to the engine. */
import { commands, window, type WebviewPanel } from 'vscode';
import { estimatesOf } from '../../report/estimates.ts';
import { AS_RECORDED } from '../../shared/records/continuation.ts';
import { C3Error, messageOf } from '../../shared/errors.ts';
import { NO_FILTER as ALL_CASES } from '../../shared/records/taxonomy.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { roundTitle } from '../../shared/records/evaluationRounds.ts';
import { drawsOf } from '../../shared/records/draws.ts';
import type { Message } from '../../shared/records/records.ts';
import { protocolReader, type ProtocolReader } from './protocolReader.ts';
import {
  TRANSCRIPT_PANEL,
  NO_FILTER,
  type DrawnBucket,
  type MarkedRow,
  type MessageDetail,
  type RowPlace,
  type TranscriptFilter,
  type TranscriptFromHost,
  type TranscriptHeader,
  type TranscriptTarget,
  type TranscriptToHost,
} from '../../shared/protocols/transcriptProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { continuationsOf } from './continuations.ts';
import { costliestMessage } from './costliest.ts';
import { confirmed } from '../webview/confirm.ts';
import { Disposables } from '../common/disposables.ts';
import { PanelReplay } from './panelReplay.ts';
import type { Services } from '../services.ts';
import { replayDefaults } from '../common/settings.ts';
import { targetOf } from './transcriptOutline.ts';
import { isOpen } from './transcriptFilter.ts';
import { TranscriptReading, type ClassMembers } from './transcriptReading.ts';
import { remembering, VerificationMarks } from './verificationMarks.ts';
import { WebviewDoor } from '../webview/webviewDoor.ts';
import { whyLost } from './whyLost.ts';

/** Request buckets shown for one message, newest first. */
const REQUESTS_SHOWN = 12;
/** Alternatives shown of one bucket; every other one has its row in the tree. */
const ALTERNATIVES_SHOWN = 100;

type ReplayMessage = Extract<TranscriptToHost, { type: 'replay' }>;

/** Milliseconds that the status bar says which message was gone to. */
const SHORTLY = 5000;

export class TranscriptPanel {
  readonly panel: WebviewPanel;
  private readonly services: Services;
  private readonly disposables = new Disposables();
  private readonly door: WebviewDoor<TranscriptToHost, TranscriptFromHost>;
  private target: TranscriptTarget;
  private selected: number | null;
  private read: TranscriptReading | null = null;
  private filter: TranscriptFilter = NO_FILTER;
  /** Members of the failure classes by the workspace's thresholds, once a filter asked for one. */
  private classes: ClassMembers | null = null;
  private revision = 0;
  /** The revision that the page was last told. */
  private told = 0;
  /** A message to be brought into sight as soon as the page has the layout that it stands in. */
  private wanted: number | null = null;
  private restored = false;
  /** Number of the newest filter asked for: one that has to wait for the engine gives way to later ones. */
  private asked = 0;
  private protocols: ProtocolReader | null = null;
  private readonly replay: PanelReplay;
  /** The messages whose branches are compared. */
  private compared: { readonly left: number; readonly right: number } | null = null;
  /** The lowest-credit message, and the one of whose episode it was: while it is selected, that episode is meant. */
  private costliest: { readonly message: number; readonly of: number | null } | null = null;

  constructor(panel: WebviewPanel, services: Services, target: TranscriptTarget, selected: number | null) {
    this.panel = panel;
    this.services = services;
    this.target = target;
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

  /** Whether the panel shows this transcript. */
  shows(target: TranscriptTarget): boolean {
    const own = this.target;
    return (
      own.run === target.run &&
      own.phase === target.phase &&
      own.iteration === target.iteration &&
      own.instance === target.instance
    );
  }

  /** Shows a message, of this or of another transcript. */
  show(target: TranscriptTarget, message: number | null): void {
    this.guarded(() => {
      this.selected = message;
      this.wanted = null;
      if (!this.shows(target)) {
        this.target = target;
        this.read = null;
        this.filter = NO_FILTER;
        this.classes = null;
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
      const of =
        this.costliest !== null && this.costliest.message === this.selected ? this.costliest.of : this.selected;
      const found = costliestMessage(this.reader(), this.target, of);
      if (typeof found === 'string') {
        if (orSay) {
          void window.showInformationMessage(found);
        }
        return;
      }
      this.costliest = { message: found.message, of };
      this.show(this.target, found.message);
      if (orSay) {
        window.setStatusBarMessage(found.words, SHORTLY);
      }
    });
  }

  /** Replays a message with the defaults of the settings. */
  replayMessage(message: number): void {
    const { alternatives, replays } = replayDefaults();
    const sampled = { text: null, independent: false, continuation: AS_RECORDED };
    this.guarded(() => {
      this.replay.start({ message, alternatives, replays, ...sampled });
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
      case 'rows':
        this.rows(message.revision, message.offset);
        break;
      case 'detail':
        this.door.post({ type: 'detail', id: message.id, detail: this.detail(message.message) });
        break;
      case 'why':
        this.door.post({ type: 'why', id: message.id, why: whyLost(this.reader(), message.message) });
        break;
      case 'locate':
        this.locate(message.message);
        break;
      case 'selected':
        this.selected = message.message;
        break;
      case 'replay':
        this.startReplay(message);
        break;
      case 'settle':
        this.replay.settle(message.message, message.replays);
        break;
      case 'verify':
        void this.services.verifier.verify(message.message);
        break;
      case 'exportReport':
      case 'copyLink':
        void commands.executeCommand(`c3.${message.type}`, { message: message.message });
        break;
      case 'chooseModel':
        this.later(this.chooseModel());
        break;
      case 'cancelReplay':
        this.replay.cancel();
        break;
      case 'goToCostliest':
        this.goToCostliestMessage();
        break;
      case 'locateRow':
        this.locateRow(message.revision, message.index);
        break;
      case 'search':
        if (message.revision === this.revision) {
          this.door.post({
            type: 'found',
            revision: this.revision,
            hits: this.reading().search(this.reader(), message.query),
          });
        }
        break;
      case 'compare':
        this.compare(message.message);
        break;
      case 'comparePair':
        this.showComparison(message.left, message.right);
        break;
      case 'endComparison':
        this.compared = null;
        break;
      case 'openDiff':
        if (this.compared !== null) {
          this.later(this.services.comparing.openDiff(this.compared.left, this.compared.right));
        }
        break;
      case 'showContext':
        this.later(
          this.services.comparing.openContext(message.message, this.reader().message(message.message).eventType),
        );
        break;
    }
  }

  private ready(message: Extract<TranscriptToHost, { type: 'ready' }>): void {
    this.selected ??= message.selected;
    // A panel that came back after a reload keeps its filter; later the word of this side holds.
    const fresh = !this.restored;
    this.restored = true;
    // What came while no page listened was not looked at.
    this.catchUp();
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
    if (filter.label?.startsWith('class:') === true && this.classes === null) {
      const { target } = this;
      this.later(
        this.findClasses().then(
          () => {
            if (number === this.asked && target === this.target) {
              this.sift(filter, collapsed, others);
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
      this.sift(filter, collapsed, others);
    }
  }

  /** Puts a filter in force and sends the layout under it. */
  private sift(filter: TranscriptFilter, folded: readonly number[], others: readonly number[]): void {
    this.read = this.reading().sifted(this.reader(), filter, this.classes);
    this.filter = filter;
    this.revision++;
    this.open(folded, others);
  }

  private async findClasses(): Promise<void> {
    const { run } = this.target;
    const { rows } = await this.services.engine
      .client()
      .taxonomy({
        run,
        thresholds: this.services.thresholds.get(),
        filter: ALL_CASES,
        limit: Number.MAX_SAFE_INTEGER,
        fresh: true,
      });
    if (run === this.target.run) {
      this.classes = new Map(
        [...Map.groupBy(rows, ({ verdict }) => verdict)].map(([verdict, cases]) => [
          verdict,
          new Set(cases.flatMap(({ message }) => message ?? [])),
        ]),
      );
    }
  }

  /**
   * Brings a message into sight; a filter that hides it goes. Where that makes another layout, the page first asks for
   * it.
   */
  private reveal(message: number): void {
    this.wanted = message;
    let other = this.catchUp();
    if (this.reading().hides(message)) {
      this.read = this.reading().sifted(this.reader(), NO_FILTER, this.classes);
      this.filter = NO_FILTER;
      this.revision++;
      other = true;
    }
    if (other) {
      this.door.post({ type: 'changed' });
    }
    this.tellWanted();
  }

  /** A place is told to a page that has its layout only. */
  private tellWanted(): void {
    if (this.wanted === null || !this.door.open || this.told !== this.revision) {
      return;
    }
    const place = this.reading().place(this.wanted);
    this.wanted = null;
    if (place !== null) {
      this.door.post({ type: 'reveal', place });
    }
  }

  private locateRow(revision: number, index: number): void {
    const place = revision === this.revision ? this.reading().placeAt(index) : null;
    if (place !== null) {
      this.door.post({ type: 'reveal', place });
    }
  }

  private compare(message: number): void {
    const pair = this.services.comparing.choose(message);
    if (pair !== null) {
      this.showComparison(pair.left, pair.right);
    }
  }

  /** Shows where two branches part. */
  showComparison(left: number, right: number): void {
    this.guarded(() => {
      const comparison = this.services.comparing.compare(left, right);
      this.compared = { left, right };
      this.door.post({ type: 'comparison', comparison });
    });
  }

  /** A failure of work that ends later is told as any other. */
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
    const reading = this.reading();
    const landmarks = this.selected === null ? others : [...others, this.selected];
    const places = [...new Set([...folded, ...landmarks])]
      .map((id) => reading.place(id))
      .filter((place): place is RowPlace => place !== null);
    const near = [...new Set(landmarks)].flatMap((message) => {
      const index = reading.nearest(message);
      return index === null ? [] : [{ message, index }];
    });
    const header = headerOf(reader, this.target, this.protocols);
    this.panel.title = header.question.replaceAll(/\s+/gu, ' ').slice(0, 40);
    this.door.post({
      type: 'opened',
      target: this.target,
      header,
      layout: { revision: this.revision, ...reading.sizes, places, near },
      selected: this.selected,
      defaults: { ...replayDefaults(), unavailable: this.services.engine.unavailable() },
      replay: this.replay.state,
      filter: this.filter,
      choices: { roles: rolesOf(header), labels: reader.labelNames(this.target.run) },
      marked: this.services.comparing.marked,
    });
    this.told = this.revision;
    this.tellWanted();
  }

  private rows(revision: number, offset: number): void {
    if (revision !== this.revision) {
      return;
    }
    const reader = remembering(this.reader());
    const marks = new VerificationMarks(reader);
    const rows = this.reading()
      .window(reader, offset)
      .map((row): MarkedRow => {
        const { message, lane, branch } = row;
        if (message === null || lane !== null) {
          return { ...row, verification: null, other: null };
        }
        return { ...row, verification: marks.of(message, branch), other: branch ? marks.otherOf(message) : null };
      });
    this.door.post({ type: 'rows', revision, offset, rows });
  }

  private detail(id: number): MessageDetail {
    const reader = this.reader();
    const [message, decision, known] = [
      reader.message(id),
      reader.decision(id),
      reader.bucketsFor(id, ALTERNATIVES_SHOWN),
    ];
    const buckets = known.map((bucket): DrawnBucket => ({
      ...bucket,
      draws: drawsOf(reader.replaysOfBucket(bucket.id), (leaf) => reader.decision(leaf).streamKey),
    }));
    const requests = buckets
      .filter((bucket) => bucket.origin === 'request')
      .slice(-REQUESTS_SHOWN)
      .reverse();
    const shown = [...requests, ...buckets.filter((bucket) => bucket.origin === 'training')];
    return {
      message,
      code: this.isCode(reader, message),
      context: decision.context,
      streamKey: decision.streamKey,
      tokenHash: decision.tokenHash,
      buckets: shown,
      estimates: estimatesOf(message, known),
      ...continuationsOf(reader, decision),
    };
  }

  /** Whether a message is what the tests of its instance run. */
  private isCode(reader: StoreReader, { eventType, turn }: Pick<Message, 'eventType' | 'turn'>): boolean {
    const { run, instance } = this.target;
    return (
      reader.instance(instance).tests !== undefined &&
      this.protocols?.(reader, run)?.nodes.some(
        (node) => node.scored && node.role === eventType && node.turn === turn,
      ) === true
    );
  }

  private locate(message: number): void {
    // The page may name what came since the store was last looked at.
    if (this.catchUp()) {
      this.door.post({ type: 'changed' });
    }
    if (this.reading().place(message) === null && !this.reading().hides(message)) {
      this.show(targetOf(this.reader(), message), message);
    } else {
      this.reveal(message);
    }
  }

  /** Looks whether the transcript grew; the page then asks for it again, with what it wants to keep in sight. */
  private refresh(): void {
    if (this.door.open && this.catchUp()) {
      this.door.postNewest({ type: 'changed' });
    }
  }

  /** Takes what was added meanwhile into the reading; whether the layout is another one now. */
  private catchUp(): boolean {
    const fresh = this.read?.refreshed(this.reader()) ?? null;
    if (fresh === this.read) {
      return false;
    }
    this.read = fresh;
    this.revision++;
    return true;
  }

  private reading(): TranscriptReading {
    if (this.read === null) {
      this.read = new TranscriptReading(this.reader(), this.target, this.filter, this.classes);
      this.revision++;
    }
    return this.read;
  }

  private reader(): StoreReader {
    const reader = this.services.store.reader();
    if (reader === null) {
      throw new C3Error(
        'store',
        'The store of this transcript no longer exists: open a transcript from the Runs view.',
      );
    }
    return reader;
  }

  private async chooseModel(): Promise<void> {
    // Loaded when first asked: hardly any panel does.
    const { askForModelFolder } = await import('../model/chooseModel.ts');
    const folder = await askForModelFolder(this.services.modelFolders);
    if (folder !== undefined) {
      this.door.post({ type: 'modelChosen', folder });
    }
  }

  private startReplay({ message, alternatives, replays, text, independent, continuation }: ReplayMessage): void {
    const params = { message, alternatives, replays, text, independent, continuation };
    const { model } = continuation;
    if (model === null || this.services.modelFolders.wasChosen(model)) {
      this.replay.start(params);
    } else {
      this.later(
        this.confirmModel(model).then((yes) => {
          if (yes) {
            this.replay.start(params);
          }
        }),
      );
    }
  }

  /** A form may hold a path from before a reload; a page may name any. */
  private async confirmModel(folder: string): Promise<boolean> {
    const yes = await confirmed(
      `Load the model in ${oneLine(folder, 300)} and continue this replay with it?`,
      'Load model',
    );
    if (yes) {
      await this.services.modelFolders.choose(folder);
    }
    return yes;
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

/** Question, answer and place of a transcript. */
function headerOf(reader: StoreReader, target: TranscriptTarget, protocols: ProtocolReader | null): TranscriptHeader {
  const { question, answer, source } = reader.instance(target.instance);
  return {
    title: roundTitle(target.phase, target.iteration),
    subtitle: reader.run(target.run).title,
    question,
    answer,
    source,
    protocol: protocols?.(reader, target.run) ?? null,
  };
}

/** The roles of the run's protocol. */
function rolesOf({ protocol }: TranscriptHeader): readonly string[] {
  return [...new Set(protocol?.nodes.map(({ role }) => role))];
}
