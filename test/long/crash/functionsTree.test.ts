/**
 * Three turns of a helper and a main function, scored in the sandbox, killed while messages are sampled and between
 * messages and optimizer step, and resumed each time.
 */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { assertSame, delays, interrupted, LOADED } from '../../crash/interrupted.ts';
import type { Moment } from '../../crash/killed.ts';
import { c3, makeWorkspace } from '../../unit/engine/workspace.ts';

const CONFIG = `title: Killed functions
method: magrpo
task: {name: functions}
evaluator: ladder
external: {mode: level_feedback}
magrpo: {num_turns: 3, num_generations: 2}
evaluator_budget: 14
steps: 12
instances_per_step: 2
checkpoint_every: 3
snapshot_every: 2
evaluation: {instances: 2, batch: 2}
device: {threads: 1}
`;
const KILLS = 20;
const LEAVES = 2 ** 3;

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
  writeFileSync(join(workspace, 'tiny.c3.yaml'), CONFIG);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

it('a tree of three turns comes to the same end over kills, and its replays are identical', async (t) => {
  const sizes = { batch: 2, evaluated: 2, episodes: 2 * LEAVES };
  const moments = delays(1, KILLS, 4000).map((later, index): Moment =>
    index % 2 === 0 ? { kind: 'step' } : { kind: 'line', line: LOADED, later },
  );
  const whole = await interrupted(t, workspace, [], [], sizes);
  const killed = await interrupted(t, workspace, moments, [], sizes);
  t.diagnostic(`${killed.kills} kills`);
  assert.equal(killed.kills, KILLS, killed.log);
  assertSame(killed, whole);
  const verified = await c3(killed.folder, ['verify', '--json']);
  assert.equal(verified.code, 0, verified.stderr);
  t.diagnostic(verified.stdout.trim());
  // Every leaf is a replay of each of the six messages before it.
  const replays = 12 * 2 * LEAVES * 6;
  assert.match(verified.stdout, new RegExp(`"checked":${replays},"identical":${replays},`));
});
