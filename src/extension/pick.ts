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
    const nodes = parent?.kind === 'round' ? episodes(reader, parent, limits, true) : stepsFirst(childrenOf(reader, parent, limits));
    const only = nodes[0];
    if (nodes.length === 1 && only !== undefined) return only;
    const chosen = (await window.showQuickPick<NodeItem>(underHeadings(nodes), { title, placeHolder, matchOnDescription: true }))?.node;
    if (chosen?.kind !== 'more') return chosen;
    limits.grow(chosen.list);
  }
}

/** The steps of a run before its evaluations, which have no credits to read until something is replayed. */
function stepsFirst(nodes: readonly RunsNode[]): readonly RunsNode[] {
  const evaluated = (node: RunsNode): boolean => node.kind === 'round' && node.step === null;
  return [...nodes.filter((node) => !evaluated(node)), ...nodes.filter(evaluated)];
}

/** Every outcome of episodes, and every kind of round, under its name; other nodes stand as they are. */
function underHeadings(nodes: readonly RunsNode[]): readonly NodeItem[] {
  const headings = nodes.map(headingOf);
  return nodes.flatMap((node, index): readonly NodeItem[] => {
    const heading = headings[index];
    return heading === undefined || heading === headings[index - 1] ? [itemOf(node)] : [{ label: heading, kind: QuickPickItemKind.Separator }, itemOf(node)];
  });
}

function headingOf(node: RunsNode): string | undefined {
  switch (node.kind) {
    case 'episode': return OUTCOMES[outcomeOf(node.episode.return)];
    case 'round': return node.step === null ? 'One attempt each' : 'Several attempts at each problem, with credits';
    case 'run': case 'more': return undefined;
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
