/** What assistants can ask for, in the editor and over the Model Context Protocol: the same words for both. */
import { costWords, type EndpointCost } from '../shared/endpointCost.ts';

/** Each tool and what it does; package.json has the same words for the editor. */
export const ASSISTANT_TOOLS = {
  list_runs: 'The newest runs of the store.',
  lowest_credit_messages:
    'The messages of a run with the lowest credit, with its interval, evidence and a link to each.',
  failure_taxonomy: 'The classes of failures of a run, with the evidence of each case.',
  finding: 'One message: its context, alternatives, returns, credit with interval, cost, and a link to it.',
} as const;

/** A replay that an assistant asks for. */
export interface ReplayAsked {
  readonly message: number;
  readonly alternatives?: number;
  readonly replays?: number;
  readonly max_evaluator_calls: number;
}

/** Evaluator calls at most: the message itself is continued as often as each alternative. */
export const callsAtMost = ({ alternatives = 4, replays = 4 }: ReplayAsked): number => (alternatives + 1) * replays;

/** What a replay costs at most, as a sentence without its end. */
export function replayWords(asked: ReplayAsked, costs: readonly EndpointCost[]): string {
  const { message, alternatives = 4, replays = 4 } = asked;
  const servers = costs.map((one) => ` (${costWords(one)})`).join('');
  return `Replaying message ${String(message)} with ${String(alternatives)} alternatives and ${String(replays)} continuations costs at most ${String(callsAtMost(asked))} evaluator calls${servers}`;
}

/** Why a replay is not made; null where it is within what is allowed. */
export const replayRefusal = (asked: ReplayAsked, costs: readonly EndpointCost[]): string | null =>
  callsAtMost(asked) <= asked.max_evaluator_calls
    ? null
    : `${replayWords(asked, costs)}, more than the ${String(asked.max_evaluator_calls)} allowed; nothing was replayed: ask for fewer.`;
