/**
 * The folder outside the repository for programs that the integration tests install once: C3_CACHE,
 * or the user's cache folder.
 */

import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

const MARKER = 'complete.json';
const UNFINISHED = /^\.unfinished-(\d+)-/;

export function cacheFolder(): string {
  const { C3_CACHE: own, XDG_CACHE_HOME: user } = process.env;
  if (own !== undefined && own !== '') {
    return resolve(own);
  }
  return join(user !== undefined && user !== '' ? user : join(homedir(), '.cache'), 'c3-replay');
}

/**
 * Returns a folder of the cache, which is installed on first use. An install happens in a temporary
 * folder that gets its final name when it is complete, so an interrupted install is never used.
 * @param name folder name with all versions that matter, so that a new version gets a new folder
 * @param install fills the given folder
 * @returns the absolute path of the complete folder
 */
export async function installOnce(name: string, install: (folder: string) => Promise<void>): Promise<string> {
  const cache = cacheFolder();
  const folder = join(cache, name);
  if (existsSync(join(folder, MARKER))) {
    return folder;
  }
  await mkdir(cache, { recursive: true });
  await removeUnfinished(cache);
  const unfinished = join(cache, `.unfinished-${process.pid}-${name}`);
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished);
  try {
    await install(unfinished);
    await writeFile(join(unfinished, MARKER), `${JSON.stringify({ name, node: process.version }, null, 2)}\n`);
    // Another test run may have finished the same install meanwhile. Both runs then use its folder.
    if (!existsSync(join(folder, MARKER))) {
      await rm(folder, { recursive: true, force: true });
      await rename(unfinished, folder);
    }
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return folder;
}

async function removeUnfinished(cache: string): Promise<void> {
  for (const entry of await readdir(cache)) {
    const owner = UNFINISHED.exec(entry)?.[1];
    if (owner !== undefined && !isRunning(Number(owner))) {
      await rm(join(cache, entry), { recursive: true, force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process runs as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
