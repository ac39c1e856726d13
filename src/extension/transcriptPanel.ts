/** One transcript panel: answers what its page asks from the store, and takes replays to the engine. */
import { CancellationTokenSource, commands, type WebviewPanel } from 'vscode';
import { C3Error, CancelledError, messageOf } from '../shared/errors.ts';
import { roundTitle } from '../shared/evaluationRounds.ts';
import { drawsOf } from '../shared/draws.ts';
import type { BucketView } from '../shared/records.ts';
import {
  isTranscriptToHost,
  type DrawnBucket,
  type MessageDetail,
  type ReplayState,
  type RowPlace,
  type TranscriptFromHost,
  type TranscriptHeader,
  type TranscriptTarget,
  type TranscriptToHost,
} from '../shared/transcriptProtocol.ts';
import type { StoreReader } from '../store/reader.ts';
import { Disposables } from './disposables.ts';
import type { Services } from './services.ts';
import { replayDefaults } from './settings.ts';
import { TranscriptOutline } from './transcriptOutline.ts';
import { remembering, VerificationMarks } from './verificationMarks.ts';
import { WebviewDoor } from './webviewDoor.ts';

/** Request buckets shown for one message, newest first. */
const REQUESTS_SHOWN = 12;

type ReplayMessage = Extract<TranscriptToHost, { type: 'replay' }>;

export class TranscriptPanel {
  readonly panel: WebviewPanel;
  private readonly services: Services;
  private readonly disposables = new Disposables();
  private readonly door: WebviewDoor<TranscriptToHost, TranscriptFromHost>;
  private target: TranscriptTarget;
  private selected: number | null;
  private outline: TranscriptOutline | null = null;
  private stamp = '';
  private verification = 0;
  private revision = 0;
  private replay: ReplayState | null = null;
  private cancellation: CancellationTokenSource | null = null;

  constructor(panel: WebviewPanel, services: Services, target: TranscriptTarget, selected: number | null) {
    this.panel = panel;
    this.services = services;
    this.target = target;
    this.selected = selected;
    this.door = new WebviewDoor(panel, 'transcript', services, isTranscriptToHost, (message) => { this.guarded(() => { this.receive(message); }); });
    this.disposables.add(services.store.onDidChange(() => { this.guarded(() => { this.refresh(); }); }));
    this.disposables.add(services.engine.onReplayProgress((progress) => {
      if (this.replay?.status === 'running' && progress.message === this.replay.message) this.tellReplay({ ...this.replay, bucket: progress.bucket, done: progress.done, total: progress.total });
    }));
    panel.onDidDispose(() => {
      this.cancellation?.cancel();
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
    return own.run === target.run && own.phase === target.phase && own.iteration === target.iteration && own.instance === target.instance;
  }

  /** Shows a message, of this or of another transcript. */
  show(target: TranscriptTarget, message: number | null): void {
    this.guarded(() => {
      this.selected = message;
      if (!this.shows(target)) {
        this.target = target;
        this.outline = null;
        this.open([], message === null ? [] : [message]);
        return;
      }
      const place = message === null ? null : this.layout().place(message);
      if (place !== null) this.door.post({ type: 'reveal', place });
    });
  }

  /** Replays a message with the defaults of the settings. */
  replayMessage(message: number): void {
    const { alternatives, replays } = replayDefaults();
    this.guarded(() => { this.startReplay({ type: 'replay', message, alternatives, replays, text: null, independent: false }); });
  }

  private receive(message: TranscriptToHost): void {
    switch (message.type) {
      case 'ready': this.ready(message); break;
      case 'rows': this.rows(message.revision, message.offset); break;
      case 'detail': this.door.post({ type: 'detail', id: message.id, detail: this.detail(message.message) }); break;
      case 'locate': this.locate(message.message); break;
      case 'selected': this.selected = message.message; break;
      case 'replay': this.startReplay(message); break;
      case 'verify': void this.services.verifier.verify(message.message); break;
      case 'exportReport':
      case 'copyLink': void commands.executeCommand(`c3.${message.type}`, { message: message.message }); break;
      case 'cancelReplay': this.cancellation?.cancel(); break;
    }
  }

  private ready(message: Extract<TranscriptToHost, { type: 'ready' }>): void {
    this.selected ??= message.selected;
    this.open(message.collapsed, message.others);
  }

  /** Sends everything that a page needs to draw itself. */
  private open(folded: readonly number[], others: readonly number[]): void {
    const reader = this.reader();
    const outline = this.layout();
    const wanted = new Set([...folded, ...others, ...(this.selected === null ? [] : [this.selected])]);
    const places = [...wanted].map((id) => outline.place(id)).filter((place): place is RowPlace => place !== null);
    const header = headerOf(reader, this.target);
    this.panel.title = header.question.replaceAll(/\s+/gu, ' ').slice(0, 40);
    this.door.post({
      type: 'opened',
      target: this.target,
      header,
      layout: { revision: this.revision, rows: outline.rows, places },
      selected: this.selected,
      defaults: { ...replayDefaults(), unavailable: this.services.engine.unavailable() },
      replay: this.replay,
    });
  }

  private rows(revision: number, offset: number): void {
    if (revision !== this.revision) return;
    const reader = remembering(this.reader());
    const marks = new VerificationMarks(reader);
    const rows = this.layout().window(reader, this.target, offset).map((row) => ({ ...row, verification: row.message === null ? null : marks.of(row.message, row.branch) }));
    this.door.post({ type: 'rows', revision, offset, rows });
  }

  private detail(id: number): MessageDetail {
    const reader = this.reader();
    const buckets = reader.bucketsFor(id).map((bucket): DrawnBucket => ({ ...bucket, draws: drawsOf(reader.replaysOfBucket(bucket.id), (message) => reader.decision(message).streamKey) }));
    const requests = buckets.filter((bucket) => bucket.origin === 'request').slice(-REQUESTS_SHOWN).reverse();
    return { message: reader.message(id), context: reader.decision(id).context, buckets: [...requests, ...buckets.filter((bucket) => bucket.origin === 'training')] };
  }

  private locate(message: number): void {
    const place = this.layout().place(message);
    if (place === null) this.door.post({ type: 'failed', message: 'This message stands in another transcript of the run.' });
    else this.door.post({ type: 'reveal', place });
  }

  /** Looks whether the transcript grew; the page then asks for it again, with what it wants to keep in sight. */
  private refresh(): void {
    if (!this.door.open || this.outline === null) return;
    const reader = this.reader();
    const stamp = reader.version();
    const verification = reader.newestVerification();
    const fresh = stamp === this.stamp ? this.outline : TranscriptOutline.read(reader, this.target);
    const same = fresh.signature === this.outline.signature && verification === this.verification;
    this.stamp = stamp;
    this.verification = verification;
    if (same) return;
    this.outline = fresh;
    this.revision++;
    this.door.post({ type: 'changed' });
  }

  private layout(): TranscriptOutline {
    if (this.outline === null) {
      const reader = this.reader();
      this.stamp = reader.version();
      this.verification = reader.newestVerification();
      this.outline = TranscriptOutline.read(reader, this.target);
      this.revision++;
    }
    return this.outline;
  }

  private reader(): StoreReader {
    const reader = this.services.store.reader();
    if (reader === null) throw new C3Error('store', 'The store of this transcript is gone: open a transcript from the Runs view.');
    return reader;
  }

  private startReplay({ message, alternatives, replays, text, independent }: ReplayMessage): void {
    if (this.replay?.status === 'running') return;
    const client = this.services.engine.client();
    const cancellation = new CancellationTokenSource();
    this.cancellation = cancellation;
    this.tellReplay({ message, status: 'running', bucket: null, done: 0, total: 0, error: null });
    client.replay({ message, alternatives, replays, text, independent }, cancellation.token).then(
      (bucket) => { this.endReplay('done', bucket, null); },
      (error: unknown) => {
        if (error instanceof CancelledError) this.endReplay('cancelled', null, null);
        else {
          this.services.log.error(messageOf(error));
          this.endReplay('failed', null, messageOf(error));
        }
      },
    );
  }

  private endReplay(status: 'done' | 'cancelled' | 'failed', bucket: BucketView | null, error: string | null): void {
    this.cancellation?.dispose();
    this.cancellation = null;
    if (this.replay === null) return;
    this.tellReplay({ ...this.replay, status, bucket: bucket ?? this.replay.bucket, error });
    this.services.store.touch();
  }

  private tellReplay(state: ReplayState): void {
    this.replay = state;
    this.door.post({ type: 'replay', state });
  }

  /** A failure is told in the panel itself. */
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
function headerOf(reader: StoreReader, target: TranscriptTarget): TranscriptHeader {
  const { question, answer, source } = reader.instance(target.instance);
  return { title: roundTitle(target.phase, target.iteration), subtitle: reader.run(target.run).title, question, answer, source };
}
