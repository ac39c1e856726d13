/** Finds the files of findings in a folder. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FINDING_FILE } from '../../domain/answer.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';

/** Folders with generated or third-party content. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['node_modules', '.git', '.c3']);
/** Maximum depth of folders. */
const MOST_DEPTH = 20;

/**
 * Returns the files in a folder, sorted by name, or the path itself if it is a finding.
 * @throws C3Error('input') if there are none, or the folder cannot be read
 */
export async function findFindings(place: string): Promise<readonly string[]> {
  const found = await stat(place).catch((error: unknown) => {
    throw new C3Error('input', `Cannot read ${place}: ${toErrorMessage(error)}; name a folder with findings.`);
  });
  const files = found.isDirectory() ? await findFindingsBelow(place, 0) : place.endsWith(FINDING_FILE) ? [place] : [];
  if (files.length === 0) {
    throw new C3Error(
      'input',
      `${place} holds no *${FINDING_FILE}; keep a message as one with \`c3 keep MESSAGE --out ${place}\`.`,
    );
  }
  return files;
}

async function findFindingsBelow(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isFile() && entry.name.endsWith(FINDING_FILE)) {
      files.push(path);
    } else if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name) && depth < MOST_DEPTH) {
      files.push(...(await findFindingsBelow(path, depth + 1)));
    }
  }
  return files;
}
