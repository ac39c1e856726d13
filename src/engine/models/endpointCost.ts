/** What runs and replays may ask of servers at most, known before they begin. */
import type { Sampling } from '../../domain/message.ts';
import { mostOf } from '../../policy/endpoint/endpointPolicy.ts';
import { MOST_PROBES } from '../../policy/endpoint/probe.ts';
import { moneyOf, type SpendingLimit, type TokenCount } from '../../policy/endpoint/spending.ts';
import type { EndpointCost } from '../../shared/endpointCost.ts';
import { isLocal } from '../../shared/endpointKeys.ts';
import {
  isServed,
  JUDGE_ROLE,
  JUDGE_TOKENS,
  type RolePolicies,
  type RolePolicySettings,
} from '../../shared/rolePolicies.ts';
import type { Protocol } from '../../team/protocol.ts';
import { messagesAtMost } from '../../team/rounds.ts';

/** What a replay is asked to do. */
interface Asked {
  readonly alternatives: number;
  readonly replays: number;
  readonly result?: string | null;
  readonly text: string | null;
  readonly design?: 'crossed' | 'paired';
}

/** What counts for the cost of a request, whoever makes it. */
export interface CostedTeam {
  readonly protocol: Protocol;
  readonly policies: RolePolicies | undefined;
  readonly sampling: Sampling;
  /** What was spent for the run until now at the server of a role. */
  readonly spent: (role: string) => TokenCount;
  /** Limits in the place of the configuration's. */
  readonly limit?: Partial<SpendingLimit>;
}

/** What of a configuration says who judges, and by what. */
export interface Scorer {
  readonly judge?: RolePolicySettings | undefined;
  readonly rubric?: string | undefined;
}

/** Bytes of a new token at most, over a whole message: those of known tokenizers have 3 to 5 on average. */
const BYTES_OF_TOKEN = 8;

/**
 * The costs of what each role that a server answers is asked.
 * @param bytes of the text that every context has at most: the question, and what was said until now
 * @param later messages that may be said after that and be seen
 * @param requestsOf how often a role is asked at most
 */
export function endpointCosts(
  { protocol, policies = {}, sampling, spent, limit }: CostedTeam,
  bytes: number,
  later: number,
  requestsOf: (role: string) => number,
): readonly EndpointCost[] {
  // Of the system prompts and what else a protocol adds, all at once.
  const fixed = Buffer.byteLength(JSON.stringify(protocol));
  const longest = Math.max(...protocol.roles.map(({ maxNewTokens }) => maxNewTokens ?? sampling.maxNewTokens));
  return Object.entries(policies).flatMap(([role, settings]) => {
    if (!isServed(settings)) {
      return [];
    }
    const requests = requestsOf(role);
    const one = mostOf('', longest);
    const prompt = one.prompt + bytes + fixed + later * longest * BYTES_OF_TOKEN;
    const most: TokenCount = { prompt: requests * prompt, completion: requests * longest };
    const before = spent(role);
    return [
      {
        role,
        requests,
        tokens: most.prompt + most.completion,
        money: moneyOf(most, settings.prices),
        spent: { tokens: before.prompt + before.completion, money: moneyOf(before, settings.prices) },
        limit: { ...settings.spending, ...limit },
        local: settings.kind === 'endpoint' && settings.endpoint.every(isLocal),
      },
    ];
  });
}

/**
 * The costs of a replay.
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
  const later = rounds === undefined ? occurrences.length - 1 - position : messagesAtMost(team.protocol);
  return endpointCosts(team, bytes, later, (role) => {
    const own = occurrences[position]?.role === role ? alternatives : 0;
    // Who speaks how often in an episode that unfolds is known only in its end.
    const after =
      rounds === undefined
        ? occurrences.filter((one) => one.position > position && one.role === role).length
        : messagesAtMost(team.protocol);
    return own + after * continued;
  });
}

/** Characters of the judge's instructions, and of what names its parts. */
const JUDGE_INSTRUCTIONS = 1000;

/**
 * The costs of a model judge, which is asked once for each message that is scored, and first what it can do.
 * @param bytes of the question, what is right and the messages that are scored, at most
 */
export function judgeCosts(
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
  return endpointCosts(asked, said, messagesAtMost(protocol), () => requests + MOST_PROBES);
}
