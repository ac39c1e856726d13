/** The items of the tree view "Runs": what is shown of a run, a round and an episode. */
import { ThemeColor, ThemeIcon, TreeItem, TreeItemCollapsibleState } from 'vscode';
import type { ShownStatus } from '../../domain/run.ts';
import type { Outcome } from '../../shared/credit/returns.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { oneLine } from '../common/oneLine.ts';
import { episodeLabel, episodeReturn, roundDescription, runDescription } from './runWords.ts';
import type { EpisodeNode, MoreNode, QueuedNode, RoundNode, RunNode, RunsNode } from './runsModel.ts';

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

/** How a node is shown. @param current the newest word on the run in progress */
export function itemOf(node: RunsNode, current: RunProgress | null): TreeItem {
  switch (node.kind) {
    case 'run':
      return runItem(node, current);
    case 'queued':
      return queuedItem(node);
    case 'round':
      return roundItem(node);
    case 'episode':
      return episodeItem(node);
    case 'more':
      return moreItem(node);
  }
}

function runItem(node: RunNode, current: RunProgress | null): TreeItem {
  const { run, status } = node;
  const description = runDescription(node, current);
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

function queuedItem({ id, job }: QueuedNode): TreeItem {
  const item = new TreeItem(job.title, TreeItemCollapsibleState.None);
  item.id = id;
  item.iconPath = new ThemeIcon('clock');
  item.description = 'queued';
  item.tooltip = `${job.title}\nqueued ${new Date(job.askedAt).toLocaleString()}: it starts when the runs before it have ended`;
  item.accessibilityInformation = { label: `${job.title}, queued` };
  item.contextValue = 'queued';
  return item;
}

function roundItem(node: RoundNode): TreeItem {
  const item = new TreeItem(
    node.label,
    node.episodes === 0 ? TreeItemCollapsibleState.None : TreeItemCollapsibleState.Collapsed,
  );
  item.id = node.id;
  item.iconPath = new ThemeIcon(node.phase === 'evaluate' ? 'checklist' : 'git-commit');
  item.description = roundDescription(node);
  if (node.turns.length > 0) {
    item.tooltip = [`${node.label}: ${roundDescription(node)}`, '', ...node.turns].join('\n');
  }
  item.accessibilityInformation = { label: [`${node.label}, ${roundDescription(node)}`, ...node.turns].join('. ') };
  item.contextValue = node.episodes === 0 ? 'round empty' : 'round';
  return item;
}

function episodeItem(node: EpisodeNode): TreeItem {
  const { episode } = node;
  const item = new TreeItem(episodeLabel(episode), TreeItemCollapsibleState.None);
  item.id = node.id;
  item.iconPath = EPISODE_ICONS[node.outcome ?? 'masked'];
  item.description = oneLine(node.text);
  item.tooltip = `${episode.question}\n\n${node.text.slice(0, 1000)}\n${episodeReturn(episode)}, expected ${episode.answer}`;
  item.accessibilityInformation = { label: `${episodeReturn(episode)}: ${episodeLabel(episode)}` };
  item.contextValue = 'episode';
  item.command = { command: 'c3.openTranscript', title: 'Open transcript', arguments: [node] };
  return item;
}

function moreItem(node: MoreNode): TreeItem {
  const item = new TreeItem('Load more', TreeItemCollapsibleState.None);
  item.id = node.id;
  item.iconPath = new ThemeIcon('ellipsis');
  item.description = `${node.left} left`;
  item.accessibilityInformation = { label: `Load more, ${node.left} left` };
  item.command = { command: 'c3.loadMore', title: 'Load more', arguments: [node] };
  return item;
}
