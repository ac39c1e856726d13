/** Computes the reward ladder's results for each turn of a training step's episodes. A pure function. */

import { passAtK } from '../../diagnostics/statistics/passAtK.ts';
import { MEASURED_SAMPLES, MEASURED_TURNS, type TurnMeasureName } from '../../domain/step.ts';
import { parseLadders, type LadderShares } from '../../evaluate/ladder.ts';
import type { EpisodeRule, MessagePlace } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { messagesPerTurn } from '../../team/rounds.ts';

export type TurnLevels = Readonly<Partial<Record<TurnMeasureName, number>>>;

/** A joint action's shares, and its node: the action before it, or its problem in the first turn. */
interface JointAction {
  readonly node: string;
  readonly shares: LadderShares;
}

/**
 * Returns, for each turn, the mean over its joint actions of their share of each level's points, from
 * 0 to 1. A joint action that several episodes share counts once. An episode with a turn that the
 * ladder did not score is left out, because it is not known which turn that was. Also returns pass@k,
 * the probability that at least one of k joint actions of a node passes all tests: the unbiased
 * estimate 1 - C(n - c, k) / C(n, k) from the n joint actions of the node, c of which pass, as a mean
 * over the nodes with at least k.
 * @param messages all messages of the episodes
 */
export function measureTurnLevels(
  episodes: readonly EpisodeRule[],
  messages: readonly MessagePlace[],
  protocol: Protocol,
): TurnLevels {
  const places = new Map(messages.map((message) => [message.message, message]));
  const perTurn = messagesPerTurn(protocol);
  const scoresTurns = protocol.occurrences.slice(0, perTurn).some(({ scored }) => scored);
  const found = new Map<number, Map<number, JointAction>>();
  for (const { leaf, rule } of episodes) {
    const ends = scoresTurns ? listTurnEnds(leaf, places, perTurn) : [leaf];
    const ladders = parseLadders(rule);
    for (const [turn, shares] of ladders.length === ends.length ? ladders.entries() : []) {
      const ofTurn = found.get(turn + 1) ?? new Map<number, JointAction>();
      const before = ends[turn - 1];
      const node = before === undefined ? `problem ${String(places.get(leaf)?.problem)}` : `after ${before}`;
      found.set(turn + 1, ofTurn.set(ends[turn] ?? leaf, { node, shares }));
    }
  }
  const levels: Partial<Record<TurnMeasureName, number>> = {};
  for (const turn of MEASURED_TURNS) {
    const all = [...(found.get(turn)?.values() ?? [])];
    const mean = (level: keyof LadderShares): number =>
      all.reduce((sum, { shares }) => sum + shares[level], 0) / all.length;
    if (all.length > 0) {
      levels[`turn${turn}Total`] = mean('total');
      levels[`turn${turn}Structure`] = mean('structure');
      levels[`turn${turn}Syntax`] = mean('syntax');
      levels[`turn${turn}Tests`] = mean('tests');
      levels[`turn${turn}Cooperation`] = mean('cooperation');
    }
    const nodes = [...Map.groupBy(all, ({ node }) => node).values()];
    for (const samples of MEASURED_SAMPLES) {
      const estimates = nodes.flatMap((own) => passAtK(own.length, countPassedActions(own), samples) ?? []);
      if (estimates.length > 0) {
        levels[`turn${turn}PassAt${samples}`] = estimates.reduce((sum, one) => sum + one, 0) / estimates.length;
      }
    }
  }
  return levels;
}

/** Counts the joint actions that pass all tests. */
const countPassedActions = (all: readonly JointAction[]): number =>
  all.filter(({ shares }) => shares.tests === 1).length;

/**
 * Returns the last message of each turn on the path to a leaf, in order. The leaf ends its turn even
 * if the turn was cut short.
 */
function listTurnEnds(leaf: number, places: ReadonlyMap<number, MessagePlace>, perTurn: number): readonly number[] {
  const ends: number[] = [];
  for (let at: MessagePlace | undefined = places.get(leaf); at !== undefined;) {
    if (at.message === leaf || at.position % perTurn === perTurn - 1) {
      ends.unshift(at.message);
    }
    at = at.parent === null ? undefined : places.get(at.parent);
  }
  return ends;
}
