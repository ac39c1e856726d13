/** What the commands that measure say of a run of one method. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { c3, copyOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';

/** The estimator of each method, and the alternatives of its first bucket in the tiny team. */
export const DIAGNOSED_METHODS = {
  c3_full_mean: ['full_mean', 2],
  magrpo: ['full_mean', 8],
  c3_no_replay: ['loo', 8],
  mappo: ['mappo', 8],
} as const;

/** Trains with a method; diagnosis, taxonomy, export and verification work by the baseline that it has. */
export async function diagnosesMethod(
  t: TestContext,
  workspace: string,
  method: keyof typeof DIAGNOSED_METHODS,
): Promise<void> {
  const [estimator, alternatives] = DIAGNOSED_METHODS[method];
  const folder = copyOf(t, workspace);
  const id = String(
    parseLine(
      (
        await c3(folder, [
          'run',
          'tiny.c3.yaml',
          '--json',
          '--override',
          `method=${method}`,
          '--override',
          'steps=3',
          '--override',
          'snapshot_every=3',
        ])
      ).stdout,
    )['run'],
  );
  const found = parseLine((await c3(folder, ['diagnose', '--run', id, '--json'])).stdout);
  assert.deepEqual([found['origin'], found['estimator']], ['training', estimator]);
  withStore(folder, (store) => {
    assert.equal(store.run(id).method, method);
    assert.equal(
      store.bucketsOfRun({ run: id, origin: 'training', offset: 0, limit: 1 })[0]?.alternatives.length,
      alternatives,
    );
  });
  for (const command of [
    ['taxonomy', '--run', id],
    ['export', '--run', id, '--format', 'buckets', '--out', `${method}.jsonl`],
  ]) {
    const { code, stderr } = await c3(folder, command);
    assert.equal(code, 0, `${command.join(' ')}: ${stderr}`);
  }
  // The first weights that a step changed were not kept: that step is executed again. MAPPO's first step teaches
  // its value head alone, so that it makes none.
  assert.equal(
    withStore(folder, (store) => store.snapshotsOfRun(id)[1]?.file),
    null,
    method,
  );
  const verified = parseLine((await c3(folder, ['verify', '--run', id, '--json'])).stdout);
  assert.deepEqual([verified['different'], verified['notComparable']], [0, 0], method);
}
