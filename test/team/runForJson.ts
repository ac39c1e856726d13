/** Runs commands of `c3` in a folder, with the store of that folder, and returns the JSON that they print. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { c3Apart, parseLine } from '../unit/engine/workspace.ts';

export async function runForJson(folder: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await c3Apart(folder, [...args, '--json', '--store', join(folder, 'c3.sqlite')]);
  assert.equal(code, 0, stderr);
  return parseLine(stdout);
}
