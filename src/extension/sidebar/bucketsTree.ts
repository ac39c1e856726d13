/** The tree view "Buckets": the contexts of one run with sampled alternatives, in a chosen order. */

import {
  commands,
  EventEmitter,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  TreeItemCollapsibleState,
  window,
  type Memento,
  type TreeDataProvider,
  type TreeView,
  QuickPickItemKind,
  type QuickPickItem,
} from 'vscode';
import {
  ALL_BUCKETS,
  BUCKET_ORDERS,
  isBucketFilter,
  type BucketFilter,
  type BucketOrder,
  type BucketOrigin,
  isBucketKindShown,
  type BucketKind,
} from '../../domain/replay.ts';
import { describeStoredJudge } from '../../domain/run.ts';
import { C3Error, hasCode } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { Disposables } from '../common/disposables.ts';
import { withoutIcons } from '../common/plainText.ts';
import type { StoreAccess } from '../engine/storeAccess.ts';
import {
  formatAlternativeDescription,
  formatAlternativeLabel,
  formatBucketDescription,
  formatBucketFilter,
  formatBucketLabel,
  formatSpokenBucket,
  formatBucketTooltip,
  describeCredit,
  ORDERS,
  listBucketChoices,
  type BucketChoice,
} from './bucketWords.ts';
import {
  listBucketNodes,
  type AlternativeNode,
  type BucketNode,
  type BucketsNode,
  type MoreBucketsNode,
} from './bucketsModel.ts';
import { askForLiveFilter } from './liveFilter.ts';
import { Limits } from './runsModel.ts';

const ORDER_KEY = 'c3.bucketOrder';
const FILTER_KEY = 'c3.bucketFilter';
const RUN_KEY = 'c3.bucketRun';

const ICONS: Readonly<Record<BucketOrigin, string>> = {
  training: 'layers',
  request: 'debug-restart',
  diagnostic: 'beaker',
};

export class BucketsTree implements TreeDataProvider<BucketsNode> {
  private readonly disposables = new Disposables();
  private readonly changed = this.disposables.add(new EventEmitter<BucketsNode | undefined>());
  private readonly store: StoreAccess;
  private readonly memory: Memento;
  private readonly view: TreeView<BucketsNode>;
  private limits = new Limits();
  private order: BucketOrder;
  private filter: BucketFilter;
  /** The run, or null for the newest one. */
  private run: string | null;
  readonly onDidChangeTreeData = this.changed.event;

  /** @param memory storage for the run, the order and the filter */
  constructor(store: StoreAccess, memory: Memento) {
    this.store = store;
    this.memory = memory;
    this.run = memory.get<string | null>(RUN_KEY, null);
    this.order = BUCKET_ORDERS.find((known) => known === memory.get(ORDER_KEY)) ?? 'clearest';
    const kept = memory.get<unknown>(FILTER_KEY);
    this.filter = isBucketFilter(kept) ? kept : ALL_BUCKETS;
    this.disposables.add(store.onDidChange(() => this.changed.fire(undefined)));
    this.view = this.disposables.add(
      window.createTreeView('c3.buckets', { treeDataProvider: this, showCollapseAll: true }),
    );
  }

  show(run: string): void {
    if (run === this.run) {
      return;
    }
    this.run = run;
    this.limits = new Limits();
    void this.memory.update(RUN_KEY, run);
    this.changed.fire(undefined);
  }

  /** Asks for the order of the buckets. */
  async sort(): Promise<void> {
    const items = BUCKET_ORDERS.map((order) => ({
      ...ORDERS[order],
      description: order === this.order ? 'now' : '',
      order,
    }));
    const chosen = await window.showQuickPick(items, { title: 'Sort buckets', placeHolder: 'What comes first?' });
    if (chosen === undefined || chosen.order === this.order) {
      return;
    }
    this.order = chosen.order;
    void this.memory.update(ORDER_KEY, chosen.order);
    this.changed.fire(undefined);
  }

  /** Asks for a filter of the buckets. The view follows while the question is open. */
  async askForFilter(): Promise<void> {
    const reader = this.store.reader();
    const run = reader === null ? undefined : this.shown(reader);
    if (reader === null || run === undefined) {
      return;
    }
    const before = this.filter;
    const chosen = await askForBucketFilter(reader.bucketKinds(run.id), before, (filter) => this.apply(filter));
    this.apply(chosen ?? before);
    void this.memory.update(FILTER_KEY, this.filter);
  }

  /** Shows every bucket of the run again. */
  clearFilter(): void {
    this.apply(ALL_BUCKETS);
    void this.memory.update(FILTER_KEY, ALL_BUCKETS);
  }

  private apply(filter: BucketFilter): void {
    this.filter = formatBucketFilter(filter) === '' ? ALL_BUCKETS : filter;
    this.limits = new Limits();
    this.changed.fire(undefined);
  }

  /** Shows more items of the list that ends with this node. */
  loadMore(node: MoreBucketsNode): void {
    this.limits.grow(node.list);
    this.changed.fire(node.parent ?? undefined);
  }

  async getChildren(node?: BucketsNode): Promise<BucketsNode[]> {
    await this.store.pending();
    try {
      const reader = this.store.reader();
      const run = reader === null ? undefined : this.shown(reader);
      const children =
        reader === null || run === undefined
          ? []
          : listBucketNodes(reader, run.id, this.order, node ?? null, this.limits, this.filter);
      if (node === undefined) {
        this.updateContext(
          run !== undefined && (children.length > 0 || (reader?.countBuckets({ run: run.id }) ?? 0) > 0),
          run?.title,
          reader === null || run === undefined ? null : describeStoredJudge(reader.runConfig(run.id)),
        );
      }
      return [...children];
    } catch (error) {
      if (!(error instanceof C3Error)) {
        throw error;
      }
      // The view "Runs" shows the fault of the store.
      if (node === undefined) {
        this.updateContext(false, undefined, null);
      }
      return [];
    }
  }

  getTreeItem(node: BucketsNode): TreeItem {
    switch (node.kind) {
      case 'bucket':
        return createBucketItem(node);
      case 'alternative':
        return createAlternativeItem(node);
      case 'moreBuckets':
        return createMoreBucketsItem(node);
    }
  }

  dispose(): void {
    this.disposables.dispose();
  }

  /** Returns the chosen run, or the newest one if the store no longer has it. */
  private shown(reader: StoreReader): { readonly id: string; readonly title: string } | undefined {
    if (this.run !== null) {
      try {
        return reader.run(this.run);
      } catch (error) {
        if (!hasCode(error, 'notFound')) {
          throw error;
        }
      }
    }
    return reader.runs(0, 1)[0];
  }

  private updateContext(hasBuckets: boolean, title: string | undefined, judge: string | null): void {
    void commands.executeCommand('setContext', 'c3.noBuckets', !hasBuckets);
    const filter = hasBuckets ? formatBucketFilter(this.filter) : '';
    void commands.executeCommand('setContext', 'c3.bucketsFiltered', filter !== '');
    // Names the judge above the credits that rest on its scores.
    this.view.message = (hasBuckets ? judge : null) ?? '';
    // The filter comes first, since a narrow side bar cuts off the end.
    this.view.description =
      title === undefined
        ? ''
        : [...(filter === '' ? [] : [filter]), title, ORDERS[this.order].label.toLowerCase()].join(' · ');
  }
}

function createBucketItem(node: BucketNode): TreeItem {
  const { ranked, order } = node;
  const item = new TreeItem(
    formatBucketLabel(ranked, order),
    ranked.message === null ? TreeItemCollapsibleState.None : TreeItemCollapsibleState.Collapsed,
  );
  item.id = node.id;
  item.iconPath = new ThemeIcon(ICONS[ranked.origin]);
  item.description = formatBucketDescription(ranked, order);
  item.tooltip = formatBucketTooltip(ranked);
  item.accessibilityInformation = { label: formatSpokenBucket(ranked, order) };
  item.contextValue = ranked.message === null ? 'bucket empty' : 'bucket';
  if (ranked.message !== null) {
    item.command = { command: 'c3.openTranscript', title: 'Open transcript', arguments: [node] };
  }
  return item;
}

function createAlternativeItem(node: AlternativeNode): TreeItem {
  const { alternative, copies } = node;
  const value = alternative.credit?.value ?? 0;
  const item = new TreeItem(formatAlternativeLabel(alternative), TreeItemCollapsibleState.None);
  item.id = node.id;
  item.iconPath =
    value > 0
      ? new ThemeIcon('arrow-up', new ThemeColor('charts.green'))
      : value < 0
        ? new ThemeIcon('arrow-down', new ThemeColor('charts.red'))
        : new ThemeIcon('dash');
  item.description = formatAlternativeDescription(alternative, copies);
  item.tooltip = [
    alternative.text.slice(0, 1000),
    '',
    alternative.credit === null ? 'credit not measured' : describeCredit(alternative.credit),
  ].join('\n');
  item.accessibilityInformation = {
    label: `${formatAlternativeDescription(alternative, copies)}; ${formatAlternativeLabel(alternative)}`,
  };
  item.contextValue = 'alternative';
  item.command = { command: 'c3.openTranscript', title: 'Open transcript', arguments: [node] };
  return item;
}

function createMoreBucketsItem(node: MoreBucketsNode): TreeItem {
  const item = new TreeItem('Load more', TreeItemCollapsibleState.None);
  item.id = node.id;
  item.iconPath = new ThemeIcon('ellipsis');
  item.description = `${node.left} left`;
  item.accessibilityInformation = { label: `Load more, ${node.left} left` };
  item.command = { command: 'c3.loadMore', title: 'Load more', arguments: [node] };
  return item;
}

// The quick pick for the filter, which the view follows at once

interface ChoiceItem extends QuickPickItem {
  readonly choice?: BucketChoice;
}

/**
 * @param kinds the kinds of buckets in the run
 * @param apply called with each change while the question is open
 * @returns the chosen filter, or undefined if the user canceled
 */
function askForBucketFilter(
  kinds: readonly BucketKind[],
  present: BucketFilter,
  apply: (filter: BucketFilter) => void,
): Promise<BucketFilter | undefined> {
  const pick = window.createQuickPick<ChoiceItem>();
  const counted = (of: readonly BucketKind[]): number => of.reduce((sum, { count }) => sum + count, 0);
  const items = listBucketChoices(kinds).flatMap(({ title, choices }): ChoiceItem[] => [
    { label: title, kind: QuickPickItemKind.Separator },
    ...choices.map((choice): ChoiceItem => ({
      label: withoutIcons(choice.label),
      description: `${choice.count} ${choice.count === 1 ? 'bucket' : 'buckets'}`,
      picked: choice.isIn(present),
      choice,
    })),
  ]);
  const current = (): BucketFilter =>
    pick.selectedItems.reduce<BucketFilter>((filter, { choice }) => choice?.addTo(filter) ?? filter, {
      roles: [],
      origins: [],
      credit: [],
    });
  pick.placeholder = 'Select roles, origins and whether credit was measured; press Enter to apply';
  pick.items = items;
  pick.selectedItems = items.filter(({ picked }) => picked === true);
  return askForLiveFilter(pick, current, (filter) => {
    pick.title = `Filter buckets: ${counted(kinds.filter((kind) => isBucketKindShown(filter, kind)))} of ${counted(kinds)}`;
    apply(filter);
  });
}
