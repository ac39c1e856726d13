/** The transcript panel: joins the host's messages, the tree and the detail pane. */
import { isTranscriptState, type MessageDetail, type ReplayState, type TranscriptFromHost, type TranscriptTarget, type TranscriptToHost } from '../../src/shared/transcriptProtocol.ts';
import { h, replace } from '../common/dom.ts';
import { count } from '../common/format.ts';
import type { Host } from '../common/host.ts';
import { DetailPane } from './detail.ts';
import { keySheet } from './keySheet.ts';
import { TreeView } from './tree.ts';

type Opened = Extract<TranscriptFromHost, { type: 'opened' }>;

const TYPES: readonly string[] = ['opened', 'changed', 'rows', 'detail', 'reveal', 'replay', 'failed'] satisfies readonly TranscriptFromHost['type'][];

/** Whether a message comes from our extension host; its content is then as the protocol says. */
export function isFromHost(value: unknown): value is TranscriptFromHost {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && TYPES.includes(value.type);
}

export class TranscriptPanel {
  private readonly host: Host<TranscriptToHost>;
  private readonly title = h('h1', {});
  private readonly subtitle = h('span', { class: 'muted' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly keys = keySheet();
  private readonly tree: TreeView;
  private readonly detail: DetailPane;
  private opened: Opened | null = null;
  private folded: readonly number[] = [];
  private selected: number | null = null;
  private replay: ReplayState | null = null;
  /** A message to be replayed as soon as the pane shows it, with the numbers that stand in the pane. */
  private awaited: number | null = null;
  /** Only the answer to the newest question is shown. */
  private detailRequest = 0;

  constructor(root: HTMLElement, host: Host<TranscriptToHost>) {
    this.host = host;
    this.tree = new TreeView({
      ask: (revision, offset) => { host.post({ type: 'rows', revision, offset }); },
      select: (message) => { this.select(message); },
      replay: (message) => { this.replayWhenShown(message); },
      verify: (message) => { host.post({ type: 'verify', message }); },
      exportReport: (message) => { host.post({ type: 'exportReport', message }); },
      copyLink: (message) => { host.post({ type: 'copyLink', message }); },
      arranged: (folded) => { this.arranged(folded); },
      keys: () => { this.keys.toggle(); },
    });
    this.detail = new DetailPane({
      replay: (message, request) => { host.post({ type: 'replay', message, ...request }); },
      cancelReplay: () => { host.post({ type: 'cancelReplay' }); },
      verify: (message) => { host.post({ type: 'verify', message }); },
      open: (message) => { host.post({ type: 'locate', message }); },
    });
    const columns = h('div', { class: 'columns', 'aria-hidden': 'true' }, h('span', {}, 'Message'), h('span', {}, 'Return'), h('span', {}, 'Credit'));
    replace(
      root,
      h('header', { class: 'panel-head' }, this.title, this.subtitle),
      this.banner,
      h('div', { class: 'split' }, h('div', { class: 'tree-pane' }, columns, this.tree.element), this.detail.element),
      this.keys.element,
    );
    host.listen((message) => { if (isFromHost(message)) this.receive(message); });
    const state = host.getState();
    if (isTranscriptState(state)) {
      this.selected = state.selected;
      this.folded = state.collapsed;
    }
    this.ready();
  }

  private ready(): void {
    this.host.post({ type: 'ready', selected: this.selected, collapsed: this.folded, others: this.tree.landmarks() });
  }

  private receive(message: TranscriptFromHost): void {
    switch (message.type) {
      case 'opened': this.open(message); break;
      case 'changed': this.ready(); break;
      case 'rows': this.tree.accept(message.revision, message.offset, message.rows); break;
      case 'detail': if (message.id === this.detailRequest) this.showDetail(message.detail); break;
      case 'reveal': this.tree.reveal(message.place); this.select(message.place.message); break;
      case 'replay': this.replay = message.state; this.detail.replay(message.state); break;
      case 'failed': this.banner.textContent = message.message; break;
    }
  }

  private open(message: Opened): void {
    const same = this.opened !== null && sameTarget(this.opened.target, message.target);
    this.opened = message;
    this.replay = message.replay;
    this.selected = message.selected;
    this.banner.textContent = '';
    this.title.textContent = message.header.title;
    this.subtitle.textContent = `${message.header.subtitle} · ${count(message.layout.rows - 1)} ${message.layout.rows === 2 ? 'message' : 'messages'}`;
    this.tree.open(message.layout, this.folded, this.selected, same);
    this.folded = this.tree.folds();
    this.show(this.selected);
    this.keep();
  }

  private showDetail(detail: MessageDetail): void {
    if (this.opened === null) return;
    this.detail.message(detail, this.opened.defaults, this.replay);
    if (this.awaited !== null) this.replayWhenShown(this.awaited);
  }

  private replayWhenShown(message: number): void {
    const here = this.detail.shows(message);
    this.awaited = here ? null : message;
    if (here) this.detail.startReplay();
  }

  private select(message: number | null): void {
    this.awaited = null;
    this.selected = message;
    this.host.post({ type: 'selected', message });
    this.show(message);
    this.keep();
  }

  private show(message: number | null): void {
    this.detailRequest++;
    if (message !== null) this.host.post({ type: 'detail', id: this.detailRequest, message });
    else if (this.opened !== null) this.detail.question(this.opened.header);
  }

  private arranged(folded: readonly number[]): void {
    this.folded = folded;
    this.keep();
  }

  private keep(): void {
    if (this.opened !== null) this.host.setState({ version: 1, target: this.opened.target, selected: this.selected, collapsed: this.folded });
  }
}

function sameTarget(a: TranscriptTarget, b: TranscriptTarget): boolean {
  return a.run === b.run && a.phase === b.phase && a.iteration === b.iteration && a.instance === b.instance;
}
