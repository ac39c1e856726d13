/**
 * What is on the disk at the paths that a configuration names. Nothing here is asked in a workspace that is not
 * trusted.
 */
import { readdir, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { absentPath, type NamedPath } from '../../shared/text/namedPaths.ts';
import type { WrittenPath } from './help.ts';

export interface Entry {
  readonly name: string;
  readonly folder: boolean;
}

const ENDINGS: Readonly<Record<NamedPath, readonly string[]>> = {
  folder: [],
  protocol: ['.json', '.yaml', '.yml'],
  rows: ['.jsonl', '.csv'],
};
/** Entries that are offered of one folder. */
const MOST = 200;
/** Names that need no quotes in YAML, whatever is around them. */
const PLAIN = /^[\p{L}\p{N}_][\p{L}\p{N}_.+=-]*$/u;

/**
 * What can follow a path that is being written.
 * @param base folder that paths are relative to
 * @param typed the path up to the cursor
 * @returns folders first, by name; empty where there is no such folder
 */
export async function entriesBelow(base: string, typed: string, names: NamedPath): Promise<readonly Entry[]> {
  const folder = resolve(base, typed.slice(0, typed.lastIndexOf('/') + 1));
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const offered = await Promise.all(
    entries
      .filter(({ name }) => PLAIN.test(name) && name !== 'node_modules')
      .slice(0, MOST)
      .map(async (entry) => {
        const linked = entry.isSymbolicLink() ? await stat(resolve(folder, entry.name)).catch(() => null) : entry;
        return { name: entry.name, folder: linked?.isDirectory() ?? false, file: linked?.isFile() ?? false };
      }),
  );
  return offered
    .filter((entry) => entry.folder || (entry.file && ENDINGS[names].includes(extname(entry.name).toLowerCase())))
    .sort((a, b) => Number(b.folder) - Number(a.folder) || a.name.localeCompare(b.name))
    .map(({ name, folder: isFolder }) => ({ name, folder: isFolder }));
}

/** Of the paths that a configuration names those that are not there, each with a sentence. */
export async function missing(
  base: string,
  written: readonly WrittenPath[],
): Promise<readonly (WrittenPath & { readonly message: string })[]> {
  const found = await Promise.all(written.map(({ path }) => stat(resolve(base, path)).catch(() => null)));
  return written.flatMap((one, index) => {
    const there = one.names === 'folder' ? found[index]?.isDirectory() : found[index]?.isFile();
    return there === true ? [] : [{ ...one, message: absentPath(one.names, resolve(base, one.path)) }];
  });
}
