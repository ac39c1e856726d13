/** Finds the test files for the names that were typed after the suite. */

import { globSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findNearestName } from '../../src/shared/errors.ts';

export const SUITES = ['unit', 'system', 'integration', 'long', 'attack'] as const;
export type Suite = (typeof SUITES)[number];

/**
 * The test files of each suite. Killed runs and a sample of the attacks belong to the system tests.
 */
const FILES: Readonly<Record<Suite, readonly string[]>> = {
  unit: ['test/unit/**/*.test.ts'],
  system: ['test/system/**/*.test.ts', 'test/crash/*.test.ts', 'test/attack/*.test.ts'],
  integration: ['test/integration/**/*.test.ts'],
  long: ['test/long/**/*.test.ts'],
  attack: ['test/attack/*.test.ts', 'test/long/attack/*.test.ts'],
};

/**
 * Returns the test files of a suite, or only those with the given names.
 * @param names rooms (folders of test/unit, or of test/system for system tests), as `runtime/graph`,
 *   or files relative to the root; empty for the whole suite
 * @param root folder of the checkout
 * @returns distinct paths relative to the root
 * @throws Error in one sentence for a name that is neither a room nor a file
 */
export function chooseFiles(suite: Suite, names: readonly string[], root: string): string[] {
  if (names.length === 0) {
    return globSync([...FILES[suite]], { cwd: root });
  }
  return [...new Set(names.flatMap((name) => findFilesNamed(suite, name, root)))];
}

function findFilesNamed(suite: Suite, name: string, root: string): string[] {
  if (/\.test\.ts$/u.test(name) && statSync(join(root, name), { throwIfNoEntry: false })?.isFile() === true) {
    return [name];
  }
  const folder = suite === 'system' ? 'system' : 'unit';
  const found = globSync(join('test', folder, name, '**', '*.test.ts'), { cwd: root });
  if (found.length > 0 && !name.includes('..')) {
    return found;
  }
  const other = folder === 'system' ? 'unit' : 'system';
  if (!name.includes('..') && globSync(join('test', other, name, '**', '*.test.ts'), { cwd: root }).length > 0) {
    throw new Error(`"${name}" has ${other} tests only: npm run test:${other} -- ${name}`);
  }
  const rooms = readdirSync(join(root, 'test', folder), { withFileTypes: true });
  const known = rooms.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const nearest = findNearestName(name, known);
  const hint = nearest === undefined ? `Rooms with tests are ${known.join(', ')}` : `Did you mean ${nearest}`;
  throw new Error(`There is no test file and no room named "${name}". ${hint}${nearest === undefined ? '.' : '?'}`);
}
