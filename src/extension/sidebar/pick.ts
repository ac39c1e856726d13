/** Asks for a run if a command was given none. */

import { window, type QuickPickItem } from 'vscode';
import type { StoreReader } from '../../store/read/reader.ts';
import { withoutIcons } from '../common/plainText.ts';
import { formatRunDescription } from './runWords.ts';
import { listChildren, Limits, listResumableRuns, type RunsNode } from './runsModel.ts';

interface NodeItem extends QuickPickItem {
  readonly node: RunsNode;
}

/** Asks for a run if there are several. Shows more of the list as long as "Load more" is chosen. */
export async function pickRun(reader: StoreReader, title: string): Promise<string | undefined> {
  const limits = new Limits();
  for (;;) {
    const nodes = listChildren(reader, null, limits);
    const only = nodes[0];
    if (nodes.length === 1 && only?.kind === 'run') {
      return only.run.id;
    }
    const chosen = (await askForNode(nodes, title))?.node;
    if (chosen?.kind !== 'more') {
      return chosen?.kind === 'run' ? chosen.run.id : undefined;
    }
    limits.grow(chosen.list);
  }
}

/** Asks for a run that can be resumed. If there is none, says so and returns undefined. */
export async function pickResumable(reader: StoreReader, title: string): Promise<string | undefined> {
  const nodes = listResumableRuns(reader);
  if (nodes.length === 0) {
    void window.showInformationMessage('There is no run to resume: none was cancelled, interrupted or failed.');
    return undefined;
  }
  const node = nodes.length === 1 ? nodes[0] : (await askForNode(nodes, title))?.node;
  return node?.kind === 'run' ? node.run.id : undefined;
}

async function askForNode(nodes: readonly RunsNode[], title: string): Promise<NodeItem | undefined> {
  return window.showQuickPick<NodeItem>(nodes.flatMap(toPickItems), {
    title,
    placeHolder: 'Which run?',
    matchOnDescription: true,
  });
}

function toPickItems(node: RunsNode): readonly NodeItem[] {
  switch (node.kind) {
    case 'run':
      return [{ label: withoutIcons(node.run.title), description: formatRunDescription(node), node }];
    case 'more':
      return [{ label: 'Load more', description: `${node.left} left`, node }];
    case 'round':
    case 'episode':
    case 'queued':
      return [];
  }
}
