/** Updates that depend on what the ones before showed: agents in turn, a measured divergence, stop and revert. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { C3Error } from '../../../../src/shared/errors.ts';
import type { Divergence } from '../../../../src/training/divergence.ts';
import { restoreTraining, snapshotAfter } from '../../../../src/training/state/restore.ts';
import { inTurn, type TurnSettings } from '../../../support/inTurn.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../../../unit/training/tinyRun.ts';
import { rowsOf, watching } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => {
  team.remove();
});

const SHARED = [
  'steps=4',
  'checkpoint_every=3',
  'snapshot_every=4',
  'evaluation.instances=0',
  'evaluator_budget=4',
  'fanout=[2, 2]',
];
const PER_ROLE = [...SHARED, 'adapter={per: role, rank: 2}', 'ppo.learning_rate=0.02'];
const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);

interface Turn extends Divergence {
  readonly role: string;
  readonly reverted: boolean;
}

async function run(
  world: TinyRun,
  settings: TurnSettings,
  overrides: readonly string[],
  see: (name: string, args: readonly unknown[]) => void = () => undefined,
): Promise<Turn[]> {
  const turns: Turn[] = [];
  const method = inTurn({
    ...settings,
    onTurn: (role, divergence, reverted) => turns.push({ role, reverted, ...divergence }),
  });
  await world.start({ overrides, evaluation: [], method, wrap: watching(see) });
  return turns;
}

describe('agents that learn in turn', () => {
  it('come to the same rows after an interruption between two updates, and to the same weights when executed again', async (t) => {
    for (const [overrides, loss] of [
      [PER_ROLE, {}],
      [
        [...SHARED, 'ppo.kl_against=last', 'ppo.kl_estimator=exact', 'ppo.kl_coefficient=1'],
        { exact: true, loss: { ratio: 'message', clipLow: 0.1, clipHigh: 0.3 } },
      ],
    ] as const) {
      const settings = { radius: 1e-4, passes: 2, share: 0.5, ...loss };
      const whole = await begin(t);
      const turns = await run(whole, settings, overrides);
      assert.ok(
        turns.some(({ reverted }) => reverted),
        JSON.stringify(turns),
      );
      for (const [method, at] of [
        ['step', 2],
        ['keepTraining', 4],
        ['revertTraining', 1],
        ['step', 7],
        ['freeze', 5],
      ] as const) {
        const world = await begin(t);
        let calls = 0;
        await assert.rejects(
          run(world, settings, overrides, (name) => {
            if (name === method && ++calls === at) {
              throw new C3Error('model', 'It broke.');
            }
          }),
          /It broke/,
          `${method} ${String(at)}`,
        );
        await world.resume({ overrides, evaluation: [], method: inTurn(settings) });
        assert.deepEqual(rowsOf(world), rowsOf(whole), `${method} ${String(at)}`);
        await world.giveBack();
      }
      const input = whole.restoring({ overrides, method: inTurn(settings) });
      for (const step of [1, 2, 4]) {
        assert.equal(await restoreTraining(input, step), snapshotAfter(whole.store, 'run-1', step).id);
      }
    }
  });
});
