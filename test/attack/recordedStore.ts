/**
 * A real store to attack: what the command line records of a short run of a tiny team, with replays, a verification,
 * labels and a diagnostic sample.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { c3, makeWorkspace } from '../unit/engine/workspace.ts';

export interface RecordedStore {
  readonly folder: string;
  readonly path: string;
  readonly run: string;
}

/** Records the store in a folder of its own, which is the caller's to remove. */
export async function recordedStore(): Promise<RecordedStore> {
  const folder = await makeWorkspace();
  const path = join(folder, 'store', 'c3.sqlite');
  const did = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await c3(folder, [...args, '--store', path, '--json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const found = await did('run', 'tiny.c3.yaml');
  assert.ok(typeof found === 'object' && found !== null && 'run' in found && typeof found.run === 'string');
  const { run } = found;
  const reader = openStoreForReading(path);
  const [bucket] = reader.bucketsOfRun({ run, offset: 0, limit: 1 });
  const message = bucket?.alternatives[0]?.message;
  reader.close();
  assert.ok(bucket !== undefined && message !== undefined);
  await did('replay', String(message), '--alternatives', '2', '--replays', '2');
  await did(
    'diagnose',
    '--run',
    run,
    '--sample',
    '--contexts',
    '2',
    '--alternatives',
    '2',
    '--replays',
    '2',
    '--value-samples',
    '0',
  );
  await did('verify', '--run', run, '--sample', '2');
  await did('label', String(bucket.id), 'Misleading Plan');
  return { folder, path, run };
}
