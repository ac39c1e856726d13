/**
 * The example teams whose episodes unfold, killed at pseudo-random times and resumed: they end with the rows and
 * weights of a run that never was, and every replay verifies as identical.
 */

import assert from 'node:assert/strict';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { z } from 'zod';
import { assertSame, delays, interrupted, LOADED } from '../../crash/interrupted.ts';
import type { Moment } from '../../crash/killed.ts';
import { c3, makeWorkspace, withStore } from '../../unit/engine/workspace.ts';
import { jsonl, sums } from '../../unit/training/tinyTeam.ts';

const CONFIG = `title: Killed example
model: team
task: {train_file: train.jsonl, evaluation_file: held.jsonl}
steps: 4
instances_per_step: 3
checkpoint_every: 3
snapshot_every: 2
sampling: {max_new_tokens: 6}
ppo: {learning_rate: 0.002}
evaluation: {instances: 6, batch: 2}
device: {threads: 1}
fanout: [2, 2]
evaluator_budget: 12
`;
/** Four leaves of each of three problems. */
const SIZES = { batch: 2, evaluated: 6, episodes: 3 * 4 };
const verification = z.object({
  checked: z.number(),
  identical: z.number(),
  different: z.number(),
  notComparable: z.number(),
});
/** By team: what its events are from. */
const TEAMS = { feedback: 'feedback', calculator: 'calculator', voters: 'vote' } as const;
type UnfoldingTeam = keyof typeof TEAMS;

let workspace = '';

/** @param kills of each team */
function killedTeams(teams: readonly UnfoldingTeam[], kills: number): void {
  before(async () => {
    workspace = await makeWorkspace();
    writeFileSync(join(workspace, 'tiny.c3.yaml'), CONFIG);
    writeFileSync(join(workspace, 'train.jsonl'), jsonl(sums(10)));
    for (const team of Object.keys(TEAMS)) {
      cpSync(join(import.meta.dirname, '../../../media/examples', `${team}.json`), join(workspace, `${team}.json`));
    }
  });
  after(() => rmSync(workspace, { recursive: true, force: true }));

  for (const [index, team] of teams.entries()) {
    it(`the example team ${team} comes to the same end over kills, and its replays are identical`, async (t) => {
      const overrides = [`protocol=${team}.json`];
      const moments = delays(index + 1, kills, 160).map((later): Moment => ({ kind: 'line', line: LOADED, later }));
      const whole = await interrupted(t, workspace, [], overrides, SIZES);
      const killed = await interrupted(t, workspace, moments, overrides, SIZES);
      t.diagnostic(`${killed.kills} kills`);
      assert.ok(killed.kills >= 0.75 * kills, killed.log);
      assertSame(killed, whole);

      const sources = new Set((killed.tables['environment_event'] ?? []).map((row) => row['source']));
      assert.deepEqual([...sources], [TEAMS[team]]);
      const credits = withStore(killed.folder, (store) =>
        store
          .bucketsOfRun({ run: store.runs(0, 1)[0]?.id ?? '', offset: 0, limit: 200 })
          .flatMap(({ alternatives }) => alternatives.map(({ bucketCredit }) => bucketCredit?.value ?? null)),
      );
      assert.ok(credits.includes(0) && credits.some((value) => value !== 0 && value !== null), 'some messages matter');

      const { stdout, code, stderr } = await c3(killed.folder, ['verify', '--json']);
      assert.equal(code, 0, stderr);
      const { checked, identical, different, notComparable } = verification.parse(JSON.parse(stdout));
      t.diagnostic(`${identical} of ${checked} replays are identical`);
      assert.deepEqual([identical, different, notComparable], [checked, 0, 0]);
      assert.ok(checked >= 4 * 3 * 4, String(checked));
    });
  }
}

killedTeams(['feedback', 'calculator', 'voters'], 22);
