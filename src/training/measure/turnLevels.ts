/** What the reward ladder says of each turn of a training step's episodes. A pure function. */
import { laddersIn, type LadderShares } from '../../evaluate/ladder.ts';
import { MEASURED_TURNS, type TurnMeasureName } from '../../shared/records/stepMetrics.ts';
import type { EpisodeRule, MessagePlace } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { messagesPerTurn } from '../../team/rounds.ts';

export type TurnLevels = Readonly<Partial<Record<TurnMeasureName, number>>>;

/**
 * The mean over the joint actions of each turn of what they got of the points of a level, from 0 to 1. A joint action
 * that several episodes share counts once. An episode with a turn that the ladder did not score counts nowhere: which
 * turn that was is not known.
 * @param messages all that the episodes are made of
 */
export function turnLevels(
  episodes: readonly EpisodeRule[],
  messages: readonly MessagePlace[],
  protocol: Protocol,
): TurnLevels {
  const places = new Map(messages.map((message) => [message.decision, message]));
  const perTurn = messagesPerTurn(protocol);
  const scoresTurns = protocol.occurrences.slice(0, perTurn).some(({ scored }) => scored);
  const found = new Map<number, Map<number, LadderShares>>();
  for (const { leaf, rule } of episodes) {
    const ends = scoresTurns ? turnEnds(leaf, places, perTurn) : [leaf];
    const ladders = laddersIn(rule);
    for (const [turn, shares] of ladders.length === ends.length ? ladders.entries() : []) {
      const ofTurn = found.get(turn + 1) ?? new Map<number, LadderShares>();
      found.set(turn + 1, ofTurn.set(ends[turn] ?? leaf, shares));
    }
  }
  const levels: Partial<Record<TurnMeasureName, number>> = {};
  for (const turn of MEASURED_TURNS) {
    const all = [...(found.get(turn)?.values() ?? [])];
    const mean = (level: keyof LadderShares): number => all.reduce((sum, one) => sum + one[level], 0) / all.length;
    if (all.length > 0) {
      levels[`turn${turn}Total`] = mean('total');
      levels[`turn${turn}Structure`] = mean('structure');
      levels[`turn${turn}Syntax`] = mean('syntax');
      levels[`turn${turn}Tests`] = mean('tests');
      levels[`turn${turn}Cooperation`] = mean('cooperation');
    }
  }
  return levels;
}

/** The last message of each turn on the way to a leaf, in order; the leaf ends its turn, also one that is cut short. */
function turnEnds(leaf: number, places: ReadonlyMap<number, MessagePlace>, perTurn: number): readonly number[] {
  const ends: number[] = [];
  for (let at: MessagePlace | undefined = places.get(leaf); at !== undefined;) {
    if (at.decision === leaf || at.position % perTurn === perTurn - 1) {
      ends.unshift(at.decision);
    }
    at = at.parent === null ? undefined : places.get(at.parent);
  }
  return ends;
}
