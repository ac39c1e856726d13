/** Choosing a run, a round, an episode or a message where a command was not given one. */
import { window, type QuickPickItem } from 'vscode';
import type { StoreReader } from '../store/reader.ts';
import { withoutIcons } from './plainText.ts';
import { childrenOf, Limits, resumableRuns, type EpisodeNode, type RoundNode, type RunNode, type RunsNode } from './runsModel.ts';
import { episodeLabel, episodeReturn, oneLine, roundDescription, runDescription } from './runWords.ts';

interface NodeItem extends QuickPickItem {
  readonly node: RunsNode;
}

/** A run; asked for only when there are several. */
export async function pickRun(reader: StoreReader, title: string): Promise<string | undefined> {
  const node = await pickNode(reader, null, title, 'Which run?');
  return node?.kind === 'run' ? node.run.id : undefined;
}

/** A run that can be taken to its end; undefined too where there is none, which is said. */
export async function pickResumable(reader: StoreReader, title: string): Promise<string | undefined> {
  const nodes = resumableRuns(reader);
  if (nodes.length === 0) {
    void window.showInformationMessage('There is no run to resume: none was cancelled, failed or was interrupted.');
    return undefined;
  }
  const node = nodes.length === 1 ? nodes[0] : (await window.showQuickPick(nodes.map(itemOf), { title, placeHolder: 'Which run?', matchOnDescription: true }))?.node;
  return node?.kind === 'run' ? node.run.id : undefined;
}

/** An episode, by run and round. @param within the run or the round to choose from, where it is known */
export async function pickEpisode(reader: StoreReader, title: string, within: RunNode | RoundNode | null = null): Promise<EpisodeNode | undefined> {
  const run = within ?? await pickNode(reader, null, title, 'Which run?');
  const round = run === undefined || run.kind === 'round' ? run : await pickNode(reader, run, title, 'Which step or evaluation?');
  const episode = round === undefined ? undefined : await pickNode(reader, round, title, 'Which episode?');
  return episode?.kind === 'episode' ? episode : undefined;
}

/** One of the messages of an episode, from the first to the scored one. */
export async function pickMessage(reader: StoreReader, episode: EpisodeNode, title: string): Promise<number | undefined> {
  const items = reader.chain(episode.episode.leaf).map((message) => ({ label: withoutIcons(message.eventType), description: withoutIcons(oneLine(message.text)), message: message.id }));
  return (await window.showQuickPick(items, { title, placeHolder: 'Which message?' }))?.message;
}

/** Shows more of the list until something else than "Load more" is chosen. */
async function pickNode(reader: StoreReader, parent: RunsNode | null, title: string, placeHolder: string): Promise<RunsNode | undefined> {
  const limits = new Limits();
  for (;;) {
    const nodes = childrenOf(reader, parent, limits);
    const only = nodes[0];
    if (nodes.length === 1 && only !== undefined) return only;
    const chosen = await window.showQuickPick(nodes.map(itemOf), { title, placeHolder, matchOnDescription: true });
    if (chosen?.node.kind !== 'more') return chosen?.node;
    limits.grow(chosen.node.list);
  }
}

function itemOf(node: RunsNode): NodeItem {
  switch (node.kind) {
    case 'run': return { label: withoutIcons(node.run.title), description: runDescription(node), node };
    case 'round': return { label: node.label, description: roundDescription(node), node };
    case 'episode': return { label: withoutIcons(episodeLabel(node.episode)), description: `${episodeReturn(node.episode.return)}, ${withoutIcons(oneLine(node.text))}`, node };
    case 'more': return { label: 'Load more', description: `${String(node.left)} left`, node };
  }
}
