/** The tools of assistants, with the same texts in the editor and over the Model Context Protocol. */

import { describeCost, type EndpointCost } from '../shared/endpointCost.ts';
import type { ReplayAsked, RunSearchAsked, SearchAsked } from '../shared/protocols/engineProtocol.ts';
import { toOneLine } from '../shared/text/oneLine.ts';

/** Each tool with its description. package.json has the same texts for the editor. */
export const ASSISTANT_TOOLS = {
  list_runs: 'The newest runs of the store.',
  lowest_credit_messages:
    'The messages of a run with the lowest credit, with its interval, evidence and a link to each.',
  failure_taxonomy: 'The classes of failures of a run, with the evidence of each case.',
  message_that_lost:
    'Finds which message lost an episode: the chance of success after each message, one sentence, and a link. Costs evaluator calls and is stored; the user is asked first.',
  what_loses_episodes:
    'Finds what loses the episodes of a run: how many were within reach, which share of that each role lost, and the clearest cases. Costs evaluator calls and is stored; the user is asked first.',
  finding: 'One message: its context, alternatives, returns, credit with interval, cost, and a link to it.',
} as const;

/** A request for a replay in the form of the engine. */
export interface ReplayToAsk {
  readonly message: number;
  readonly alternatives: number;
  readonly replays: number;
  readonly text: string | null;
  readonly result: string | null;
  readonly team?: string;
}

/**
 * Converts an assistant's request to the form of the engine.
 * @param place returns the absolute path of a team file
 */
export function toReplayRequest(asked: ReplayAsked, place: (file: string) => string): ReplayToAsk {
  const { message, alternatives = 4, replays = 4, text = null, result = null, team } = asked;
  return { message, alternatives, replays, text, result, ...(team !== undefined && { team: place(team) }) };
}

const countGiven = ({ text, result }: ReplayAsked): number => Number(text !== undefined) + Number(result !== undefined);

/** Returns the most evaluator calls. The message itself is continued as often as each alternative. */
export const callsAtMost = (asked: ReplayAsked): number =>
  ((asked.alternatives ?? 4) + countGiven(asked) + 1) * (asked.replays ?? 4);

/**
 * Describes the highest cost of a replay and the program that it starts, as a sentence without its
 * end.
 * @param starts the command that the team file starts, for the user to approve; null if it starts
 *   none
 */
export function describeReplay(asked: ReplayAsked, costs: readonly EndpointCost[], starts?: string | null): string {
  const { message, alternatives = 4, replays = 4, text, result, team } = asked;
  const parts = [
    `${alternatives} alternatives`,
    ...(text === undefined ? [] : [`the words ${shown(text)}`]),
    ...(result === undefined ? [] : [`the tool result ${shown(result)}`]),
    `${replays} continuations`,
  ];
  const servers = costs.map((one) => ` (${describeCost(one)})`).join('');
  const program = team === undefined ? '' : ` ${describeStart(shown(team), starts)}, and`;
  return `Replaying message ${message} with ${joinWithAnd(parts)}${program} costs at most ${callsAtMost(asked)} evaluator calls${servers}`;
}

/** @param starts undefined if the command is not shown */
function describeStart(team: string, starts: string | null | undefined): string {
  if (starts === undefined) {
    return `starts the program that ${team} names`;
  }
  return starts === null ? `goes on by the steps of ${team}` : `starts ${starts}, which ${team} names`;
}

/** The most characters of a text that are shown. */
const MOST_SHOWN = 200;
const shown = (text: string): string => JSON.stringify(toOneLine(text, MOST_SHOWN));
const joinWithAnd = (parts: readonly string[]): string => `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`;

/** Returns the reason for not making a replay, or null if it is within the allowed cost. */
export const replayRefusal = (asked: ReplayAsked, costs: readonly EndpointCost[]): string | null =>
  callsAtMost(asked) <= asked.max_evaluator_calls
    ? null
    : `${describeReplay(asked, costs)}, more than the ${asked.max_evaluator_calls} allowed; nothing was replayed: ask for fewer.`;

/**
 * Describes the highest cost of a search and the program that it starts, as a sentence without its
 * end.
 * @param starts as for `describeReplay`
 */
export function describeSearch(
  asked: SearchAsked | RunSearchAsked,
  costs: readonly EndpointCost[] = [],
  starts?: string | null,
): string {
  const sought =
    'run' in asked
      ? `what loses the episodes of run ${shown(asked.run)}`
      : `the message that lost the episode of message ${asked.message}`;
  const program = asked.team === undefined ? '' : ` ${describeStart(shown(asked.team), starts)}, and`;
  const servers = costs.map((one) => ` (${describeCost(one)})`).join('');
  return `Searching for ${sought}${program} costs at most ${asked.max_evaluator_calls} evaluator calls${servers}`;
}

/** The reason for refusing a search of a run that servers answer: its cost is not known beforehand. */
export const SEARCH_AT_SERVERS =
  'Servers answer for roles of this run, and a search has no cost that is known beforehand; the user can start it with c3 blame.';
