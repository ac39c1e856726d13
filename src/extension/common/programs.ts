/** Programs of the user's: how a folder's is called, and which were recorded by this window. */
import { readdir } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { window } from 'vscode';
import { words } from '../../shared/text/words.ts';

/** What starts a file of a kind. */
const STARTERS: Readonly<Partial<Record<string, string>>> = {
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.py': process.platform === 'win32' ? 'python' : 'python3',
};
/** Entries of a folder that are looked at. */
const MOST_ENTRIES = 1000;

/** The command of a typed line; null for an empty one. */
export function commandIn(typed: string): [string, ...string[]] | null {
  const [program, ...args] = words(typed);
  return program === undefined ? null : [program, ...args];
}

/** A command as a line to type. */
export const typedCommand = (command: readonly string[]): string =>
  command.map((word) => (/[\s"']/u.test(word) ? (word.includes('"') ? `'${word}'` : `"${word}"`) : word)).join(' ');

/** What is wrong with the base address of a server; null where nothing is. */
export const addressFault = (text: string): string | null =>
  URL.canParse(text) && /^https?:\/\//iu.test(text) ? null : 'An address begins with https:// or http://.';

/** The command for the program in the editor in front, or the only one in a folder; empty for none of both. */
export async function likelyCommand(folder: string): Promise<string> {
  const open = window.activeTextEditor?.document.uri;
  const names =
    open?.scheme === 'file' && dirname(open.fsPath) === folder && extname(open.fsPath) in STARTERS
      ? [basename(open.fsPath)]
      : (await readdir(folder).catch(() => [])).slice(0, MOST_ENTRIES).filter((name) => extname(name) in STARTERS);
  const [name, ...others] = names;
  return name === undefined || others.length > 0 ? '' : typedCommand([STARTERS[extname(name)] ?? '', name]);
}

/** The commands of recorded runs, in memory only: their arguments may hold anything. */
export type RecordedPrograms = Map<string, readonly string[]>;
