/** Estimates the highest server costs of replays from the store. */

import type { FullMessage } from '../../domain/message.ts';
import type { Replay } from '../../domain/replay.ts';
import { MOST_DISCOVERIES } from '../../policy/endpoint/probe.ts';
import type { ReplayRequest } from '../../replay/request.ts';
import { sumCostsByRole, type EndpointCost } from '../../shared/endpointCost.ts';
import { isServed } from '../../shared/rolePolicies.ts';
import type { StoreReader } from '../../store/types.ts';
import { isTerminal, type Protocol } from '../../team/protocol.ts';
import { countMostMessages, countMostScores } from '../../team/rounds.ts';
import { getRunSampling } from '../../training/config/config.ts';
import {
  computeEndpointCosts,
  computeJudgeCosts,
  replayCosts,
  type CostedTeam,
  type Scorer,
} from '../models/endpointCost.ts';
import type { StoredRecipe } from '../recipe/recipe.ts';

/** The settings of a team that its costs depend on. */
export type CostedSide = Omit<CostedTeam, 'spent'> & {
  readonly scorer?: Scorer | null;
  /** Roles whose servers are first probed for their capabilities. */
  readonly probed?: readonly string[];
};

/** Returns the cost-relevant settings of a run's team. @param limit replaces the configured limit */
export const toCostedTeam = (
  recipe: StoredRecipe,
  protocol: Protocol,
  limit: CostedTeam['limit'] = {},
): CostedSide => ({
  protocol,
  policies: recipe.config.policies,
  sampling: getRunSampling(recipe.config),
  scorer: recipe.config.scorer,
  limit,
});

/** Returns the costs of replaying a message by role. Reads nothing if no server answers for a role. */
export function estimateCosts(
  store: StoreReader,
  message: FullMessage,
  asked: ReplayRequest,
  team: CostedSide,
): readonly EndpointCost[] {
  const { run, position } = message;
  const answering = [...Object.values(team.policies ?? {}), team.scorer?.judge];
  if (!answering.some((settings) => settings !== undefined && isServed(settings))) {
    return [];
  }
  const costed = { ...team, spent: (role: string) => store.spent(run, role) };
  const bytes = countContextBytes(store, message);
  const { alternatives, replays, text, result = null, design } = asked;
  const others = alternatives + (text === null ? 0 : 1) + (result === null ? 0 : 1);
  const each = isTerminal(team.protocol, position) ? 1 : replays;
  const ends = design === 'paired' ? 2 * (alternatives + 1) : (others + 1) * each;
  const judge = computeJudgeCosts(team.scorer ?? null, costed, bytes, ends * countMostScores(team.protocol));
  return [...replayCosts(asked, costed, position, bytes), ...judge];
}

/**
 * Returns the highest server costs of a trial. Each side runs `episodes` episodes.
 * @param bytes most bytes of their context
 */
export function estimateTrialCosts(
  store: StoreReader,
  run: string,
  { episodes, bytes }: { readonly episodes: number; readonly bytes: number },
  sides: readonly CostedSide[],
): readonly EndpointCost[] {
  const costs = sides.flatMap((team) => {
    const costed = { ...team, spent: (role: string) => store.spent(run, role) };
    const { protocol, scorer = null, probed = [] } = team;
    const most = countMostMessages(protocol);
    const times = (role: string): number =>
      protocol.rounds === undefined ? protocol.occurrences.filter((one) => one.role === role).length : most;
    return [
      ...computeEndpointCosts(
        costed,
        bytes,
        most,
        (role) => episodes * times(role) + (probed.includes(role) ? MOST_DISCOVERIES : 0),
      ),
      ...computeJudgeCosts(scorer, costed, bytes, episodes * countMostScores(protocol)),
    ];
  });
  return sumCostsByRole(costs);
}

/** Returns the most bytes of a context after a message, without the later messages. */
export function countContextBytes(store: StoreReader, { id, context, problem }: FullMessage): number {
  // Later contexts may show messages that this context does not, so both context and messages count.
  const said = [store.problem(problem).question, ...store.chain(id).map(({ text }) => text), context];
  return said.reduce((total, text) => total + Buffer.byteLength(text), 0);
}

/** Returns the costs of sampling replays again by role, each replay once. */
export function estimateSamplingCosts(
  store: StoreReader,
  replays: readonly Replay[],
  team: CostedSide,
): readonly EndpointCost[] {
  const [first] = replays;
  if (first === undefined) {
    return [];
  }
  const { occurrences, rounds } = team.protocol;
  const run = store.messageRun(first.alternative);
  let bytes = 0;
  const requests = new Map<string, number>();
  const ask = (role: string, times: number): void => {
    requests.set(role, (requests.get(role) ?? 0) + times);
  };
  for (const own of Map.groupBy(replays, ({ alternative }) => alternative).values()) {
    const message = store.fullMessage(own[0]?.alternative ?? first.alternative);
    bytes = Math.max(bytes, countContextBytes(store, message));
    // The last message is itself sampled again; for other messages, the later messages are.
    if (isTerminal(team.protocol, message.position)) {
      ask(message.role, own.length);
    } else if (rounds === undefined) {
      for (const { role, position } of occurrences) {
        ask(role, position > message.position ? own.length : 0);
      }
    } else {
      for (const { name } of team.protocol.roles) {
        ask(name, countMostMessages(team.protocol) * own.length);
      }
    }
  }
  const later = rounds === undefined ? occurrences.length : countMostMessages(team.protocol);
  const costed = { ...team, spent: (role: string) => store.spent(run, role) };
  const asked = computeEndpointCosts(costed, bytes, later, (role) => requests.get(role) ?? 0);
  const calls = 2 * replays.length * countMostScores(team.protocol);
  return [...asked.filter((one) => one.requests > 0), ...computeJudgeCosts(team.scorer ?? null, costed, bytes, calls)];
}
