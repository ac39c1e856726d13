/** The model of the view "Runs": runs, their rounds, and the episodes of a round, each list in pages. */

import type { Episode, Phase } from '../../domain/episode.ts';
import { evaluationRound, evaluationTitle, roundsInOrder, type EvaluationRound } from '../../domain/evaluation.ts';
import {
  isResumable,
  shownStatus,
  type RunRecord,
  type ShownStatus,
  readSection,
  parseStoredRecipe,
} from '../../domain/run.ts';
import type { Step } from '../../domain/step.ts';
import { toOutcome, type Outcome } from '../../shared/credit/returns.ts';
import { isRecord } from '../../shared/guard.ts';
import type { RunJob } from '../../shared/protocols/jobs.ts';
import { POLICY_KINDS } from '../../shared/rolePolicies.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import { isFiltering, NO_FILTER, passesRunsFilter, type RunsFilter } from './runsFilter.ts';

/** Number of items shown at first, and added by each "Load more". */
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
  /** The step, or null for an evaluation. */
  readonly step: Step | null;
  /** One sentence for each turn of a role that learned. Empty for an evaluation and for most methods. */
  readonly turns: readonly string[];
}

export interface EpisodeNode {
  readonly kind: 'episode';
  readonly id: string;
  readonly episode: Episode;
  /** The outcome, or null if the evaluator failed. */
  readonly outcome: Outcome | null;
  /** The text of the scored message, which distinguishes the episodes of one question. */
  readonly text: string;
}

export interface MoreNode {
  readonly kind: 'more';
  readonly id: string;
  /** The list that the item extends. */
  readonly list: string;
  readonly parent: RunNode | RoundNode | null;
  readonly left: number;
}

/** A queued run, of which the store holds nothing yet. */
export interface QueuedNode {
  readonly kind: 'queued';
  readonly id: string;
  readonly job: RunJob;
}

export type RunsNode = RunNode | RoundNode | EpisodeNode | MoreNode | QueuedNode;

/** The list at the top of the tree. */
export const TOP = 'runs';

type Reader = Pick<
  StoreReader,
  | 'path'
  | 'run'
  | 'runConfig'
  | 'returnScale'
  | 'runs'
  | 'countRuns'
  | 'steps'
  | 'countSteps'
  | 'episodes'
  | 'countEpisodes'
  | 'evaluationNumbers'
  | 'message'
>;

/** The number of items shown of each list. */
export class Limits {
  private readonly limits = new Map<string, number>();

  of(list: string): number {
    return this.limits.get(list) ?? PAGE;
  }

  grow(list: string): void {
    this.limits.set(list, this.of(list) + PAGE);
  }

  /** Shows at least the given number of items, in whole pages. */
  atLeast(list: string, items: number): void {
    this.limits.set(list, Math.max(this.of(list), PAGE * Math.ceil(items / PAGE)));
  }
}

/**
 * Returns the children of a node, or the top of the tree if it is null. @param filter filters the runs
 * at the top
 */
export function listChildren(
  reader: Reader,
  node: RunsNode | null,
  limits: Limits,
  filter: RunsFilter = NO_FILTER,
): readonly RunsNode[] {
  if (node === null) {
    return listRunNodes(reader, limits, filter);
  }
  if (node.kind === 'run') {
    return listRoundNodes(reader, node, limits);
  }
  if (node.kind === 'round') {
    return listEpisodeNodes(reader, node, limits);
  }
  return [];
}

/**
 * Returns the queued runs, the last one first, as they stand above the runs that began before. Leaves
 * out resumed runs, which are listed already.
 */
export function toQueuedNodes(jobs: readonly RunJob[]): readonly QueuedNode[] {
  return jobs
    .filter(({ kind }) => kind === 'start')
    .map((job): QueuedNode => ({ kind: 'queued', id: `queued:${job.id}`, job }))
    .reverse();
}

/** Returns all runs, newest first. */
export function listAllRuns(reader: Pick<Reader, 'path' | 'runs' | 'countRuns'>): readonly RunNode[] {
  return readRunNodes(reader, reader.countRuns());
}

/** Returns the run of a node, or of its ancestor. */
export function findRunOfNode(node: RunsNode): string | undefined {
  switch (node.kind) {
    case 'run':
      return node.run.id;
    case 'round':
      return node.run;
    case 'episode':
      return node.episode.run;
    case 'more':
      return node.parent === null ? undefined : findRunOfNode(node.parent);
    case 'queued':
      return undefined;
  }
}

function listRunNodes(reader: Reader, limits: Limits, filter: RunsFilter): readonly RunsNode[] {
  if (isFiltering(filter)) {
    const passing = listAllRuns(reader).filter((node) => passesRunsFilter(filter, node));
    return appendMoreNode(passing.slice(0, limits.of(TOP)), TOP, null, passing.length);
  }
  return appendMoreNode(readRunNodes(reader, limits.of(TOP)), TOP, null, reader.countRuns());
}

/** Returns the parent of a node, or undefined at the top. */
export function findParent(reader: Reader, node: RunsNode): RunsNode | undefined {
  switch (node.kind) {
    case 'run':
    case 'queued':
      return undefined;
    case 'round':
      return readRunNode(reader, node.run);
    case 'episode':
      return readRoundNode(reader, node.episode);
    case 'more':
      return node.parent ?? undefined;
  }
}

/**
 * Finds the node of a step or an evaluation, and extends the lists above it so that they contain it.
 * @returns the node and the filter to use: the given one, or none if that hides the run
 * @throws C3Error('input') if the run does not exist
 */
export function findRound(
  reader: Reader,
  round: Pick<Episode, 'run' | 'phase' | 'iteration'>,
  limits: Limits,
  filter: RunsFilter = NO_FILTER,
): { readonly node: RoundNode; readonly filter: RunsFilter } | undefined {
  const run = readRunNode(reader, round.run);
  const found = readRoundNode(reader, round);
  if (found === undefined) {
    return undefined;
  }
  for (let offset = 0, open = true; open; offset += PAGE) {
    const page = reader.runs(offset, PAGE);
    const place = page.findIndex(({ id }) => id === round.run);
    if (place >= 0) {
      limits.atLeast(TOP, offset + place + 1);
    }
    open = place < 0 && page.length === PAGE;
  }
  // Steps are numbered from 1 without gaps.
  if (round.phase === 'train') {
    limits.atLeast(run.id, round.iteration);
  }
  return { node: found, filter: passesRunsFilter(filter, run) ? filter : NO_FILTER };
}

function readRunNode(reader: Pick<Reader, 'path' | 'run'>, id: string): RunNode {
  const run = reader.run(id);
  return { kind: 'run', id: run.id, run, status: shownStatus(run, isBeingWritten(reader.path)) };
}

function readRoundNode(
  reader: Reader,
  { run, phase, iteration }: Pick<Episode, 'run' | 'phase' | 'iteration'>,
): RoundNode | undefined {
  if (phase === 'train') {
    const [step] = iteration < 1 ? [] : reader.steps(run, iteration - 1, 1);
    return step?.iteration === iteration ? toStepNode(run, step, reader.runConfig(run)) : undefined;
  }
  const round = phase === 'evaluate' ? evaluationRound(iteration) : null;
  return round === null ? undefined : readEvaluationNode(reader, run, round);
}

function toStepNode(run: string, step: Step, runConfig: string): RoundNode {
  return {
    kind: 'round',
    id: `${run}/train/${step.iteration}`,
    run,
    phase: 'train',
    iteration: step.iteration,
    label: `Step ${step.iteration}`,
    episodes: step.episodes,
    step,
    turns: formatStepTurns(runConfig, step.iteration),
  };
}

/** Returns undefined if nothing was evaluated. */
function readEvaluationNode(
  reader: Pick<Reader, 'countEpisodes'>,
  run: string,
  round: EvaluationRound,
): RoundNode | undefined {
  const { iteration } = round;
  const episodes = reader.countEpisodes({ run, phase: 'evaluate', iteration });
  return episodes === 0
    ? undefined
    : {
        kind: 'round',
        id: `${run}/evaluate/${iteration}`,
        run,
        phase: 'evaluate',
        iteration,
        label: evaluationTitle(round),
        episodes,
        step: null,
        turns: [],
      };
}

/** Returns all runs that can be resumed, newest first. */
export function listResumableRuns(reader: Pick<Reader, 'path' | 'runs' | 'countRuns'>): readonly RunNode[] {
  return listAllRuns(reader).filter(({ status }) => isResumable(status));
}

function readRunNodes(reader: Pick<Reader, 'path' | 'runs'>, limit: number): readonly RunNode[] {
  const beingWritten = isBeingWritten(reader.path);
  return reader.runs(0, limit).map((run) => ({ kind: 'run', id: run.id, run, status: shownStatus(run, beingWritten) }));
}

function listRoundNodes(reader: Reader, node: RunNode, limits: Limits): readonly RunsNode[] {
  const run = node.run.id;
  const known = roundsInOrder(reader.evaluationNumbers(run));
  const evaluations = (which: (round: EvaluationRound) => boolean): readonly RoundNode[] =>
    known.filter(which).flatMap((round) => readEvaluationNode(reader, run, round) ?? []);
  const runConfig = reader.runConfig(run);
  const steps = reader.steps(run, 0, limits.of(node.id)).map((step) => toStepNode(run, step, runConfig));
  const [last] = appendMoreNode(steps, node.id, node, reader.countSteps(run)).slice(steps.length);
  return [
    ...evaluations(({ stage }) => stage === 'before'),
    ...steps.flatMap((step) => [
      step,
      ...evaluations((round) => round.stage === 'during' && round.step === step.iteration),
    ]),
    ...(last === undefined ? [] : [last]),
    ...evaluations(({ stage }) => stage === 'after'),
  ];
}

function listEpisodeNodes(reader: Reader, node: RoundNode, limits: Limits): readonly RunsNode[] {
  const { run, phase, iteration } = node;
  const scale = reader.returnScale(run);
  const shown = reader
    .episodes({ run, phase, iteration, offset: 0, limit: limits.of(node.id) })
    .map((episode): EpisodeNode => ({
      kind: 'episode',
      id: `${node.id}/${episode.id}`,
      episode,
      outcome: episode.return === null ? null : toOutcome(episode.return, scale),
      text: reader.message(episode.leaf).text,
    }));
  return appendMoreNode(shown, node.id, node, reader.countEpisodes({ run, phase, iteration }));
}

function appendMoreNode(
  shown: readonly RunsNode[],
  list: string,
  parent: RunNode | RoundNode | null,
  total: number,
): readonly RunsNode[] {
  const left = total - shown.length;
  return left <= 0 ? shown : [...shown, { kind: 'more', id: `${list}/more`, list, parent, left }];
}

// The turns of a training step of method teamtr: the roles that learned, and the episodes they learned
// from

/** A turn of one role. */
interface RoleTurn {
  readonly role: string;
  /** The stage of the rollouts that it learned from: 0 for those at the start of the step. */
  readonly stage: number;
  /** The other roles that were updated in this step before these rollouts. `old` are those not updated. */
  readonly updated: readonly string[];
  readonly old: readonly string[];
  /** The roles that were updated between the rollouts and the turn. */
  readonly since: readonly string[];
}

/**
 * Formats one line for each turn of a step.
 * @param runConfig the run's recipe as the store holds it
 * @param step the number of the step, from 1
 * @returns no lines for another method, or if the team cannot be read
 */
export function formatStepTurns(runConfig: string, step: number): readonly string[] {
  const recipe = parseStoredRecipe(runConfig);
  const config = readSection(recipe, 'config');
  const roles = config['method'] === 'teamtr' ? readProtocolRoles(recipe['protocolText']) : [];
  const policies = readSection(config, 'policies');
  const learning = roles.filter((role) => canKindLearn(readSection(policies, role)['kind']));
  if (learning.length === 0) {
    return [];
  }
  const { order = 'fixed', resample_every: every = 1 } = readSection(config, 'teamtr');
  const ordered = orderRoles(learning, order, step);
  if (ordered === null) {
    return [`One role learned after the other; which was first is not stored (order: ${String(order)}).`];
  }
  const apart = readSection(config, 'adapter')['per'] === 'role';
  return listRoleTurns(ordered, roles, typeof every === 'number' ? every : null).map((turn) =>
    describeTurn(turn, apart),
  );
}

/**
 * Returns the turns of roles, in their order.
 * @param all all roles of the team, including those that do not learn
 * @param every number of turns that share rollouts; null if all turns of a step share them
 */
function listRoleTurns(ordered: readonly string[], all: readonly string[], every: number | null): readonly RoleTurn[] {
  return ordered.map((role, place) => {
    const stage = every === null ? 0 : Math.floor(place / every);
    const begun = stage * (every ?? 0);
    const updated = ordered.slice(0, begun);
    return {
      role,
      stage,
      updated,
      old: all.filter((other) => other !== role && !updated.includes(other)),
      since: ordered.slice(begun, place),
    };
  });
}

/**
 * Describes a turn in one sentence.
 * @param apart true if each role has its own weights; otherwise an update of one changes all
 */
function describeTurn({ role, stage, updated, old, since }: RoleTurn, apart: boolean): string {
  const late = since.length === 0 ? '' : `; ${joinNames(since)} ${since.length === 1 ? 'was' : 'were'} updated since`;
  return `Stage ${stage}: ${role} learned from episodes with ${describeTurnTeam(updated, old, apart)}${late}`;
}

function describeTurnTeam(updated: readonly string[], old: readonly string[], apart: boolean): string {
  if (updated.length === 0) {
    return 'the team as it was before the step';
  }
  if (!apart) {
    const turns = updated.length === 1 ? 'turn' : 'turns';
    return `the weights that all roles share, after the ${turns} of ${joinNames(updated)}`;
  }
  return `${joinNames(updated)} as updated in this step${old.length === 0 ? '' : ` and ${joinNames(old)} as before it`}`;
}

/** Returns the roles in the order of a step, or null if the store does not contain that order. */
function orderRoles(roles: readonly string[], order: unknown, step: number): readonly string[] | null {
  switch (order) {
    case 'fixed':
      return roles;
    case 'reverse':
      return roles.toReversed();
    case 'round_robin': {
      const first = (step - 1) % roles.length;
      return [...roles.slice(first), ...roles.slice(0, first)];
    }
    default:
      return null;
  }
}

/** Returns the roles of a protocol in its order, or none if it cannot be read. */
function readProtocolRoles(text: unknown): readonly string[] {
  try {
    const protocol: unknown = typeof text === 'string' ? JSON.parse(text) : null;
    const roles = isRecord(protocol) ? protocol['roles'] : null;
    const names = Array.isArray(roles)
      ? roles.flatMap((one: unknown) => (isRecord(one) && typeof one['role'] === 'string' ? [one['role']] : []))
      : [];
    return [...new Set(names)];
  } catch {
    return [];
  }
}

const canKindLearn = (kind: unknown): boolean =>
  POLICY_KINDS.find(({ name }) => name === kind)?.capabilities.learns ?? true;

const joinNames = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
