/** A run in which another model answers for a role, killed and resumed. */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, it } from 'node:test';
import type { StoreReader } from '../../../../../src/store/read/reader.ts';
import { newRecorded } from '../../../../support/recordedStores.ts';
import { c3, CONFIG, copyOf, errorOf, finished, hears, startC3, withStore } from '../../../../unit/engine/workspace.ts';
import { folderOf } from '../../../../unit/golden.ts';
import { OTHER, ran, replaysExactly } from './roleWeights.ts';

let workspace = '';
before(async () => {
  const { folder } = await newRecorded('pair');
  workspace = mkdtempSync(join(tmpdir(), 'c3-roles-'));
  cpSync(folder, workspace, { recursive: true, filter: (path) => basename(path) !== '.c3' });
  cpSync(folderOf('qwen2'), join(workspace, 'other'), { recursive: true });
  rmSync(folder, { recursive: true, force: true });
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/** Every message of a run's training, with what may not change. */
function rows(store: StoreReader, run: string): unknown[] {
  return store
    .bucketsOfRun({ run, origin: 'training', offset: 0, limit: 1000 })
    .flatMap(({ alternatives }) => alternatives.map(({ message }) => store.fullMessage(message)))
    .map(({ role, context, text, tokens, logprobs, snapshot }) => ({
      role,
      context,
      text,
      tokens: [...tokens],
      logprobs: [...logprobs],
      snapshot,
    }));
}

/** A resume with other weights in the folder of the role's model, which has its own again afterwards. */
async function refusesAnotherModel(folder: string, run: string): Promise<void> {
  cpSync(folderOf('llama'), join(folder, 'other'), { recursive: true });
  assert.match(
    errorOf(await c3(folder, ['run', '--resume', run])),
    /cannot be resumed: the model of the role reasoner, .*other, no longer has the weights/,
  );
  rmSync(join(folder, 'other'), { recursive: true });
  cpSync(folderOf('qwen2'), join(folder, 'other'), { recursive: true });
}

/** A run that is killed in the third of four steps. */
async function killedRun(folder: string, policies: string): Promise<string> {
  writeFileSync(join(folder, 'roles.c3.yaml'), `${CONFIG}${policies}`);
  const child = startC3(folder, ['run', 'roles.c3.yaml', '--json', '--override', 'steps=4']);
  child.stdin.end();
  const ended = finished(child);
  await hears(child, 'Step 2 of 4');
  child.kill('SIGKILL');
  await ended;
  return withStore(folder, (store) => store.runs(0, 1)[0]?.id ?? '');
}

it('continues after a kill with the same weights and rows', async (t) => {
  const [whole, cut] = [copyOf(t, workspace), copyOf(t, workspace)];
  const run = await ran(whole, OTHER, 'steps=4');
  const killed = await killedRun(cut, OTHER);
  await refusesAnotherModel(cut, killed);
  const resumed = await c3(cut, ['run', '--resume', killed, '--json']);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.deepEqual(
    withStore(cut, (store) => rows(store, killed)),
    withStore(whole, (store) => rows(store, run)),
  );
  const snapshots = (folder: string, id: string): string[] =>
    withStore(folder, (store) => store.snapshotsOfRun(id).map((one) => one.id));
  assert.deepEqual(snapshots(cut, killed), snapshots(whole, run));
  await replaysExactly(cut, killed);
});
