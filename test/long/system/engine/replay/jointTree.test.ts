/** A message in the middle of a three-turn rollout tree of a real model, replayed and verified by the command line. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { z } from 'zod';
import { c3, copyOf, makeWorkspace, withStore } from '../../../../unit/engine/workspace.ts';

const PROTOCOL = {
  name: 'two-sides',
  roles: ['left', 'right'].map((role) => ({ role, prompt: `Be ${role}.` })),
  scored: ['right'],
  rounds: { turns: 1, environment: 'feedback' },
};
const CONFIG = `model: team
protocol: sides.json
method: magrpo
task: {train_file: train.jsonl}
steps: 1
instances_per_step: 1
sampling: {max_new_tokens: 6}
evaluation: {instances: 0}
device: {threads: 1}
magrpo: {num_turns: 3, num_generations: 2, joint_mode: cross}
evaluator_budget: 84
`;
const verification = z.object({ checked: z.number(), identical: z.number() });

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
  writeFileSync(join(workspace, 'tree.c3.yaml'), CONFIG);
  writeFileSync(join(workspace, 'sides.json'), JSON.stringify(PROTOCOL));
});
after(() => rmSync(workspace, { recursive: true, force: true }));

it('a message of the second turn of crossed messages is replayed, and verifies', async (t) => {
  const folder = copyOf(t, workspace);
  const run = await c3(folder, ['run', 'tree.c3.yaml']);
  assert.equal(run.code, 0, run.stderr);
  const message = withStore(folder, (store) => {
    const id = store.runs(0, 1)[0]?.id ?? assert.fail();
    const { leaf } = store.replaysOfRun(id, 0, 10_000).at(-1) ?? assert.fail();
    return store.chain(leaf)[3] ?? assert.fail();
  });
  const replay = await c3(folder, ['replay', String(message.id), '--alternatives', '3', '--replays', '2']);
  assert.equal(replay.code, 0, replay.stderr);
  withStore(folder, (store) => {
    const [bucket] = store.bucketsFor(message.id).filter(({ origin }) => origin === 'request');
    const made = store.replaysOfBucket(bucket?.id ?? assert.fail());
    assert.equal(made.length, 4 * 2);
    for (const { leaf } of made) {
      const episode = store.chain(leaf);
      assert.equal(episode.length, 6);
      assert.equal(episode[message.position - 1]?.id, message.parent);
    }
  });
  const verified = await c3(folder, ['verify', '--json']);
  assert.equal(verified.code, 0, verified.stderr);
  const { checked, identical } = verification.parse(JSON.parse(verified.stdout));
  assert.equal(identical, checked);
  // Every leaf is a replay of each of the six messages before it, or of itself.
  assert.equal(checked, 6 * 4 ** 3 + 8);
});
