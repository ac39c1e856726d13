/** Computes the upper bound of requests to servers for runs and replays, before they begin. */

import type { Sampling } from '../../domain/message.ts';
import { computeHighestCost } from '../../policy/endpoint/endpointPolicy.ts';
import { MOST_PROBES } from '../../policy/endpoint/probe.ts';
import {
  computePrice,
  computeSpentMoney,
  type SpendingLimit,
  type TokenCount,
} from '../../policy/endpoint/spending.ts';
import type { EndpointCost, SpentSoFar } from '../../shared/endpointCost.ts';
import { isLocal } from '../../shared/endpointKeys.ts';
import {
  isServed,
  JUDGE_ROLE,
  JUDGE_TOKENS,
  type RolePolicies,
  type RolePolicySettings,
} from '../../shared/rolePolicies.ts';
import type { Protocol } from '../../team/protocol.ts';
import { countMostMessages } from '../../team/rounds.ts';

/** The parts of a replay request that determine its cost. */
interface Asked {
  readonly alternatives: number;
  readonly replays: number;
  readonly result?: string | null;
  readonly text: string | null;
  readonly design?: 'crossed' | 'paired';
}

/** The parts of a team that determine the cost of a request. */
export interface CostedTeam {
  readonly protocol: Protocol;
  readonly policies: RolePolicies | undefined;
  readonly sampling: Sampling;
  /** Returns what was spent for the run so far at the server of a role. */
  readonly spent: (role: string) => SpentSoFar;
  /** Limits that override those of the configuration. */
  readonly limit?: Partial<SpendingLimit>;
}

/** The judge of a configuration and its rubric. */
export interface Scorer {
  readonly judge?: RolePolicySettings | undefined;
  readonly rubric?: string | undefined;
}

/** Maximum average bytes of a new token in a message; known tokenizers have 3 to 5 on average. */
const BYTES_OF_TOKEN = 8;

/**
 * Returns the costs of each role that a server answers.
 * @param bytes maximum bytes of the text in every context: the question, and the messages so far
 * @param later maximum number of later messages that a context may show
 * @param requestsOf returns the maximum number of requests of a role
 */
export function computeEndpointCosts(
  { protocol, policies = {}, sampling, spent, limit }: CostedTeam,
  bytes: number,
  later: number,
  requestsOf: (role: string) => number,
): readonly EndpointCost[] {
  // An upper bound for the system prompts and all other texts of the protocol.
  const fixed = Buffer.byteLength(JSON.stringify(protocol));
  const longest = Math.max(...protocol.roles.map(({ maxNewTokens }) => maxNewTokens ?? sampling.maxNewTokens));
  return Object.entries(policies).flatMap(([role, settings]) => {
    if (!isServed(settings)) {
      return [];
    }
    const requests = requestsOf(role);
    const one = computeHighestCost('', longest);
    const prompt = one.prompt + bytes + fixed + later * longest * BYTES_OF_TOKEN;
    const most: TokenCount = { prompt: requests * prompt, completion: requests * longest };
    const before = spent(role);
    return [
      {
        role,
        requests,
        tokens: most.prompt + most.completion,
        money: computePrice(most, settings.prices),
        spent: { tokens: before.prompt + before.completion, money: computeSpentMoney(before, settings.prices) },
        limit: { ...settings.spending, ...limit },
        local: settings.kind === 'endpoint' && settings.endpoint.every(isLocal),
      },
    ];
  });
}

/**
 * Returns the costs of a replay.
 * @param position of the message that is replayed
 * @param bytes of its context
 */
export function replayCosts(
  { alternatives, replays, text, result = null, design }: Asked,
  team: CostedTeam,
  position: number,
  bytes: number,
): readonly EndpointCost[] {
  const { occurrences, rounds } = team.protocol;
  const continued =
    design === 'paired'
      ? 2 * alternatives
      : (alternatives + Number(text !== null) + Number(result !== null) + 1) * replays;
  const later = rounds === undefined ? occurrences.length - 1 - position : countMostMessages(team.protocol);
  return computeEndpointCosts(team, bytes, later, (role) => {
    const own = occurrences[position]?.role === role ? alternatives : 0;
    // In an episode that unfolds, the number of messages of a role is known only at its end.
    const after =
      rounds === undefined
        ? occurrences.filter((one) => one.position > position && one.role === role).length
        : countMostMessages(team.protocol);
    return own + after * continued;
  });
}

/** Characters of the judge's instructions and of the names of its parts. */
const JUDGE_INSTRUCTIONS = 1000;

/**
 * Returns the costs of a model judge, which is asked once for each scored message, after the requests
 * that probe it.
 * @param bytes maximum bytes of the question, the right answer and the scored messages
 */
export function computeJudgeCosts(
  scorer: Scorer | null,
  { protocol, sampling, spent, limit }: Pick<CostedTeam, 'protocol' | 'sampling' | 'spent' | 'limit'>,
  bytes: number,
  requests: number,
): readonly EndpointCost[] {
  const { judge, rubric = '' } = scorer ?? {};
  if (judge === undefined || !isServed(judge)) {
    return [];
  }
  const policies = { [JUDGE_ROLE]: { ...judge, spending: { ...judge.spending, ...limit } } };
  const asked = { protocol, policies, spent, sampling: { ...sampling, maxNewTokens: JUDGE_TOKENS } };
  const said = Buffer.byteLength(JSON.stringify(rubric)) + JUDGE_INSTRUCTIONS + bytes;
  return computeEndpointCosts(asked, said, countMostMessages(protocol), () => requests + MOST_PROBES);
}
