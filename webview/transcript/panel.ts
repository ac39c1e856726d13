/** The transcript panel: connects the host, the tree and the detail pane. */

import type { ReplayDraft } from '../../src/shared/protocols/replayDraft.ts';
import {
  isTranscriptState,
  NO_FILTER,
  sameTarget,
  TRANSCRIPT_REQUESTS,
  type TranscriptFilter,
  type TranscriptFromHost,
  type TranscriptToHost,
  type TranscriptTop,
  type MarkedRow,
} from '../../src/shared/protocols/transcriptProtocol.ts';
import { GLOSSARY } from '../../src/shared/text/glossary.ts';
import { showInvisibleControls } from '../../src/shared/text/visible.ts';
import { h, replace } from '../common/dom.ts';
import type { Host, MessageHandlers } from '../common/host.ts';
import { keySheet } from '../common/keySheet.ts';
import { RequestSender } from '../common/requests.ts';
import { onceRested } from '../common/rest.ts';
import { term } from '../common/term.ts';
import { Arrivals } from './arrivals.ts';
import type { TranscriptRequestSender } from './asking.ts';
import { ComparisonView, type ComparisonEvents } from './comparisonView.ts';
import { Drawer } from './drawer.ts';
import { TREE_KEYS, TYPE_AHEAD_KEYS } from './keys.ts';
import { DetailPane, type DetailEvents } from './message/detail.ts';
import type { WithMathematics } from './message/formulas.ts';
import { ShownMessage } from './message/shownMessage.ts';
import { ProtocolMap } from './protocolMap.ts';
import { addDraft } from './replay/drafts.ts';
import { describeTranscriptSize } from './replay/replayWords.ts';
import { HitSearch } from './search/hitSearch.ts';
import { SearchBar } from './search/searchBar.ts';
import { NOTHING_FOLDED, type Folding } from './tree/folds.ts';
import { TreeView } from './tree/tree.ts';
import type { PanelCommand, TreeEvents } from './tree/treeEvents.ts';

type Opened = Extract<TranscriptFromHost, { type: 'opened' }>;

export class TranscriptPanel {
  private readonly host: Host<TranscriptToHost>;
  private readonly title = h('h1', {});
  private readonly subtitle = h('span', { class: 'muted' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly keys = createTranscriptSheet();
  private readonly tree: TreeView;
  private readonly detail: DetailPane;
  private opened: Opened | null = null;
  private folding: Folding = NOTHING_FOLDED;
  private selected: number | null = null;
  private filter: TranscriptFilter = NO_FILTER;
  private readonly requests: TranscriptRequestSender;
  private readonly shown: ShownMessage;
  private readonly hits: HitSearch;
  private readonly map: ProtocolMap;
  private readonly protocol: Drawer;
  /** Focuses the tree if nothing else in the page has the focus. */
  private readonly home: InitialFocus;
  private readonly bar: SearchBar;
  private readonly comparison: ComparisonView;
  /** Scroll position of the page before the editor discarded it, until the transcript is shown again. */
  private kept: TranscriptTop | null = null;
  private readonly keepSoon = onceRested(() => this.keep());
  private readonly arrivals = new Arrivals<Opened>();
  private drafts: readonly ReplayDraft[] = [];
  private compared: { readonly left: number; readonly right: number } | null = null;

  private readonly received: MessageHandlers<TranscriptFromHost> = {
    opened: (message) => this.take(message),
    changed: () => this.ready(),
    reveal: (message) => {
      const { place } = message;
      this.release();
      this.tree.reveal(place);
      this.hits.revealed(place.index, () => this.select(place.message));
    },
    replay: (message) => {
      this.shown.replay = message.state;
      this.detail.replay(message.state);
    },
    focus: () => this.home.take(),
    reply: (message) => this.requests.receive(message),
    marked: (message) => this.tree.markCompared(message.message),
    comparison: (message) => {
      this.comparison.show(message.comparison);
      this.compared = this.comparison.compared;
      this.keep();
    },
    failed: (message) => {
      this.release();
      this.detail.expect(null);
      this.banner.textContent = message.message;
      this.tree.failed();
      this.hits.failed();
    },
  };

  constructor(root: HTMLElement, host: Host<TranscriptToHost>, mathematics: WithMathematics) {
    this.host = host;
    const { post } = host;
    this.requests = new RequestSender(TRANSCRIPT_REQUESTS, post);
    this.tree = new TreeView({
      ...treePosts(post, this.requests, (revision, offset, rows) => this.tree.accept(revision, offset, rows)),
      select: (message) => this.select(message),
      replay: (message) => this.shown.replayWhenShown(message),
      arranged: (folding) => {
        this.folding = folding;
        this.keep();
      },
      command: (command) => this.command(command),
      moved: () => this.hits.showPlace(),
      scrolled: () => this.keepSoon(),
    });
    this.map = new ProtocolMap((role) => this.bar.toggleRole(role));
    this.protocol = new Drawer('Protocol', 'protocol', this.map.element);
    this.home = new InitialFocus(this.tree.element);
    this.bar = new SearchBar(
      {
        search: (query) => this.search(query),
        step: (direction) => this.step(direction),
        filter: (filter) =>
          host.post({ type: 'filter', filter, collapsed: this.folding.folded, others: this.tree.landmarks() }),
        leave: () => this.tree.element.focus(),
        keys: () => this.keys.toggle(),
      },
      this.protocol.toggle,
    );
    this.comparison = new ComparisonView({
      ...comparisonPosts(post),
      close: () => {
        this.compared = null;
        host.post({ type: 'endComparison' });
        this.keep();
        this.tree.element.focus();
      },
    });
    this.detail = new DetailPane(
      {
        ...detailPosts(post, this.requests, (folder) => this.detail.setModel(folder)),
        draft: (message, fields) => {
          this.drafts = addDraft(this.drafts, message, fields);
          this.keep();
        },
        scrolled: () => this.keepSoon(),
        arranged: () => this.keep(),
      },
      mathematics,
    );
    this.shown = new ShownMessage(this.detail, this.requests, ({ message: { role, turn } }) => {
      this.markMap({ role, turn });
      this.hits.shown();
    });
    this.hits = new HitSearch({ tree: this.tree, detail: this.detail, bar: this.bar }, post, this.requests);
    const [above, side] = [
      [this.protocol, this.bar],
      [this.comparison, this.detail],
    ];
    replace(root, ...arrangeParts([this.title, this.subtitle], this.banner, above, this.tree, side, this.keys));
    host.listen(this.received);
    const state = host.getState();
    if (isTranscriptState(state)) {
      this.selected = state.selected;
      this.folding = { folded: state.collapsed, opened: state.opened };
      this.filter = state.filter;
      this.hits.restore(state.query);
      this.detail.show({ asWritten: state.asWritten, query: state.query.trim() });
      this.detail.keysOpen = state.keysOpen;
      this.detail.whyOpen = state.whyOpen;
      this.compared = state.compared;
      this.kept = state.top;
      this.drafts = state.drafts;
      this.shown.keepScroll(state.scroll);
    }
    this.ready();
  }

  private ready(): void {
    const others = typeof this.kept?.message === 'number' ? [this.kept.message] : this.tree.landmarks();
    const { selected, filter } = this;
    this.host.post({ type: 'ready', selected, collapsed: this.folding.folded, others, filter });
  }

  private take(message: Opened): void {
    const opened = this.arrivals.take(message, this.isSame(message) ? this.tree.landmarks() : []);
    if (opened === null) {
      this.ready();
    } else {
      this.open(opened);
    }
  }

  /** Shows the layout that waits, because the next message refers to it. */
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
    // Folds do not carry over to another transcript.
    if (this.opened !== null && !same) {
      this.folding = NOTHING_FOLDED;
    }
    // If another message was requested meanwhile, show that one.
    const kept = message.selected === this.selected ? this.kept : null;
    this.kept = null;
    if (message.selected !== this.selected) {
      this.shown.keepScroll(null);
    }
    this.opened = message;
    this.shown.replay = message.replay;
    // Keep what was selected in this page meanwhile.
    if (!same) {
      this.selected = message.selected;
    }
    this.banner.textContent = '';
    this.title.textContent = message.header.title;
    this.filter = message.filter;
    // The title of a run may change the direction of text, so it is isolated from the text after it.
    replace(
      this.subtitle,
      h('bdi', {}, message.header.subtitle),
      ` · ${[describeTranscriptSize(message.layout), ...message.header.measured.map((fact) => showInvisibleControls(fact.join(' ')))].join(' · ')}`,
    );
    this.map.show(message.header.protocol);
    this.protocol.toggle.hidden = message.header.protocol === null;
    this.bar.show(message.filter, message.choices, message.layout);
    this.tree.markCompared(message.marked);
    this.tree.open(message.layout, this.folding, this.selected, same, kept);
    this.folding = this.tree.folds();
    this.show(this.selected);
    if (this.hits.query !== '') {
      this.search(this.hits.query, false);
    }
    // The state of the page has only the ids of the compared messages. The host sends their texts.
    if (this.compared !== null && this.comparison.compared === null) {
      this.host.post({ type: 'comparePair', ...this.compared });
    }
    this.markMap(null);
    this.home.offer();
    this.keep();
  }

  private select(message: number | null): void {
    this.shown.left();
    this.hits.selected();
    this.selected = message;
    this.host.post({ type: 'selected', message });
    this.show(message);
    this.keep();
  }

  private show(message: number | null): void {
    if (this.shown.ask(message, () => ({ opened: this.opened, drafts: this.drafts }))) {
      this.markMap(null);
    }
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

  /** @param jump true to go to the first hit after the focused row */
  private search(query: string, jump = true): void {
    if (this.opened === null) {
      return;
    }
    this.hits.search(query, this.opened.layout.revision, jump);
    this.keep();
  }

  private step(direction: 1 | -1): void {
    if (this.opened !== null) {
      this.hits.step(direction, this.opened.layout.revision);
    }
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
      query: this.hits.query,
      asWritten: this.detail.written,
      keysOpen: this.detail.keysOpen,
      whyOpen: this.detail.whyOpen,
      compared: this.compared,
      top: this.tree.top,
      drafts: this.drafts,
      scroll: this.shown.scroll,
    });
  }
}

interface Part {
  readonly element: HTMLElement;
}

/** Arranges the parts of the panel from top to bottom. */
function arrangeParts(
  head: readonly HTMLElement[],
  banner: HTMLElement,
  above: readonly Part[],
  tree: Part,
  side: readonly Part[],
  keys: Part,
): readonly HTMLElement[] {
  const columns = h(
    'div',
    { class: 'columns' },
    h('span', {}, 'Message'),
    h('span', {}, term('return', 'Return')),
    h('span', {}, term('credit', 'Credit')),
  );
  const elements = (parts: readonly Part[]): readonly HTMLElement[] => parts.map(({ element }) => element);
  return [
    h('div', { class: 'chrome' }, h('header', { class: 'panel-head' }, ...head), ...elements(above)),
    banner,
    h(
      'div',
      { class: 'split' },
      h('div', { class: 'tree-pane' }, columns, tree.element),
      h('div', { class: 'side-pane' }, ...elements(side)),
    ),
    keys.element,
  ];
}

/** Creates the key sheet of the transcript: the keys of the tree, and the words of the glossary. */
function createTranscriptSheet(): ReturnType<typeof keySheet> {
  const words = Object.values(GLOSSARY).flatMap(({ name, meaning }) => [h('dt', {}, name), h('dd', {}, meaning)]);
  return keySheet(
    'Keys of the message tree',
    [...TREE_KEYS, TYPE_AHEAD_KEYS],
    h('h2', {}, 'Words'),
    h('dl', { class: 'words-list' }, ...words),
  );
}

/** Focuses an element when the page is opened or shown again and nothing else in it has the focus. */
class InitialFocus {
  private readonly element: HTMLElement;
  /** True if the element is to be focused as soon as the editor focuses this page. */
  private wanted = true;

  constructor(element: HTMLElement) {
    this.element = element;
    window.addEventListener('focus', () => this.arrive());
  }

  /** Focuses the element, or the page's next focus does if only the frame around it is focused. */
  take(): void {
    this.element.focus();
    this.wanted = !document.hasFocus();
  }

  /** Focuses the element if the page has the focus and no other element in it does. */
  offer(): void {
    if (document.hasFocus()) {
      this.arrive();
    }
  }

  private arrive(): void {
    const { activeElement, body } = document;
    const free = activeElement === null || activeElement === body;
    if (this.wanted || free) {
      this.element.focus();
    }
    this.wanted = false;
  }
}

// Messages from the parts of the panel to the host.

type Post = (message: TranscriptToHost) => void;
type AboutMessage = 'verify' | 'exportReport' | 'copyLink' | 'compare' | 'showContext' | 'locate' | 'findLost';

/** Returns a function that posts a request about a message. */
function postAbout(post: Post, type: AboutMessage): (message: number) => void {
  return (message) => post({ type, message });
}

/** Creates the handlers of the tree that post to the host. @param accept receives rows */
function treePosts(
  post: Post,
  asking: TranscriptRequestSender,
  accept: (revision: number, offset: number, rows: readonly MarkedRow[]) => void,
): Pick<TreeEvents, 'ask' | 'verify' | 'exportReport' | 'copyLink' | 'compare' | 'tokens'> {
  return {
    ask: (revision, offset) => {
      asking.ask('rows', { revision, offset }, (rows) => {
        if (rows !== null) {
          accept(revision, offset, rows);
        }
      });
    },
    verify: postAbout(post, 'verify'),
    exportReport: postAbout(post, 'exportReport'),
    copyLink: postAbout(post, 'copyLink'),
    compare: postAbout(post, 'compare'),
    tokens: postAbout(post, 'showContext'),
  };
}

/** Creates the pane's handlers that post to the host. @param setModel receives a model folder */
function detailPosts(
  post: Post,
  asking: TranscriptRequestSender,
  setModel: (folder: string) => void,
): Pick<
  DetailEvents,
  'replay' | 'cancelReplay' | 'settle' | 'findLost' | 'verify' | 'chooseModel' | 'tokens' | 'open'
> {
  return {
    replay: (message, { result, ...request }) => {
      post(
        result === undefined
          ? { type: 'replay', message, ...request }
          : { type: 'replayResult', message, replays: request.replays, result },
      );
    },
    cancelReplay: () => post({ type: 'cancelReplay' }),
    settle: (message, replays) => post({ type: 'settle', message, replays }),
    findLost: postAbout(post, 'findLost'),
    verify: postAbout(post, 'verify'),
    chooseModel: () => {
      asking.ask('chooseModel', {}, (folder) => {
        if (folder !== null) {
          setModel(folder);
        }
      });
    },
    tokens: postAbout(post, 'showContext'),
    open: postAbout(post, 'locate'),
  };
}

/** Creates the handlers of the comparison that post to the host. */
function comparisonPosts(post: Post): Pick<ComparisonEvents, 'openDiff' | 'open'> {
  return { openDiff: () => post({ type: 'openDiff' }), open: postAbout(post, 'locate') };
}
