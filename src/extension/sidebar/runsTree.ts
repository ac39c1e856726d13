/** The tree view "Runs": runs, their steps and evaluations, and the episodes of each. */

import { setTimeout } from 'node:timers/promises';
import {
  commands,
  EventEmitter,
  window,
  type Memento,
  type TreeDataProvider,
  TreeItem,
  type TreeView,
  QuickPickItemKind,
  type QuickPickItem,
  ThemeColor,
  ThemeIcon,
  TreeItemCollapsibleState,
} from 'vscode';
import type { Phase } from '../../domain/episode.ts';
import type { ShownStatus } from '../../domain/run.ts';
import type { Outcome } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { OlderStoreError } from '../../store/read/reader.ts';
import { Disposables } from '../common/disposables.ts';
import type { Log } from '../common/log.ts';
import { oneLine } from '../common/oneLine.ts';
import type { StoreAccess } from '../engine/storeAccess.ts';
import type { RunController } from '../run/runController.ts';
import { askForLiveFilter } from './liveFilter.ts';
import { formatRunDescription, formatEpisodeLabel, formatEpisodeReturn, formatRoundDescription } from './runWords.ts';
import {
  formatRunsFilter,
  isFiltering,
  isRunsFilter,
  NO_FILTER,
  type RunsFilter,
  countValues,
  passesRunsFilter,
  STATUSES,
  type FilteredRun,
} from './runsFilter.ts';
import { findChangedRuns, isSameList, type List } from './runsList.ts';
import {
  listAllRuns,
  listChildren,
  findRound,
  Limits,
  findParent,
  toQueuedNodes,
  findRunOfNode,
  TOP,
  type MoreNode,
  type RunNode,
  type RunsNode,
  type EpisodeNode,
  type QueuedNode,
  type RoundNode,
} from './runsModel.ts';

/** Delay before a wait for the store is explained. */
const PATIENCE_MILLISECONDS = 1000;
/** Milliseconds before each attempt to expand a run. */
const EXPAND_PAUSES = [0, 400, 1_200];

/** The workspace state's key for the filter. */
const FILTER_KEY = 'c3.runsFilter';

/** A list of the tree as the editor shows it. */
interface Drawn {
  /** The parent of the items; undefined at the top. */
  readonly node: RunsNode | undefined;
  readonly list: List;
}

export class RunsTree implements TreeDataProvider<RunsNode> {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<RunsNode | undefined>());
  private readonly store: StoreAccess;
  private readonly running: RunController;
  private readonly log: Log;
  private readonly limits = new Limits();
  private readonly view: TreeView<RunsNode>;
  private readonly memory: Memento;
  private readonly chosen = this.disposables.add(new EventEmitter<string>());
  /** Ids of the nodes that were expanded in this window and still are. */
  private readonly expanded = new Set<string>();
  private fault: string | null = null;
  /** The item of the run in progress, and its last description. */
  private live: { readonly node: RunNode; words: string } | null = null;
  /** Ids of the jobs that were last shown as queued. */
  private queue = '';
  /** The lists that the editor shows, by the id of their parent, with the last content of their items. */
  private readonly drawn = new Map<string, Drawn>();
  /** The present state of runs for which the editor holds an older node, by id. */
  private readonly newest = new Map<string, RunNode>();
  private filter: RunsFilter;
  /** Fires with the run of a selected item. */
  readonly onDidChooseRun = this.chosen.event;
  readonly onDidChangeTreeData = this.changed.event;

  /** @param memory storage for the filter */
  constructor(store: StoreAccess, running: RunController, log: Log, memory: Memento) {
    this.store = store;
    this.running = running;
    this.log = log;
    this.memory = memory;
    const kept = memory.get<unknown>(FILTER_KEY);
    this.filter = isRunsFilter(kept) ? kept : NO_FILTER;
    this.disposables.add(store.onDidChange(() => this.storeChanged()));
    this.disposables.add(running.onDidChange(() => this.follow()));
    this.view = this.disposables.add(
      window.createTreeView('c3.runs', { treeDataProvider: this, showCollapseAll: true }),
    );
    this.disposables.add(this.view.onDidExpandElement(({ element }) => this.expanded.add(element.id)));
    this.disposables.add(this.view.onDidCollapseElement(({ element }) => this.expanded.delete(element.id)));
    this.disposables.add(
      this.view.onDidChangeSelection(({ selection: [node] }) => {
        const run = node === undefined ? undefined : findRunOfNode(node);
        if (run !== undefined) {
          this.chosen.fire(run);
        }
      }),
    );
  }

  /** Asks for a filter of the runs. The tree follows while the question is open. */
  async askForFilter(): Promise<void> {
    const reader = this.store.reader();
    if (reader === null) {
      return;
    }
    const before = this.filter;
    const chosen = await askForRunsFilter(listAllRuns(reader), before, (filter) => this.apply(filter));
    this.apply(chosen ?? before);
    void this.memory.update(FILTER_KEY, this.filter);
  }

  /** Shows every run again. */
  clearFilter(): void {
    this.apply(NO_FILTER);
    void this.memory.update(FILTER_KEY, NO_FILTER);
  }

  private apply(filter: RunsFilter): void {
    this.filter = filter;
    this.refresh();
  }

  refresh(): void {
    this.drawn.clear();
    this.newest.clear();
    this.changed.fire(undefined);
  }

  /**
   * Updates only the items that changed. While the editor updates a whole list it knows none of its
   * items, so that a button pressed on one of them passes no item.
   */
  private storeChanged(): void {
    const top = this.drawn.get(TOP);
    const now = this.read(undefined);
    const changed = top === undefined ? null : findChangedRuns(top.list, now);
    if (top === undefined || changed === null) {
      this.refresh();
      return;
    }
    this.drawn.set(TOP, { node: undefined, list: { ...now, children: top.list.children } });
    for (const child of changed) {
      this.newest.set(child.id, child);
      this.changed.fire(top.list.children.find(({ id }) => id === child.id));
    }
    for (const { node, list } of this.drawn.values()) {
      if (node !== undefined && !isSameList(list, this.read(node))) {
        this.changed.fire(node);
      }
    }
  }

  /** Shows more items of the list that ends with this node. */
  loadMore(node: MoreNode): void {
    this.limits.grow(node.list);
    this.changed.fire(node.parent ?? undefined);
  }

  getChildren(node?: RunsNode): RunsNode[] | Promise<RunsNode[]> {
    const pending = this.store.pending();
    return pending === null ? this.listOf(node) : this.listAfter(pending, node);
  }

  /** Returns the items of a list once the store can be read. Explains a noticeable wait. */
  private async listAfter(pending: Promise<void>, node: RunsNode | undefined): Promise<RunsNode[]> {
    let over = false;
    void setTimeout(PATIENCE_MILLISECONDS).then(() => {
      if (!over) {
        this.view.message = 'Examining the store before it is opened.';
      }
    });
    await pending;
    over = true;
    return this.listOf(node);
  }

  private listOf(node: RunsNode | undefined): RunsNode[] {
    const list = this.read(node);
    this.drawn.set(node?.id ?? TOP, { node, list });
    if (node === undefined) {
      this.newest.clear();
      this.updateContext(list.hasRuns, list.error);
    }
    return [...list.children];
  }

  /** Reads the present items of a list from the store. */
  private read(node: RunsNode | undefined): List {
    try {
      const reader = this.store.reader();
      const stored = reader === null ? [] : listChildren(reader, node ?? null, this.limits, this.filter);
      const children = node === undefined ? [...toQueuedNodes(this.running.queued), ...stored] : stored;
      const hasRuns = children.length > 0 || (reader?.countRuns() ?? 0) > 0;
      // Without the remaining time, which changes constantly and which `follow` updates.
      return {
        children,
        hasRuns,
        error: null,
        words: children.map((child) => JSON.stringify(createTreeItem(child, null))),
      };
    } catch (error) {
      if (!(error instanceof C3Error)) {
        throw error;
      }
      return { children: [], hasRuns: false, error, words: [] };
    }
  }

  getParent(node: RunsNode): RunsNode | undefined {
    const reader = this.store.reader();
    return reader === null ? undefined : findParent(reader, node);
  }

  /**
   * Selects, expands and focuses a step or an evaluation. Clears the filter if it hides the run.
   * @throws C3Error if the round is not in the store
   */
  async showRound(run: string, phase: Phase, iteration: number): Promise<void> {
    const reader = this.store.reader();
    const found = reader === null ? undefined : findRound(reader, { run, phase, iteration }, this.limits, this.filter);
    if (found === undefined) {
      throw new C3Error(
        'input',
        `The store holds no episode of ${phase === 'train' ? 'step' : 'evaluation'} ${iteration} of run ${run}: refresh the Runs view.`,
      );
    }
    if (found.filter === this.filter) {
      this.refresh();
    } else {
      this.clearFilter();
      void window.setStatusBarMessage('The filter of the Runs view was cleared: it hid this run.', 10_000);
    }
    await this.view.reveal(found.node, { select: true, focus: true, expand: true });
  }

  /** The run of the selected item. */
  get selectedRun(): string | undefined {
    const [node] = this.view.selection;
    return node === undefined ? undefined : findRunOfNode(node);
  }

  /** Expands a run. Repeats the request, since the editor ignores it while it updates the list. */
  async expand(node: RunNode): Promise<void> {
    for (const pause of EXPAND_PAUSES) {
      await setTimeout(pause);
      if (this.expanded.has(node.id)) {
        return;
      }
      await this.view.reveal(node, { select: false, focus: false, expand: true });
    }
  }

  getTreeItem(node: RunsNode): TreeItem {
    const { current } = this.running;
    if (node.kind !== 'run') {
      return createTreeItem(node, current);
    }
    const now = this.newest.get(node.id) ?? node;
    if (now.status === 'running') {
      this.live = { node, words: formatRunDescription(now, current) };
    }
    return createTreeItem(now, current);
  }

  /** Updates the queue, and the item of the run in progress if its description has changed. */
  private follow(): void {
    const queue = toQueuedNodes(this.running.queued)
      .map(({ id }) => id)
      .join(' ');
    if (queue !== this.queue) {
      this.queue = queue;
      this.refresh();
    }
    const {
      live,
      running: { current },
    } = this;
    if (live === null || live.node.run.id !== current?.run) {
      return;
    }
    const words = formatRunDescription(this.newest.get(live.node.id) ?? live.node, current);
    if (words === live.words) {
      return;
    }
    live.words = words;
    this.changed.fire(live.node);
  }

  dispose(): void {
    this.disposables.dispose();
  }

  /** Sets the context keys for the welcome text and the palette. Shows and logs a fault of the store. */
  private updateContext(hasRuns: boolean, error: Error | null): void {
    const fault = error?.message ?? null;
    void commands.executeCommand('setContext', 'c3.noRuns', !hasRuns);
    void commands.executeCommand('setContext', 'c3.storeBroken', fault !== null);
    void commands.executeCommand('setContext', 'c3.storeOlder', error instanceof OlderStoreError);
    if (fault !== null && fault !== this.fault) {
      this.log.error(fault);
    }
    this.fault = fault;
    const filtering = hasRuns && isFiltering(this.filter);
    void commands.executeCommand('setContext', 'c3.runsFiltered', filtering);
    this.view.description = filtering ? formatRunsFilter(this.filter) : '';
    // A message replaces the welcome text, which has a button for this.
    this.view.message = error instanceof OlderStoreError ? '' : (fault ?? '');
  }
}

// The quick pick for the filter: the typed words, and the selected statuses and methods

interface FilterItem extends QuickPickItem {
  readonly status?: RunsFilter['statuses'][number];
  readonly method?: string;
}

/**
 * @param apply called with each change while the question is open
 * @returns the chosen filter, or undefined if the user canceled
 */
function askForRunsFilter(
  runs: readonly FilteredRun[],
  present: RunsFilter,
  apply: (filter: RunsFilter) => void,
): Promise<RunsFilter | undefined> {
  const pick = window.createQuickPick<FilterItem>();
  const items = createFilterItems(runs);
  const current = (): RunsFilter => ({
    words: pick.value.slice(0, 200),
    methods: pick.selectedItems.flatMap(({ method }) => method ?? []),
    statuses: pick.selectedItems.flatMap(({ status }) => status ?? []),
  });
  pick.placeholder =
    'Type words of the title, tags, note, method or id, or select a status or a method; press Enter to apply';
  pick.items = items;
  pick.value = present.words;
  pick.selectedItems = items.filter(
    ({ status, method }) =>
      (status !== undefined && present.statuses.includes(status)) ||
      (method !== undefined && present.methods.includes(method)),
  );
  return askForLiveFilter(pick, current, (filter) => {
    pick.title = `Filter runs: ${runs.filter((run) => passesRunsFilter(filter, run)).length} of ${runs.length}`;
    apply(filter);
  });
}

/** Returns the items of the quick pick. All stay visible, since the typed text filters the runs. */
function createFilterItems(runs: readonly FilteredRun[]): readonly FilterItem[] {
  const statuses = countValues(runs.map(({ status }) => status));
  return [
    { label: 'Status', kind: QuickPickItemKind.Separator },
    ...STATUSES.flatMap((status) => statuses.filter(({ value }) => value === status)).map(
      ({ value, count }): FilterItem => ({
        label: value,
        description: formatRunCount(count),
        alwaysShow: true,
        status: value,
      }),
    ),
    { label: 'Method', kind: QuickPickItemKind.Separator },
    ...countValues(runs.map(({ run }) => run.method)).map(({ value, count }): FilterItem => ({
      label: value,
      description: formatRunCount(count),
      alwaysShow: true,
      method: value,
    })),
  ];
}

function formatRunCount(count: number): string {
  return count === 1 ? '1 run' : `${count} runs`;
}

// The items of the tree

const RUN_ICONS: Readonly<Record<ShownStatus, ThemeIcon>> = {
  running: new ThemeIcon('loading~spin'),
  done: new ThemeIcon('pass', new ThemeColor('testing.iconPassed')),
  cancelled: new ThemeIcon('circle-slash'),
  failed: new ThemeIcon('error', new ThemeColor('testing.iconFailed')),
  interrupted: new ThemeIcon('warning', new ThemeColor('list.warningForeground')),
};

const EPISODE_ICONS: Readonly<Record<Outcome | 'masked', ThemeIcon>> = {
  won: new ThemeIcon('check', new ThemeColor('testing.iconPassed')),
  between: new ThemeIcon('circle-outline'),
  failed: new ThemeIcon('close', new ThemeColor('testing.iconFailed')),
  masked: new ThemeIcon('circle-slash', new ThemeColor('disabledForeground')),
};

/** Returns the tree item of a node. @param current the newest progress of the run in progress */
function createTreeItem(node: RunsNode, current: RunProgress | null): TreeItem {
  switch (node.kind) {
    case 'run':
      return createRunItem(node, current);
    case 'queued':
      return createQueuedItem(node);
    case 'round':
      return createRoundItem(node);
    case 'episode':
      return createEpisodeItem(node);
    case 'more':
      return createMoreItem(node);
  }
}

function createRunItem(node: RunNode, current: RunProgress | null): TreeItem {
  const { run, status } = node;
  const description = formatRunDescription(node, current);
  const item = new TreeItem(run.title, TreeItemCollapsibleState.Collapsed);
  item.id = node.id;
  item.iconPath = RUN_ICONS[status];
  item.description = description;
  item.tooltip = `${run.title}\n${run.method}, seed ${run.seed}, ${status}\nstarted ${new Date(run.createdAt).toLocaleString()}\n${run.id}${run.note === '' ? '' : `\n\n${run.note}`}`;
  item.accessibilityInformation = { label: `${run.title}, ${run.method}, ${status}, ${description}` };
  item.contextValue = `run ${status}`;
  item.command = { command: 'c3.openEpisodes', title: 'Open episodes', arguments: [node] };
  return item;
}

function createQueuedItem({ id, job }: QueuedNode): TreeItem {
  const item = new TreeItem(job.title, TreeItemCollapsibleState.None);
  item.id = id;
  item.iconPath = new ThemeIcon('clock');
  item.description = 'queued';
  item.tooltip = `${job.title}\nqueued ${new Date(job.askedAt).toLocaleString()}: it starts when the runs before it have ended`;
  item.accessibilityInformation = { label: `${job.title}, queued` };
  item.contextValue = 'queued';
  return item;
}

function createRoundItem(node: RoundNode): TreeItem {
  const item = new TreeItem(
    node.label,
    node.episodes === 0 ? TreeItemCollapsibleState.None : TreeItemCollapsibleState.Collapsed,
  );
  item.id = node.id;
  item.iconPath = new ThemeIcon(node.phase === 'evaluate' ? 'checklist' : 'git-commit');
  item.description = formatRoundDescription(node);
  if (node.turns.length > 0) {
    item.tooltip = [`${node.label}: ${formatRoundDescription(node)}`, '', ...node.turns].join('\n');
  }
  item.accessibilityInformation = {
    label: [`${node.label}, ${formatRoundDescription(node)}`, ...node.turns].join('. '),
  };
  item.contextValue = node.episodes === 0 ? 'round empty' : 'round';
  return item;
}

function createEpisodeItem(node: EpisodeNode): TreeItem {
  const { episode } = node;
  const item = new TreeItem(formatEpisodeLabel(episode), TreeItemCollapsibleState.None);
  item.id = node.id;
  item.iconPath = EPISODE_ICONS[node.outcome ?? 'masked'];
  item.description = oneLine(node.text);
  item.tooltip = `${episode.question}\n\n${node.text.slice(0, 1000)}\n${formatEpisodeReturn(episode)}, expected ${episode.answer}`;
  item.accessibilityInformation = { label: `${formatEpisodeReturn(episode)}: ${formatEpisodeLabel(episode)}` };
  item.contextValue = 'episode';
  item.command = { command: 'c3.openTranscript', title: 'Open transcript', arguments: [node] };
  return item;
}

function createMoreItem(node: MoreNode): TreeItem {
  const item = new TreeItem('Load more', TreeItemCollapsibleState.None);
  item.id = node.id;
  item.iconPath = new ThemeIcon('ellipsis');
  item.description = `${node.left} left`;
  item.accessibilityInformation = { label: `Load more, ${node.left} left` };
  item.command = { command: 'c3.loadMore', title: 'Load more', arguments: [node] };
  return item;
}
