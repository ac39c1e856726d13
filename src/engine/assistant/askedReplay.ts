/**
 * A replay or a search that an assistant asks for, in the editor and over the Model Context Protocol: what its user
 * agrees to, and what is asked of the engine then, bound to the bytes of the team file that were shown.
 */
import { replayToAsk, replayWords, searchWords } from '../../report/assistant.ts';
import type { EndpointCost } from '../../shared/endpointCost.ts';
import type {
  AssistantReplay,
  AssistantReplayParams,
  AssistantRunSearch,
  AssistantRunSearchParams,
  AssistantSearch,
  AssistantSearchParams,
  BlameParams,
  ReplayParams,
  RunBlameParams,
  SearchAsked,
} from '../../shared/protocols/engineProtocol.ts';
import { agreedTeam, startWords, type AgreedTeam } from './teamArgument.ts';

/** What an assistant's replay may cost, beside what its user reads. */
export interface AskedReplay extends AssistantReplay {
  readonly costs: readonly EndpointCost[];
}

/**
 * Reads what an assistant asks for; nothing is started.
 * @param costsOf what a replay may ask of servers at most
 * @throws C3Error('input') for a team file that is none, lies outside of the folder or starts what nobody can read
 */
export async function askedReplay(
  { asked, folder, ...spending }: AssistantReplayParams,
  costsOf: (request: ReplayParams) => Promise<readonly EndpointCost[]>,
): Promise<AskedReplay> {
  const named = asked.team === undefined ? null : await agreedTeam(folder, asked.team);
  const request: ReplayParams = {
    ...replayToAsk(asked, (file) => named?.path ?? file),
    ...(named !== null && { teamHash: named.sha256 }),
    ...spending,
  };
  const costs = await costsOf(request);
  const words = replayWords(asked, costs, named === null ? undefined : startWords(named));
  return { request, words, costs };
}

/** What an assistant's search may cost, beside what its user reads. */
export interface AskedSearch extends AssistantSearch {
  readonly costs: readonly EndpointCost[];
}

/**
 * Reads a search for the message that lost an episode; nothing is started.
 * @param costsOf what a search may ask of servers at most
 * @throws as askedReplay
 */
export async function askedSearch(
  { asked, folder, ...spending }: AssistantSearchParams,
  costsOf: (request: BlameParams) => Promise<readonly EndpointCost[]>,
): Promise<AskedSearch> {
  const named = asked.team === undefined ? null : await agreedTeam(folder, asked.team);
  const request: BlameParams = { message: asked.message, ...searchOf(asked, named), ...spending };
  const costs = await costsOf(request);
  return { request, costs, words: searchWords(asked, costs, named === null ? undefined : startWords(named)) };
}

/** What an assistant's search of a run may cost, beside what its user reads. */
export interface AskedRunSearch extends AssistantRunSearch {
  readonly costs: readonly EndpointCost[];
}

/**
 * Reads a search for what loses the episodes of a run; nothing is started.
 * @param costsOf what a search may ask of servers at most
 * @throws as askedReplay
 */
export async function askedRunSearch(
  { asked, folder, ...spending }: AssistantRunSearchParams,
  costsOf: (request: RunBlameParams) => Promise<readonly EndpointCost[]>,
): Promise<AskedRunSearch> {
  const named = asked.team === undefined ? null : await agreedTeam(folder, asked.team);
  const request: RunBlameParams = { run: asked.run, ...searchOf(asked, named), ...spending };
  const costs = await costsOf(request);
  return { request, costs, words: searchWords(asked, costs, named === null ? undefined : startWords(named)) };
}

/** What both searches ask for. */
const searchOf = (
  { max_evaluator_calls: budget }: Pick<SearchAsked, 'max_evaluator_calls'>,
  named: AgreedTeam | null,
): Pick<BlameParams, 'budget' | 'team' | 'teamHash'> => ({
  budget,
  ...(named !== null && { team: named.path, teamHash: named.sha256 }),
});
