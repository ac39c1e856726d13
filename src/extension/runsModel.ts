/** What the tree view "Runs" holds: runs, their rounds, and the episodes of a round, each list in pages. */
import { EVALUATION_ROUNDS } from '../shared/evaluationRounds.ts';
import type { Episode, Phase, RunRecord, Step } from '../shared/records.ts';
import { isResumable, shownStatus, type ShownStatus } from '../shared/runStatus.ts';
import type { StoreReader } from '../store/reader.ts';
import { isFiltering, NO_FILTER, passes, type RunsFilter } from './runsFilter.ts';
import { isBeingWritten } from './storeOwner.ts';

/** Items shown at first, and added by each "Load more". */
export const PAGE = 100;

export interface RunNode {
  readonly kind: 'run';
  readonly id: string;
  readonly run: RunRecord;
  readonly status: ShownStatus;
}

/** A training step or an evaluation. */
export interface RoundNode {
  readonly kind: 'round';
  readonly id: string;
  readonly run: string;
  readonly phase: Phase;
  readonly iteration: number;
  readonly label: string;
  readonly episodes: number;
  /** Null for an evaluation. */
  readonly step: Step | null;
}

export interface EpisodeNode {
  readonly kind: 'episode';
  readonly id: string;
  readonly episode: Episode;
  /** The scored message: what tells the episodes of one question apart. */
  readonly text: string;
}

export interface MoreNode {
  readonly kind: 'more';
  readonly id: string;
  /** The list that grows. */
  readonly list: string;
  readonly parent: RunNode | RoundNode | null;
  readonly left: number;
}

export type RunsNode = RunNode | RoundNode | EpisodeNode | MoreNode;

/** The list at the top of the tree. */
export const TOP = 'runs';

type Reader = Pick<StoreReader, 'path' | 'runs' | 'countRuns' | 'steps' | 'countSteps' | 'episodes' | 'countEpisodes' | 'message'>;

/** How many items of each list are shown. */
export class Limits {
  private readonly limits = new Map<string, number>();

  of(list: string): number {
    return this.limits.get(list) ?? PAGE;
  }

  grow(list: string): void {
    this.limits.set(list, this.of(list) + PAGE);
  }
}

/** The children of a node, or of the tree when it is null. @param filter which runs stand at the top */
export function childrenOf(reader: Reader, node: RunsNode | null, limits: Limits, filter: RunsFilter = NO_FILTER): readonly RunsNode[] {
  if (node === null) return runs(reader, limits, filter);
  if (node.kind === 'run') return rounds(reader, node, limits);
  if (node.kind === 'round') return episodes(reader, node, limits);
  return [];
}

/** Every run, newest first. */
export function allRuns(reader: Pick<Reader, 'path' | 'runs' | 'countRuns'>): readonly RunNode[] {
  return runNodes(reader, reader.countRuns());
}

/** The run that a node is, or stands under. */
export function runOfNode(node: RunsNode): string | undefined {
  switch (node.kind) {
    case 'run': return node.run.id;
    case 'round': return node.run;
    case 'episode': return node.episode.run;
    case 'more': return node.parent === null ? undefined : runOfNode(node.parent);
  }
}

function runs(reader: Reader, limits: Limits, filter: RunsFilter): readonly RunsNode[] {
  if (isFiltering(filter)) {
    const passing = allRuns(reader).filter((node) => passes(filter, node));
    return withMore(passing.slice(0, limits.of(TOP)), TOP, null, passing.length);
  }
  return withMore(runNodes(reader, limits.of(TOP)), TOP, null, reader.countRuns());
}

/** Every run that can be taken to its end, newest first. */
export function resumableRuns(reader: Pick<Reader, 'path' | 'runs' | 'countRuns'>): readonly RunNode[] {
  return allRuns(reader).filter(({ status }) => isResumable(status));
}

function runNodes(reader: Pick<Reader, 'path' | 'runs'>, limit: number): readonly RunNode[] {
  const beingWritten = isBeingWritten(reader.path);
  return reader.runs(0, limit).map((run) => ({ kind: 'run', id: run.id, run, status: shownStatus(run, beingWritten) }));
}

function rounds(reader: Reader, node: RunNode, limits: Limits): readonly RunsNode[] {
  const run = node.run.id;
  const evaluations = EVALUATION_ROUNDS.flatMap((round): { readonly stage: string; readonly node: RoundNode }[] => {
    const found = reader.countEpisodes({ run, phase: 'evaluate', iteration: round.iteration });
    const label = `Evaluation ${round.stage}, ${round.kind}`;
    return found === 0 ? [] : [{ stage: round.stage, node: { kind: 'round', id: `${run}/evaluate/${String(round.iteration)}`, run, phase: 'evaluate', iteration: round.iteration, label, episodes: found, step: null } }];
  });
  const steps = reader.steps(run, 0, limits.of(node.id)).map((step): RoundNode => ({
    kind: 'round', id: `${run}/train/${String(step.iteration)}`, run, phase: 'train', iteration: step.iteration, label: `Step ${String(step.iteration)}`, episodes: step.episodes, step,
  }));
  return [
    ...evaluations.filter(({ stage }) => stage === 'before').map((evaluation) => evaluation.node),
    ...withMore(steps, node.id, node, reader.countSteps(run)),
    ...evaluations.filter(({ stage }) => stage === 'after').map((evaluation) => evaluation.node),
  ];
}

function episodes(reader: Reader, node: RoundNode, limits: Limits): readonly RunsNode[] {
  const { run, phase, iteration } = node;
  const shown = reader.episodes({ run, phase, iteration, offset: 0, limit: limits.of(node.id) }).map((episode): EpisodeNode => ({ kind: 'episode', id: `${node.id}/${String(episode.id)}`, episode, text: reader.message(episode.leaf).text }));
  return withMore(shown, node.id, node, reader.countEpisodes({ run, phase, iteration }));
}

function withMore(shown: readonly RunsNode[], list: string, parent: RunNode | RoundNode | null, total: number): readonly RunsNode[] {
  const left = total - shown.length;
  return left <= 0 ? shown : [...shown, { kind: 'more', id: `${list}/more`, list, parent, left }];
}
