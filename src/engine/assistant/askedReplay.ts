/**
 * Prepares a replay or a search that an assistant requests, in the editor or over the Model Context
 * Protocol: the words that the user agrees to, and the request to the engine, which is bound to the
 * bytes of the team file that were shown.
 */

import { isAbsolute, relative, resolve, sep } from 'node:path';
import { resolveRealFile } from '../../files/realFile.ts';
import { toReplayRequest, describeReplay, describeSearch } from '../../report/assistant.ts';
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
import { toOneLine } from '../../shared/text/oneLine.ts';
import { readTeam, type RecordedTeam } from '../program/teamFile.ts';

/** A requested replay with its highest server costs. */
export interface AskedReplay extends AssistantReplay {
  readonly costs: readonly EndpointCost[];
}

/**
 * Reads a replay that an assistant requests. Starts nothing.
 * @param costsOf returns the highest server costs of a replay
 * @throws C3Error('input') for a team file that is invalid, lies outside the folder, or starts a
 *   command that is too long to read
 */
export async function prepareReplay(
  { asked, folder, ...spending }: AssistantReplayParams,
  costsOf: (request: ReplayParams) => Promise<readonly EndpointCost[]>,
): Promise<AskedReplay> {
  const named = asked.team === undefined ? null : await readAgreedTeam(folder, asked.team);
  const request: ReplayParams = {
    ...toReplayRequest(asked, (file) => named?.path ?? file),
    ...(named !== null && { teamHash: named.sha256 }),
    ...spending,
  };
  const costs = await costsOf(request);
  const words = describeReplay(asked, costs, named === null ? undefined : formatStartCommand(named));
  return { request, words, costs };
}

/** A requested search of an episode with its highest server costs. */
export interface AskedSearch extends AssistantSearch {
  readonly costs: readonly EndpointCost[];
}

/**
 * Reads a search for the message that lost an episode. Starts nothing.
 * @param costsOf returns the highest server costs of a search
 * @throws as prepareReplay
 */
export async function prepareSearch(
  { asked, folder, ...spending }: AssistantSearchParams,
  costsOf: (request: BlameParams) => Promise<readonly EndpointCost[]>,
): Promise<AskedSearch> {
  const named = asked.team === undefined ? null : await readAgreedTeam(folder, asked.team);
  const request: BlameParams = { message: asked.message, ...toSearchParameters(asked, named), ...spending };
  const costs = await costsOf(request);
  return {
    request,
    costs,
    words: describeSearch(asked, costs, named === null ? undefined : formatStartCommand(named)),
  };
}

/** A requested search of a run with its highest server costs. */
export interface AskedRunSearch extends AssistantRunSearch {
  readonly costs: readonly EndpointCost[];
}

/**
 * Reads a search for what loses the episodes of a run. Starts nothing.
 * @param costsOf returns the highest server costs of a search
 * @throws as prepareReplay
 */
export async function prepareRunSearch(
  { asked, folder, ...spending }: AssistantRunSearchParams,
  costsOf: (request: RunBlameParams) => Promise<readonly EndpointCost[]>,
): Promise<AskedRunSearch> {
  const named = asked.team === undefined ? null : await readAgreedTeam(folder, asked.team);
  const request: RunBlameParams = { run: asked.run, ...toSearchParameters(asked, named), ...spending };
  const costs = await costsOf(request);
  return {
    request,
    costs,
    words: describeSearch(asked, costs, named === null ? undefined : formatStartCommand(named)),
  };
}

/** Returns the parameters that both searches share. */
const toSearchParameters = (
  { max_evaluator_calls: budget }: Pick<SearchAsked, 'max_evaluator_calls'>,
  named: AgreedTeam | null,
): Pick<BlameParams, 'budget' | 'team' | 'teamHash'> => ({
  budget,
  ...(named !== null && { team: named.path, teamHash: named.sha256 }),
});

// The team file that an assistant names. It must be in the folder of the store. It is read once, so
// that the user agrees to exactly the bytes that were shown. Texts of strangers may control an
// assistant, so no error may reveal the content of a file, or the existence of a file outside the
// folder.

/** Most characters of a name that an error repeats. */
const MOST_NAME = 200;
/** Most characters of a command that a user can be expected to read. */
const MOST_COMMAND = 2000;

/** The file that the user agrees to: its real path, the hash of its bytes, and its command. */
type AgreedTeam = Pick<RecordedTeam, 'path' | 'folder' | 'sha256' | 'starts'>;

/**
 * Reads the team file that an assistant names.
 * @param folder the folder that must contain the file
 * @param named absolute path, or path relative to the folder
 * @throws C3Error('input') for a path that leads out of the folder, also by links, and for an
 *   invalid team file
 */
async function readAgreedTeam(folder: string, named: string): Promise<AgreedTeam> {
  const path = resolveRealFile(resolve(folder, named));
  // Only the name of a file outside is looked at. A broken link in the folder counts as outside, too.
  if (!isInFolder(resolveRealFile(folder), path)) {
    throw new C3Error(
      'input',
      `team must be a file in the folder of this store, but ${quoteName(named)} is not; nothing was replayed.`,
    );
  }
  return readTeam(path).catch(() => {
    // The original error may quote the file, which may be any file of the folder.
    throw new C3Error(
      'input',
      `${quoteName(named)} cannot be read as a team file; nothing was replayed. c3 replay or c3 blame with --team FILE says what is wrong with it.`,
    );
  });
}

function isInFolder(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

const quoteName = (named: string): string => JSON.stringify(toOneLine(named, MOST_NAME));

/**
 * Formats the command of a team file for the user: every argument is quoted, and invisible
 * characters are escaped. Returns null if it starts nothing.
 * @throws C3Error('input') if the command is too long to read
 */
function formatStartCommand({ starts, folder }: Pick<AgreedTeam, 'starts' | 'folder'>): string | null {
  if (starts === null) {
    return null;
  }
  const words = [...starts.map(quoteArgument), 'in the folder', quoteArgument(folder)].join(' ');
  if (words.length > MOST_COMMAND) {
    throw new C3Error(
      'input',
      `The command of the team file is longer than the ${MOST_COMMAND} characters that a user is asked to read; nothing was replayed. Use c3 replay or c3 blame with --team FILE.`,
    );
  }
  return words;
}

/** Characters that are invisible, look like another space, or change the direction of the text. */
const UNSEEN = /[\p{C}\p{Z}]/gu;
const quoteArgument = (argument: string): string =>
  JSON.stringify(argument).replace(UNSEEN, (sign) =>
    sign === ' ' ? sign : `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
  );
