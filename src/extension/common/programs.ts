/** Commands of the user's programs: parsing, formatting, and a guess for a folder. */

import { readdir } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { window } from 'vscode';
import { splitCommand } from '../../shared/text/words.ts';

/** Programs that run a file, by its extension. */
const STARTERS: Readonly<Partial<Record<string, string>>> = {
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.py': process.platform === 'win32' ? 'python' : 'python3',
};
/** Maximum number of folder entries that are examined. */
const MOST_ENTRIES = 1000;

/** Splits a typed line into a command, or returns null if the line is empty. */
export function parseCommand(typed: string): [string, ...string[]] | null {
  const [program, ...args] = splitCommand(typed);
  return program === undefined ? null : [program, ...args];
}

/** Formats a command as a line that a user could type. */
export const formatCommand = (command: readonly string[]): string =>
  command.map((word) => (/[\s"']/u.test(word) ? (word.includes('"') ? `'${word}'` : `"${word}"`) : word)).join(' ');

/** Returns the fault of a server's base address, or null if the address is valid. */
export const findAddressFault = (text: string): string | null =>
  URL.canParse(text) && /^https?:\/\//iu.test(text) ? null : 'An address begins with https:// or http://.';

/**
 * Returns a command for the program in the active editor, or for the only program in the folder. Else
 * returns an empty text.
 */
export async function guessCommand(folder: string): Promise<string> {
  const open = window.activeTextEditor?.document.uri;
  const names =
    open?.scheme === 'file' && dirname(open.fsPath) === folder && extname(open.fsPath) in STARTERS
      ? [basename(open.fsPath)]
      : (await readdir(folder).catch(() => [])).slice(0, MOST_ENTRIES).filter((name) => extname(name) in STARTERS);
  const [name, ...others] = names;
  return name === undefined || others.length > 0 ? '' : formatCommand([STARTERS[extname(name)] ?? '', name]);
}

/** Commands of recorded runs, by run id. Kept in memory only: their arguments may hold secrets. */
export type RecordedPrograms = Map<string, readonly string[]>;
