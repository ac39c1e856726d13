/** Runs in which a role is answered by weights that are not trained, from the configuration to verified replays. */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseRecipe } from '../../../../../src/engine/recipe/recipe.ts';
import { newRecorded } from '../../../../support/recordedStores.ts';
import { c3, CONFIG, copyOf, errorOf, withStore } from '../../../../unit/engine/workspace.ts';
import { folderOf } from '../../../../unit/golden.ts';
import { OTHER, ran, replaysExactly } from './roleWeights.ts';

/** A folder without a store, and one with a run of the team. */
let workspace = '';
let done = '';
let alone = '';
before(async () => {
  ({ folder: done, run: alone } = await newRecorded('pair'));
  cpSync(folderOf('qwen2'), join(done, 'other'), { recursive: true });
  workspace = mkdtempSync(join(tmpdir(), 'c3-roles-'));
  cpSync(done, workspace, { recursive: true, filter: (path) => basename(path) !== '.c3' });
});
after(() => {
  for (const folder of [workspace, done]) {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A run that is interrupted in the third of four steps. */
async function interruptedRun(folder: string, policies: string): Promise<string> {
  writeFileSync(join(folder, 'roles.c3.yaml'), `${CONFIG}${policies}`);
  const interrupt = new AbortController();
  const { code } = await c3(folder, ['run', 'roles.c3.yaml', '--override', 'steps=4'], {
    signal: interrupt.signal,
    onNote: (text) => {
      if (text.includes('Step 2 of 4')) {
        interrupt.abort();
      }
    },
  });
  assert.equal(code, 1);
  return withStore(folder, (store) => store.runs(0, 1)[0]?.id ?? '');
}

describe('a role with another model', () => {
  it('has its messages valued in the tokens of the model in training', async (t) => {
    const folder = copyOf(t, workspace);
    const run = await ran(folder, OTHER, 'credit.estimator=value_assisted', 'credit.alpha=0.5', 'steps=1');
    withStore(folder, (store) => assert.equal(store.run(run).steps, 1));
  });
});

describe('a role with an earlier snapshot', () => {
  it('answers with what the run begins with, and the others learn', async (t) => {
    const folder = copyOf(t, workspace);
    const run = await ran(folder, 'policies:\n  reasoner: {snapshot: base}\n');
    withStore(folder, (store) => {
      const recipe = parseRecipe(store.runConfig(run), run);
      const [base, ...trained] = store.snapshotsOfRun(run).map(({ id }) => id);
      assert.equal(recipe.roles?.['reasoner']?.snapshot, base);
      assert.equal(trained.length, 2);
    });
    await replaysExactly(folder, run);
  });

  it('answers with a step of an earlier run', async (t) => {
    const folder = copyOf(t, done);
    const run = await ran(folder, `policies:\n  reasoner: {run: ${alone}, snapshot: 1}\n`, 'seed=3');
    withStore(folder, (store) => {
      const recipe = parseRecipe(store.runConfig(run), run);
      assert.equal(recipe.roles?.['reasoner']?.snapshot, store.snapshotsOfRun(alone)[1]?.id);
    });
    await replaysExactly(folder, run);
    const refused = await c3(folder, ['run', 'roles.c3.yaml', '--override', `policies.reasoner.snapshot=9`]);
    assert.match(errorOf(refused), /has 2 steps; snapshot 9 is not one of them/);
  });
});

describe('a role with an adapter', () => {
  it('answers with it, and needs its folder no longer once the run has begun', async (t) => {
    const folder = copyOf(t, workspace);
    const earlier = await ran(folder, '', 'adapter={rank: 2, per: role}', 'ppo.learning_rate=0.05');
    const exported = ['export', '--run', earlier, '--format', 'adapter', '--out', 'adapters'];
    assert.equal((await c3(folder, exported)).code, 0);
    const run = await interruptedRun(folder, 'adapter: {rank: 4}\npolicies:\n  actor: {adapter: adapters/actor}\n');
    rmSync(join(folder, 'adapters'), { recursive: true });
    const resumed = await c3(folder, ['run', '--resume', run, '--json']);
    assert.equal(resumed.code, 0, resumed.stderr);
    withStore(folder, (store) => {
      const recipe = parseRecipe(store.runConfig(run), run);
      const [base] = store.snapshotsOfRun(run).map(({ id }) => id);
      assert.notEqual(recipe.roles?.['actor']?.snapshot, base);
    });
    await replaysExactly(folder, run);
  });
});
