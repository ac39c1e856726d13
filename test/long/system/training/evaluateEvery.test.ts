/**
 * `evaluation.every`: a curve over training that changes nothing of it, survives interruptions and is paid for apart.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { teamFolder, tinyWorld, type TinyRun } from '../../../unit/training/tinyRun.ts';
import { failing, rowsOf, watching } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => {
  team.remove();
});

const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);
const OVERRIDES = ['steps=5', 'checkpoint_every=2', 'snapshot_every=2', 'evaluation.batch=4'];
const EVERY = [...OVERRIDES, 'evaluation.every=2'];

describe('evaluation every so many steps', () => {
  it('gives the rows and weights of a run that was not interrupted, wherever it was', async (t) => {
    const whole = await begin(t);
    let calls = 0;
    const during: number[] = [];
    await whole.start({
      overrides: EVERY,
      wrap: watching((name) => (calls += name === 'generate' ? 1 : 0)),
      control: {
        onProgress: ({ message }) => {
          if (/^Evaluating .*, after step/u.test(message)) {
            during.push(calls + 1);
          }
        },
      },
    });
    assert.equal(during.length, 2 * 2 * 3, 'a beginning and two batches, greedy and sampled, after steps 2 and 4');
    for (const at of [...new Set(during)].filter((call) => call <= calls)) {
      const world = await begin(t);
      await assert.rejects(world.start({ overrides: EVERY, wrap: failing('generate', at) }), /It broke/u, String(at));
      await world.resume({ overrides: EVERY });
      assert.deepEqual(rowsOf(world), rowsOf(whole), String(at));
    }
  });
});
