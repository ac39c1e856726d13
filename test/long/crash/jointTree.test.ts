/**
 * MAGRPO's rollout tree, killed at pseudo-random times and resumed: it ends with the rows and weights of a run that
 * never was, every replay verifies as identical, and a node that ended early is stored with the event that says so.
 */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { z } from 'zod';
import { TERMINATION } from '../../../src/replay/jointTree.ts';
import { assertSame, delays, interrupted, LOADED } from '../../crash/interrupted.ts';
import type { Moment } from '../../crash/killed.ts';
import { c3, makeWorkspace, withStore } from '../../unit/engine/workspace.ts';
import { jsonl, sums } from '../../unit/training/tinyTeam.ts';

const PROTOCOL = {
  name: 'two-sides',
  roles: ['left', 'right'].map((role) => ({ role, prompt: `Be ${role}.` })),
  scored: ['right'],
  rounds: { turns: 1, environment: 'feedback' },
};
const CONFIG = `title: Killed tree
method: magrpo
model: team
protocol: sides.json
task: {train_file: train.jsonl, evaluation_file: held.jsonl}
steps: 4
instances_per_step: 2
checkpoint_every: 3
snapshot_every: 2
sampling: {max_new_tokens: 6}
ppo: {learning_rate: 0.002, kl_coefficient: 0}
evaluation: {instances: 6, batch: 2}
device: {threads: 1}
magrpo: {num_turns: 2, num_generations: 2}
evaluator_budget: 20
`;
const verification = z.object({
  checked: z.number(),
  identical: z.number(),
  different: z.number(),
  notComparable: z.number(),
});
/** By joint mode: leaves of a tree where no node ends early. */
const LEAVES = { align: 4, cross: 16 } as const;

let workspace = '';

/** What the tests of a file share. */
function treeWorkspace(): void {
  before(async () => {
    workspace = await makeWorkspace();
    writeFileSync(join(workspace, 'tiny.c3.yaml'), CONFIG);
    writeFileSync(join(workspace, 'sides.json'), JSON.stringify(PROTOCOL));
    writeFileSync(join(workspace, 'train.jsonl'), jsonl(sums(10)));
  });
  after(() => rmSync(workspace, { recursive: true, force: true }));
}

/** @param kills of each mode */
function killedTrees(modes: readonly (keyof typeof LEAVES)[], kills: number): void {
  for (const [index, mode] of modes.entries()) {
    const leaves = LEAVES[mode];
    it(`a tree with joint_mode: ${mode} comes to the same end over kills, and its replays are identical`, async (t) => {
      const overrides = [`magrpo.joint_mode=${mode}`];
      const sizes = { batch: 2, evaluated: 6, episodes: 2 * leaves };
      const moments = delays(index + 1, kills, 160).map((later): Moment => ({ kind: 'line', line: LOADED, later }));
      const whole = await interrupted(t, workspace, [], overrides, sizes);
      const killed = await interrupted(t, workspace, moments, overrides, sizes);
      t.diagnostic(`${killed.kills} kills`);
      assert.ok(killed.kills >= 0.75 * kills, killed.log);
      assertSame(killed, whole);

      const credits = withStore(killed.folder, (store) =>
        store
          .bucketsOfRun({ run: store.runs(0, 1)[0]?.id ?? '', offset: 0, limit: 500 })
          .flatMap(({ alternatives }) => alternatives.map(({ bucketCredit }) => bucketCredit?.value ?? null)),
      );
      assert.ok(
        credits.some((value) => value !== 0 && value !== null),
        'some messages matter',
      );
      await assertVerified(killed.folder, 4 * 2 * leaves);
    });
  }
}

/** It is not killed. */
function treeThatEndsEarly(): void {
  it('a node that ends early is stored with the event that ends it, and verifies', async (t) => {
    // Every mean is above -1: no tree has a second turn.
    const sizes = { batch: 2, evaluated: 6, episodes: 2 * 2 };
    const whole = await interrupted(t, workspace, [], ['magrpo.termination_threshold=-1'], sizes);
    const events = whole.tables['environment_event'] ?? [];
    assert.equal(events.filter((row) => row['source'] === TERMINATION).length, 4 * 2 * 2);
    await assertVerified(whole.folder, 4 * 2 * 2);
  });
}

async function assertVerified(folder: string, least: number): Promise<void> {
  const { stdout, code, stderr } = await c3(folder, ['verify', '--json']);
  assert.equal(code, 0, stderr);
  const { checked, identical, different, notComparable } = verification.parse(JSON.parse(stdout));
  assert.deepEqual([identical, different, notComparable], [checked, 0, 0]);
  assert.ok(checked >= least, String(checked));
}

treeWorkspace();
killedTrees(['align', 'cross'], 22);
treeThatEndsEarly();
