/** Reads the disk at the paths that a configuration names. Not called in an untrusted workspace. */

import { readdir, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { describeAbsentPath, type NamedPath } from '../../shared/text/namedPaths.ts';
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
/** Maximum number of entries that are offered for one folder. */
const MOST = 200;
/** Matches names that never need quotes in YAML. */
const PLAIN = /^[\p{L}\p{N}_][\p{L}\p{N}_.+=-]*$/u;

/**
 * Lists the entries that can complete a path.
 * @param base the folder that paths are relative to
 * @param typed the path up to the cursor
 * @returns folders first, then files, each by name; empty if the folder does not exist
 */
export async function listEntries(base: string, typed: string, names: NamedPath): Promise<readonly Entry[]> {
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

/** Returns the paths of a configuration that do not exist, each with a sentence about it. */
export async function findMissingPaths(
  base: string,
  written: readonly WrittenPath[],
): Promise<readonly (WrittenPath & { readonly message: string })[]> {
  const found = await Promise.all(written.map(({ path }) => stat(resolve(base, path)).catch(() => null)));
  return written.flatMap((one, index) => {
    const there = one.names === 'folder' ? found[index]?.isDirectory() : found[index]?.isFile();
    return there === true ? [] : [{ ...one, message: describeAbsentPath(one.names, resolve(base, one.path)) }];
  });
}
