import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Snapshot } from '../../../../src/domain/snapshot.ts';
import { ModelPool, type LentPolicy } from '../../../../src/engine/models/models.ts';
import { parseRecipe, type Recipe } from '../../../../src/engine/recipe/recipe.ts';
import { PolicyGone } from '../../../../src/policy/policy.ts';
import { streamKey } from '../../../../src/runtime/random.ts';
import { c3, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
let recipe: Recipe;
/** The base and six trained snapshots: more than a runtime keeps unused. */
let snapshots: Snapshot[] = [];
before(async () => {
  workspace = await makeWorkspace();
  const run = String(
    parseLine(
      (
        await c3(workspace, [
          'run',
          'tiny.c3.yaml',
          '--json',
          '--override',
          'steps=6',
          '--override',
          'evaluation.instances=0',
        ])
      ).stdout,
    )['run'],
  );
  withStore(workspace, (store) => {
    recipe = parseRecipe(store.runConfig(run), run);
    snapshots = store.snapshotsOfRun(run);
  });
  assert.equal(snapshots.length, 7);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const weights = (name: string): Promise<string | null> =>
  Promise.resolve(snapshots.find(({ id }) => id === name)?.file ?? null);
const REQUEST = {
  role: 'actor',
  context: 'Plan.\n\nProblem:\nBox 1 holds 2 pens and gets 2 more. How many pens are in it?\n',
  sampling: { temperature: 1, topP: 1, topK: 0, maxNewTokens: 6 },
  streamKey: streamKey({ seed: 0, scope: 'test', uidSha: '', role: '', turn: 0, sibling: 0 }),
};
async function answer(lent: LentPolicy): Promise<string> {
  const [first] = await lent.policy.answer([REQUEST], { signal: new AbortController().signal });
  return [...(first?.tokens ?? []), ...(first?.logprobs ?? [])].join(' ');
}
/** What a snapshot says, or why it is gone. */
async function said(pool: ModelPool, snapshot: string, find = weights): Promise<string> {
  try {
    await using lent = await pool.take(recipe, snapshot, find);
    return await answer(lent);
  } catch (error) {
    if (error instanceof PolicyGone) {
      return error.message;
    }
    throw error;
  }
}

describe('ModelPool', () => {
  it('lends each snapshot its own weights, also many at once and after they were let go', async () => {
    const pool = new ModelPool();
    try {
      const lend = ({ id }: Snapshot): Promise<string> => said(pool, id);
      const one: string[] = [];
      for (const snapshot of snapshots) {
        one.push(await lend(snapshot));
      }
      assert.equal(new Set(one).size, 7, 'each step changed what is likely');
      assert.deepEqual(await Promise.all([...snapshots, ...snapshots].map(lend)), [...one, ...one]);
      assert.deepEqual(await Promise.all(snapshots.toReversed().map(lend)), one.toReversed());
    } finally {
      await pool.close();
    }
  });

  it('keeps the weights of a policy that is on loan, whatever else is asked for meanwhile', async () => {
    const pool = new ModelPool();
    try {
      const [first, ...others] = snapshots.slice(1);
      assert.ok(first);
      await using lent = await pool.take(recipe, first.id, weights);
      const before = await answer(lent);
      for (const { id } of [...others, ...others]) {
        await said(pool, id);
      }
      assert.equal(await answer(lent), before);
    } finally {
      await pool.close();
    }
  });

  it('gives a run a runtime of its own, which nobody else changes', async () => {
    const pool = new ModelPool();
    try {
      const [base, trained] = snapshots;
      assert.ok(base && trained);
      {
        await using model = await pool.takeAlone(recipe);
        assert.equal(model.info.snapshot, base.id);
        await said(pool, trained.id);
        assert.deepEqual(await model.runtime.snapshots(), [base.id]);
      }
      assert.match(await said(pool, base.id), /^\d+ /);
    } finally {
      await pool.close();
    }
  });

  it('says in one sentence why weights cannot be had', async () => {
    const pool = new ModelPool();
    try {
      const [base, first, second] = snapshots;
      assert.ok(base && first?.file && second?.file);
      const short = first.id.slice(0, 12);
      const lend = (find: typeof weights): Promise<string> => said(pool, first.id, find);
      assert.equal(
        await lend(() => Promise.resolve(null)),
        `The weights of snapshot ${short} were not kept and cannot be rebuilt, so its messages cannot be re-executed.`,
      );
      assert.equal(
        await lend(() => Promise.resolve(second.file)),
        `${second.file} holds other weights than snapshot ${short}; put the original file back.`,
      );
      assert.match(
        await lend(() => Promise.resolve(join(workspace, 'none'))),
        new RegExp(`^The weights of snapshot ${short} cannot be loaded: Cannot read .*none`),
      );
      renameSync(join(workspace, 'team', 'tokenizer.json'), join(workspace, 'tokenizer.json'));
      const other = new ModelPool();
      await assert.rejects(said(other, base.id), /Cannot read .*tokenizer\.json/);
      renameSync(join(workspace, 'tokenizer.json'), join(workspace, 'team', 'tokenizer.json'));
      assert.match(await said(other, base.id), /^\d+ /, 'it is looked at again');
      await other.close();
      assert.match(await lend(weights), /^\d+ /, 'and so are weights');
      assert.ok(existsSync(first.file));
    } finally {
      await pool.close();
    }
  });

  it('keeps devices apart, and says why a run is not where it was asked to be', async () => {
    const probed: string[] = [];
    const pool = new ModelPool((provider) => {
      probed.push(provider);
      return Promise.resolve({
        passed: false,
        sentence: 'no adapter found',
        invariance: null,
        name: '',
        speedup: null,
      });
    });
    const on = (provider: 'cpu' | 'webgpu', threads: number): Recipe => ({
      ...recipe,
      config: { ...recipe.config, device: { provider, threads, precision: 'float32' } },
    });
    const environment = async (asked: Recipe): Promise<readonly [string, number, string | null]> => {
      await using model = await pool.takeAlone(asked);
      const { provider, threads } = model.runtime.environment;
      return [provider, threads, model.remark];
    };
    assert.deepEqual(await environment(on('cpu', 1)), ['cpu', 1, null]);
    assert.deepEqual(probed, []);
    const [provider, threads, remark] = await environment(on('webgpu', 2));
    assert.deepEqual([provider, threads], ['cpu', 2]);
    assert.match(remark ?? '', /^WebGPU: .+; the run computes on the CPU\.$/);
    await pool.close();
  });
});
