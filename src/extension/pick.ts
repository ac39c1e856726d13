/** Choosing a run, a round, an episode or a message where a command was not given one. */
import { QuickPickItemKind, window, type QuickPickItem } from 'vscode';
import type { StoreReader } from '../store/reader.ts';
import { withoutIcons } from './plainText.ts';
import { childrenOf, episodes, Limits, resumableRuns, type EpisodeNode, type RoundNode, type RunNode, type RunsNode } from './runsModel.ts';
import { outcomeOf } from './transcriptFilter.ts';
import { episodeLabel, episodeReturn, oneLine, roundDescription, runDescription } from './runWords.ts';

const OUTCOMES: Readonly<Record<ReturnType<typeof outcomeOf>, string>> = { lost: 'Lost', between: 'Neither lost nor won', won: 'Won', none: 'Not scored' };

interface NodeItem extends QuickPickItem {
  /** None for a heading. */
  readonly node?: RunsNode;
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
  const node = nodes.length === 1 ? nodes[0] : (await window.showQuickPick<NodeItem>(nodes.map(itemOf), { title, placeHolder: 'Which run?', matchOnDescription: true }))?.node;
  return node?.kind === 'run' ? node.run.id : undefined;
}

/** An episode, by run and round; the lost ones stand first. @param within the run or the round to choose from, where it is known */
export async function pickEpisode(reader: StoreReader, title: string, within: RunNode | RoundNode | null = null): Promise<EpisodeNode | undefined> {
  const run = within ?? await pickNode(reader, null, title, 'Which run?');
  const round = run === undefined || run.kind === 'round' ? run : await pickNode(reader, run, title, 'Which step or evaluation?');
  const episode = round === undefined ? undefined : await pickNode(reader, round, title, 'Which episode? Those that were lost stand first');
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
    const nodes = parent?.kind === 'round' ? episodes(reader, parent, limits, true) : childrenOf(reader, parent, limits);
    const only = nodes[0];
    if (nodes.length === 1 && only !== undefined) return only;
    const chosen = (await window.showQuickPick<NodeItem>(underHeadings(nodes), { title, placeHolder, matchOnDescription: true }))?.node;
    if (chosen?.kind !== 'more') return chosen;
    limits.grow(chosen.list);
  }
}

/** Every outcome of episodes under its name; other nodes stand as they are. */
function underHeadings(nodes: readonly RunsNode[]): readonly NodeItem[] {
  const headings = nodes.map((node) => (node.kind === 'episode' ? OUTCOMES[outcomeOf(node.episode.return)] : undefined));
  return nodes.flatMap((node, index): readonly NodeItem[] => {
    const heading = headings[index];
    return heading === undefined || heading === headings[index - 1] ? [itemOf(node)] : [{ label: heading, kind: QuickPickItemKind.Separator }, itemOf(node)];
  });
}

function itemOf(node: RunsNode): NodeItem {
  switch (node.kind) {
    case 'run': return { label: withoutIcons(node.run.title), description: runDescription(node), node };
    case 'round': return { label: node.label, description: roundDescription(node), node };
    case 'episode': return { label: withoutIcons(episodeLabel(node.episode)), description: `${episodeReturn(node.episode.return)}, ${withoutIcons(oneLine(node.text))}`, node };
    case 'more': return { label: 'Load more', description: `${String(node.left)} left`, node };
  }
}
