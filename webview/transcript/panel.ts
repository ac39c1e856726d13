/** The transcript panel: joins the host's messages, the tree and the detail pane. */
import {
  isTranscriptFromHost,
  isTranscriptState,
  NO_FILTER,
  type MessageDetail,
  type ReplayDraft,
  type ReplayState,
  type SearchHits,
  type TranscriptFilter,
  type TranscriptFromHost,
  type TranscriptTarget,
  type TranscriptToHost,
  type TranscriptTop,
} from '../../src/shared/protocols/transcriptProtocol.ts';
import type { WhyLost } from '../../src/shared/transcript/whyLost.ts';
import { h, replace } from '../common/dom.ts';
import type { Host } from '../common/host.ts';
import { term } from '../common/term.ts';
import { Arrivals } from './arrivals.ts';
import { ComparisonView } from './comparisonView.ts';
import { DetailPane } from './detail.ts';
import { withDraft } from './drafts.ts';
import { NOTHING_FOLDED, type Folding } from './folds.ts';
import type { WithMathematics } from './formulas.ts';
import { HitSteps } from './hits.ts';
import { Drawer } from './drawer.ts';
import { KeyboardHome } from './keyboardHome.ts';
import { keySheet } from './keySheet.ts';
import { ProtocolMap } from './protocolMap.ts';
import { sizeWords } from './replayWords.ts';
import { SearchBar } from './searchBar.ts';
import { TreeView } from './tree.ts';
import type { PanelCommand } from './treeEvents.ts';

type Opened = Extract<TranscriptFromHost, { type: 'opened' }>;

/** Milliseconds without scrolling before the place is kept. */
const REST = 150;

export class TranscriptPanel {
  private readonly host: Host<TranscriptToHost>;
  private readonly title = h('h1', {});
  private readonly subtitle = h('span', { class: 'muted' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly keys = keySheet();
  private readonly tree: TreeView;
  private readonly detail: DetailPane;
  private opened: Opened | null = null;
  private folding: Folding = NOTHING_FOLDED;
  private selected: number | null = null;
  private replay: ReplayState | null = null;
  /** A message to be replayed as soon as the pane shows it, with the numbers that stand in the pane. */
  private awaited: number | null = null;
  /** Only the answer to the newest question is shown. */
  private detailRequest = 0;
  private filter: TranscriptFilter = NO_FILTER;
  private query = '';
  private readonly steps = new HitSteps();
  /** Go to the first hit as soon as it is known. */
  private jump = false;
  /** The next row revealed, then the next message shown, was stepped to: its first hit is to be seen. */
  private stepped: 'no' | 'row' | 'text' = 'no';
  private readonly map: ProtocolMap;
  private readonly protocol: Drawer;
  /** Where the keyboard is when nothing else asked for it. */
  private readonly home: KeyboardHome;
  private readonly bar: SearchBar;
  private readonly comparison: ComparisonView;
  /** Where the page stood before it was thrown away, until the transcript is there again. */
  private kept: TranscriptTop | null = null;
  /** The same of the pane. */
  private keptScroll: number | null = null;
  private keeping: ReturnType<typeof setTimeout> | undefined;
  private readonly arrivals = new Arrivals<Opened>();
  private drafts: readonly ReplayDraft[] = [];
  private compared: { readonly left: number; readonly right: number } | null = null;

  constructor(root: HTMLElement, host: Host<TranscriptToHost>, mathematics: WithMathematics) {
    this.host = host;
    this.tree = new TreeView({
      ask: (revision, offset) => {
        host.post({ type: 'rows', revision, offset });
      },
      select: (message) => {
        this.select(message);
      },
      replay: (message) => {
        this.replayWhenShown(message);
      },
      verify: (message) => {
        host.post({ type: 'verify', message });
      },
      exportReport: (message) => {
        host.post({ type: 'exportReport', message });
      },
      copyLink: (message) => {
        host.post({ type: 'copyLink', message });
      },
      arranged: (folding) => {
        this.arranged(folding);
      },
      compare: (message) => {
        host.post({ type: 'compare', message });
      },
      tokens: (message) => {
        host.post({ type: 'showContext', message });
      },
      command: (command) => {
        this.command(command);
      },
      moved: () => {
        this.tellHits();
      },
      scrolled: () => {
        this.keepSoon();
      },
    });
    this.map = new ProtocolMap((role) => {
      this.bar.toggleRole(role);
    });
    this.protocol = new Drawer('Protocol', 'protocol', this.map.element);
    this.home = new KeyboardHome(this.tree.element);
    this.bar = new SearchBar(
      {
        search: (query) => {
          this.search(query);
        },
        step: (direction) => {
          this.step(direction);
        },
        filter: (filter) => {
          host.post({ type: 'filter', filter, collapsed: this.folding.folded, others: this.tree.landmarks() });
        },
        leave: () => {
          this.tree.element.focus();
        },
        keys: () => {
          this.keys.toggle();
        },
      },
      this.protocol.toggle,
    );
    this.comparison = new ComparisonView({
      openDiff: () => {
        host.post({ type: 'openDiff' });
      },
      open: (message) => {
        host.post({ type: 'locate', message });
      },
      close: () => {
        this.compared = null;
        host.post({ type: 'endComparison' });
        this.keep();
        this.tree.element.focus();
      },
    });
    this.detail = new DetailPane(
      {
        replay: (message, request) => {
          host.post({ type: 'replay', message, ...request });
        },
        cancelReplay: () => {
          host.post({ type: 'cancelReplay' });
        },
        settle: (message, replays) => {
          host.post({ type: 'settle', message, replays });
        },
        verify: (message) => {
          host.post({ type: 'verify', message });
        },
        chooseModel: () => {
          host.post({ type: 'chooseModel' });
        },
        tokens: (message) => {
          host.post({ type: 'showContext', message });
        },
        open: (message) => {
          host.post({ type: 'locate', message });
        },
        draft: (message, fields) => {
          this.drafts = withDraft(this.drafts, message, fields);
          this.keep();
        },
        scrolled: () => {
          this.keepSoon();
        },
        arranged: () => {
          this.keep();
        },
      },
      mathematics,
    );
    const columns = h(
      'div',
      { class: 'columns' },
      h('span', {}, 'Message'),
      h('span', {}, term('return', 'Return')),
      h('span', {}, term('credit', 'Credit')),
    );
    replace(
      root,
      h(
        'div',
        { class: 'chrome' },
        h('header', { class: 'panel-head' }, this.title, this.subtitle),
        this.protocol.element,
        this.bar.element,
      ),
      this.banner,
      h(
        'div',
        { class: 'split' },
        h('div', { class: 'tree-pane' }, columns, this.tree.element),
        h('div', { class: 'side-pane' }, this.comparison.element, this.detail.element),
      ),
      this.keys.element,
    );
    host.listen(isTranscriptFromHost, (message) => {
      this.receive(message);
    });
    const state = host.getState();
    if (isTranscriptState(state)) {
      this.selected = state.selected;
      this.folding = { folded: state.collapsed, opened: state.opened };
      this.filter = state.filter;
      this.query = state.query;
      this.bar.query = state.query;
      this.detail.show({ asWritten: state.asWritten, query: state.query.trim() });
      this.detail.keysOpen = state.keysOpen;
      this.detail.whyOpen = state.whyOpen;
      this.compared = state.compared;
      this.kept = state.top;
      this.drafts = state.drafts;
      this.keptScroll = state.scroll;
    }
    this.ready();
  }

  private ready(): void {
    const others = typeof this.kept?.message === 'number' ? [this.kept.message] : this.tree.landmarks();
    const { selected, filter } = this;
    this.host.post({ type: 'ready', selected, collapsed: this.folding.folded, others, filter });
  }

  private receive(message: TranscriptFromHost): void {
    switch (message.type) {
      case 'opened':
        this.take(message);
        break;
      case 'changed':
        this.ready();
        break;
      case 'rows':
        this.tree.accept(message.revision, message.offset, message.rows);
        break;
      case 'detail':
        if (message.id === this.detailRequest) {
          this.showDetail(message.detail);
        }
        break;
      case 'reveal': {
        const stepped = this.stepped === 'row';
        this.release();
        this.tree.reveal(message.place);
        this.steps.arrived(message.place.index);
        this.select(message.place.message);
        if (stepped) {
          this.stepped = 'text';
        }
        break;
      }
      case 'why':
        if (message.id === this.detailRequest) {
          this.showWhy(message.why);
        }
        break;
      case 'replay':
        this.replay = message.state;
        this.detail.replay(message.state);
        break;
      case 'modelChosen':
        this.detail.setModel(message.folder);
        break;
      case 'focus':
        this.home.take();
        break;
      case 'found':
        this.found(message.revision, message.hits);
        break;
      case 'marked':
        this.tree.markCompared(message.message);
        break;
      case 'comparison':
        this.comparison.show(message.comparison);
        this.compared = this.comparison.compared;
        this.keep();
        break;
      case 'failed':
        this.release();
        this.detail.expect(null);
        this.banner.textContent = message.message;
        this.tree.failed();
        this.steps.failed();
        break;
    }
  }

  private take(message: Opened): void {
    const opened = this.arrivals.take(message, this.isSame(message) ? this.tree.landmarks() : []);
    if (opened === null) {
      this.ready();
    } else {
      this.open(opened);
    }
  }

  /** What comes next is about the newest layout: it waits no longer. */
  private release(): void {
    const waiting = this.arrivals.release();
    if (waiting !== null) {
      this.open(waiting);
    }
  }

  private isSame({ target }: Opened): boolean {
    return this.opened !== null && sameTarget(this.opened.target, target);
  }

  private open(message: Opened): void {
    const same = this.isSame(message);
    // The folds of another transcript are no folds of this one.
    if (this.opened !== null && !same) {
      this.folding = NOTHING_FOLDED;
    }
    // Who asked for another message meanwhile is to see it.
    const kept = message.selected === this.selected ? this.kept : null;
    this.kept = null;
    if (message.selected !== this.selected) {
      this.keptScroll = null;
    }
    this.opened = message;
    this.replay = message.replay;
    // What was selected here meanwhile stays so.
    if (!same) {
      this.selected = message.selected;
    }
    this.banner.textContent = '';
    this.title.textContent = message.header.title;
    this.filter = message.filter;
    // The title of a run may turn the direction of text: what follows it stays where it is.
    replace(this.subtitle, h('bdi', {}, message.header.subtitle), ` · ${sizeWords(message.layout)}`);
    this.map.show(message.header.protocol);
    this.protocol.toggle.hidden = message.header.protocol === null;
    this.bar.show(message.filter, message.choices, message.layout);
    this.tree.markCompared(message.marked);
    this.tree.open(message.layout, this.folding, this.selected, same, kept);
    this.folding = this.tree.folds();
    this.show(this.selected);
    if (this.query !== '') {
      this.search(this.query, false);
    }
    // What was compared comes back with the page; the texts come from the store.
    if (this.compared !== null && this.comparison.compared === null) {
      this.host.post({ type: 'comparePair', ...this.compared });
    }
    this.markMap(null);
    this.home.offer();
    this.keep();
  }

  private showDetail(detail: MessageDetail): void {
    if (this.opened === null) {
      return;
    }
    this.detail.message(
      detail,
      this.opened.defaults,
      this.replay,
      this.drafts.find(({ message }) => message === detail.message.id),
    );
    this.restoreScroll();
    this.markMap({ role: detail.message.eventType, turn: detail.message.turn });
    if (this.stepped === 'text') {
      this.detail.seekHit();
    }
    this.stepped = 'no';
    if (this.awaited !== null) {
      this.replayWhenShown(this.awaited);
    }
  }

  private replayWhenShown(message: number): void {
    const here = this.detail.shows(message);
    this.awaited = here ? null : message;
    if (here) {
      this.detail.startReplay();
    }
  }

  private select(message: number | null): void {
    this.awaited = null;
    this.stepped = 'no';
    this.keptScroll = null;
    this.selected = message;
    this.host.post({ type: 'selected', message });
    this.show(message);
    this.keep();
  }

  private show(message: number | null): void {
    this.detailRequest++;
    if (message !== null) {
      const id = this.detailRequest;
      this.detail.expect(message);
      this.host.post({ type: 'detail', id, message });
      this.host.post({ type: 'why', id, message });
    } else if (this.opened !== null) {
      this.showWhy(null);
      this.detail.question(this.opened.header);
      this.restoreScroll();
      this.markMap(null);
    }
  }

  private showWhy(why: WhyLost | null): void {
    this.detail.why(why, this.replay, this.opened?.defaults.unavailable === null);
  }

  private restoreScroll(): void {
    if (this.keptScroll !== null) {
      this.detail.element.scrollTop = this.keptScroll;
    }
    this.keptScroll = null;
  }

  private markMap(selected: { readonly role: string; readonly turn: number } | null): void {
    this.map.mark(selected, this.filter.role);
  }

  private command(command: PanelCommand): void {
    switch (command) {
      case 'difference':
        this.host.post({ type: 'openDiff' });
        break;
      case 'costliest':
        this.host.post({ type: 'goToCostliest' });
        break;
      case 'written':
        this.detail.toggleWritten();
        break;
      case 'search':
        this.bar.focusSearch();
        break;
      case 'nextHit':
        this.step(1);
        break;
      case 'previousHit':
        this.step(-1);
        break;
      case 'filter':
        this.bar.focusFilter();
        break;
      case 'keys':
        this.keys.toggle();
        break;
    }
  }

  /** @param jump whether to go to the first hit from where the keyboard stands */
  private search(query: string, jump = true): void {
    if (this.opened === null) {
      return;
    }
    this.query = query;
    this.jump = jump;
    this.tree.highlight(query.trim());
    this.detail.show({ query: query.trim() });
    this.steps.asked();
    this.host.post({ type: 'search', revision: this.opened.layout.revision, query });
    this.keep();
  }

  private found(revision: number, hits: SearchHits): void {
    if (this.opened?.layout.revision !== revision || hits.query !== this.query) {
      return;
    }
    const owed = this.steps.take(hits);
    if (this.jump && !hits.rows.includes(this.tree.place)) {
      this.step(1);
    } else if (this.jump) {
      this.detail.seekHit();
    } else if (owed !== null) {
      this.step(owed);
    }
    this.jump = false;
    this.tellHits();
  }

  private step(direction: 1 | -1): void {
    const index = this.steps.step(direction, this.tree.place);
    if (this.opened === null || index === null) {
      return;
    }
    this.stepped = 'row';
    this.host.post({ type: 'locateRow', revision: this.opened.layout.revision, index });
  }

  private tellHits(): void {
    const { hits } = this.steps;
    const at = hits?.rows.indexOf(this.tree.place) ?? -1;
    this.bar.tell(hits, at < 0 ? null : at);
  }

  private arranged(folding: Folding): void {
    this.folding = folding;
    this.keep();
  }

  /** Scrolling is kept once it rests. */
  private keepSoon(): void {
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => {
      this.keep();
    }, REST);
  }

  private keep(): void {
    if (this.opened === null) {
      return;
    }
    this.host.setState({
      version: 5,
      target: this.opened.target,
      selected: this.selected,
      collapsed: this.folding.folded,
      opened: this.folding.opened,
      filter: this.filter,
      query: this.query,
      asWritten: this.detail.written,
      keysOpen: this.detail.keysOpen,
      whyOpen: this.detail.whyOpen,
      compared: this.compared,
      top: this.tree.top,
      drafts: this.drafts,
      scroll: this.keptScroll ?? Math.round(this.detail.element.scrollTop),
    });
  }
}

function sameTarget(a: TranscriptTarget, b: TranscriptTarget): boolean {
  return a.run === b.run && a.phase === b.phase && a.iteration === b.iteration && a.instance === b.instance;
}
