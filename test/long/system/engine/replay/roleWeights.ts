/** What the tests of roles that are answered by other weights share. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoreReader } from '../../../../../src/store/read/reader.ts';
import { c3, CONFIG, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

/** The reasoner is answered by the model in the folder `other`. */
export const OTHER = 'policies:\n  reasoner: {model: other}\n';

/** Runs a configuration with policies in a copy of the workspace. */
export async function ran(folder: string, policies: string, ...overrides: string[]): Promise<string> {
  writeFileSync(join(folder, 'roles.c3.yaml'), `${CONFIG}${policies}`);
  const made = await c3(folder, ['run', 'roles.c3.yaml', '--json', ...overrides.flatMap((one) => ['--override', one])]);
  assert.equal(made.code, 0, made.stderr);
  return String(parseLine(made.stdout)['run']);
}

export const firstOf = (store: StoreReader, run: string, role: string): number =>
  store.bucketsOfRun({ run, origin: 'training', offset: 0, limit: 1000 }).find(({ role: speaker }) => speaker === role)
    ?.alternatives[0]?.message ?? 0;

/** Replays a message of each role and verifies all that is stored. */
export async function replaysExactly(folder: string, run: string): Promise<void> {
  for (const role of ['reasoner', 'actor']) {
    const asked = String(withStore(folder, (store) => firstOf(store, run, role)));
    const replayed = await c3(folder, ['replay', asked, '--alternatives', '2', '--replays', '2', '--json']);
    assert.equal(replayed.code, 0, replayed.stderr);
  }
  const verified = await c3(folder, ['verify', '--run', run, '--json']);
  const { checked, identical } = parseLine(verified.stdout);
  assert.ok(Number(checked) > 20);
  assert.equal(identical, checked, verified.stdout);
}
