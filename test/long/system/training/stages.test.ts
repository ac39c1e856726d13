/** Fresh rollouts between the updates of a step: sampled by the team as it is then, stored, counted, learned from. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { restoreStage, restoreTraining, snapshotAfter } from '../../../../src/training/state/restore.ts';
import { inStages, type StagesSettings } from '../../../support/inStages.ts';
import { teamFolder, tinyWorld, type TinyRun, type TinyRunOptions } from '../../../unit/training/tinyRun.ts';
import { failing, rowsOf, watching } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => {
  team.remove();
});

const STEPS = 3;
const BUDGET = 6;
const OVERRIDES = [
  `steps=${String(STEPS)}`,
  'checkpoint_every=2',
  'snapshot_every=2',
  'evaluation.instances=0',
  `evaluator_budget=${String(BUDGET)}`,
  'fanout=[2, 2]',
];
const PER_ROLE = [...OVERRIDES, 'adapter={per: role, rank: 2}', 'ppo.learning_rate=0.02'];
const SETTINGS: StagesSettings = { radius: 0.6, passes: 2 };
const options = (overrides: readonly string[], settings = SETTINGS): TinyRunOptions => ({
  overrides,
  evaluation: [],
  method: inStages(settings),
});
const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);

describe('stages of a step', () => {
  it('come to the same rows and weights wherever the run was interrupted', async (t) => {
    for (const [overrides, moments] of [
      [
        PER_ROLE,
        [
          ['generate', 0.3],
          ['step', 0.5],
          ['divergence', 0.7],
          ['revertTraining', 0.1],
          ['saveCheckpoint', 0],
        ],
      ],
      [
        OVERRIDES,
        [
          ['generate', 0.6],
          ['freeze', 0.45],
        ],
      ],
    ] as const) {
      const whole = await begin(t);
      await whole.start(options(overrides));
      const counts = new Map<string, number>();
      const counting = await begin(t);
      await counting.start({
        ...options(overrides),
        wrap: watching((name) => counts.set(name, (counts.get(name) ?? 0) + 1)),
      });
      for (const [method, share] of moments) {
        const at = 1 + Math.floor(share * (counts.get(method) ?? 0));
        const world = await begin(t);
        const wrap = failing(method, at);
        await assert.rejects(world.start({ ...options(overrides), wrap }), /It broke/, `${method} ${String(at)}`);
        await world.resume(options(overrides));
        assert.deepEqual(rowsOf(world), rowsOf(whole), `${method} ${String(at)}`);
        await world.giveBack();
      }
      await counting.giveBack();
      const input = whole.restoring(options(overrides));
      for (let step = 1; step <= STEPS; step++) {
        assert.equal(await restoreTraining(input, step), snapshotAfter(whole.store, 'run-1', step).id);
        for (const stage of whole.store.stages('run-1', step)) {
          assert.equal(await restoreStage(input, stage), stage.snapshot);
          assert.deepEqual(whole.store.stageOfSnapshot('run-1', stage.snapshot)?.snapshot, stage.snapshot);
        }
      }
      await whole.giveBack();
    }
  });
});
