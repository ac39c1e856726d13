/**
 * The team file that an assistant names: one of the folder whose store is asked, read once, so that the user is shown
 * what it starts and agrees to these bytes. An assistant may be led by texts of a stranger: nothing that is refused
 * here says what is in a file, nor whether there is one outside the folder.
 */
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { realFile } from '../../files/realFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { readTeam, type RecordedTeam } from '../program/teamFile.ts';

/** Characters of a name that an error repeats. */
const MOST_NAME = 200;
/** Characters of a command that the user can be expected to read. */
const MOST_COMMAND = 2000;

/** What is known of the file: its real path, its bytes by their hash, and what it starts in its folder. */
export type AgreedTeam = Pick<RecordedTeam, 'path' | 'folder' | 'sha256' | 'starts'>;

/**
 * Reads the team file that an assistant names.
 * @param folder whose files may be named
 * @param named absolute, or from the folder
 * @throws C3Error('input') for a path that leads out of the folder, with its links followed, and for what is no team
 *   file
 */
export async function agreedTeam(folder: string, named: string): Promise<AgreedTeam> {
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
export function startWords({ starts, folder }: Pick<AgreedTeam, 'starts' | 'folder'>): string | null {
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
