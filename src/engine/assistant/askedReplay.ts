import { isAbsolute, relative, resolve, sep } from 'node:path';
import { realFile } from '../../files/realFile.ts';
/**
 * A replay or a search that an assistant asks for, in the editor and over the Model Context Protocol: what its user
 * agrees to, and what is asked of the engine then, bound to the bytes of the team file that were shown.
 */
import { replayToAsk, replayWords, searchWords } from '../../report/assistant.ts';
import type { EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
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
import { oneLine } from '../../shared/text/oneLine.ts';
import { readTeam, type RecordedTeam } from '../program/teamFile.ts';

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

// The team file that an assistant names: one of the folder whose store is asked, read once, so that the user is shown
// what it starts and agrees to these bytes. An assistant may be led by texts of a stranger: nothing that is refused
// here says what is in a file, nor whether there is one outside the folder.

/** Characters of a name that an error repeats. */
const MOST_NAME = 200;
/** Characters of a command that the user can be expected to read. */
const MOST_COMMAND = 2000;

/** What is known of the file: its real path, its bytes by their hash, and what it starts in its folder. */
type AgreedTeam = Pick<RecordedTeam, 'path' | 'folder' | 'sha256' | 'starts'>;

/**
 * Reads the team file that an assistant names.
 * @param folder whose files may be named
 * @param named absolute, or from the folder
 * @throws C3Error('input') for a path that leads out of the folder, with its links followed, and for what is no team
 *   file
 */
async function agreedTeam(folder: string, named: string): Promise<AgreedTeam> {
  const path = realFile(resolve(folder, named));
  // Of a file outside, nothing but its name is looked at; a link of the folder that leads nowhere is outside as well.
  if (!isWithin(realFile(folder), path)) {
    throw new C3Error(
      'input',
      `team must be a file of the folder of this store, which ${shown(named)} is not; nothing was replayed.`,
    );
  }
  return readTeam(path).catch(() => {
    // What is wrong with it may be in the words of the file, which may be any file of the folder.
    throw new C3Error(
      'input',
      `${shown(named)} is no team file that can be read; nothing was replayed. c3 replay or c3 blame with --team FILE says what is wrong with it.`,
    );
  });
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

const shown = (named: string): string => JSON.stringify(oneLine(named, MOST_NAME));

/**
 * What a team file starts, for the user to read: every argument quoted, with each character that is not seen as it is
 * written as its number. Null where it starts nothing.
 * @throws C3Error('input') where it is too long to be read
 */
function startWords({ starts, folder }: Pick<AgreedTeam, 'starts' | 'folder'>): string | null {
  if (starts === null) {
    return null;
  }
  const words = [...starts.map(quoted), 'in the folder', quoted(folder)].join(' ');
  if (words.length > MOST_COMMAND) {
    throw new C3Error(
      'input',
      `The command of the team file is longer than the ${MOST_COMMAND} characters that a user is asked to read; nothing was replayed. Use c3 replay or c3 blame with --team FILE.`,
    );
  }
  return words;
}

/** Signs that turn what is read, or that look like none or like another space. */
const UNSEEN = /[\p{C}\p{Z}]/gu;
const quoted = (argument: string): string =>
  JSON.stringify(argument).replace(UNSEEN, (sign) =>
    sign === ' ' ? sign : `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
  );
