/** Updates that depend on what the ones before showed: roles in turn, a measured divergence, stop and revert. */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { TrainingContext } from '../../../../src/runtime/train/graph/pack.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import type { Divergence } from '../../../../src/training/divergence.ts';
import { restoreTraining, findSnapshotAfter } from '../../../../src/training/state/restore.ts';
import { inTurn, type TurnSettings } from '../../../support/inTurn.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../../../unit/training/tinyRun.ts';
import { rowsOf, watching } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

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

describe('roles that learn in turn', () => {
  it('learn each from its own messages, at its own rate, as far as they may move', async (t) => {
    const world = await begin(t);
    const learned: [string, number][] = [];
    const turns = await run(world, { radius: 1e9, passes: 2, share: 0 }, PER_ROLE, (name, args) => {
      if (name !== 'step') {
        return;
      }
      const [contexts, { learningRate }] = args as [readonly TrainingContext[], { readonly learningRate: number }];
      learned.push([[...new Set(contexts.map(({ role }) => role))].join(), learningRate]);
    });
    const order = [
      ['reasoner', 'actor'],
      ['actor', 'reasoner'],
      ['reasoner', 'actor'],
      ['actor', 'reasoner'],
    ];
    assert.deepEqual(
      turns.map(({ role, messages }) => [role, messages]),
      order.flat().map((role) => [role, 12]),
    );
    assert.deepEqual(
      learned,
      order.flatMap(([first = '', second = '']) => [
        [first, 0.02],
        [first, 0.02],
        [second, 0.04],
        [second, 0.04],
      ]),
    );
    assert.ok(
      turns.some(({ k3 }) => k3 > 0),
      JSON.stringify(turns),
    );
    // What is measured is let go of.
    assert.deepEqual(
      [...(await world.host.snapshots())].sort(),
      [world.base, findSnapshotAfter(world.store, 'run-1', 4).id].sort(),
    );
  });

  it('are taken back where they moved too far, whole or by a share, and stop there', async (t) => {
    for (const overrides of [PER_ROLE, SHARED]) {
      const world = await begin(t);
      let steps = 0;
      const turns = await run(world, { radius: 0, passes: 3, share: 0 }, overrides, (name) => {
        if (name === 'step') {
          steps++;
        }
      });
      assert.ok(turns.every(({ reverted, k3 }) => reverted === k3 > 0));
      assert.ok(turns.some(({ reverted }) => reverted));
      assert.ok(steps < 3 * turns.length);
      // All that moved went back: the run ends at the weights that it began with.
      assert.equal(findSnapshotAfter(world.store, 'run-1', 4).id, world.base);
      const half = await begin(t);
      await run(half, { radius: 0, passes: 3, share: 0.5 }, overrides);
      const free = await begin(t);
      await run(free, { radius: 1e9, passes: 3, share: 0 }, overrides);
      assert.equal(new Set([world, half, free].map(({ store }) => findSnapshotAfter(store, 'run-1', 4).id)).size, 3);
      for (const { giveBack } of [world, half, free]) {
        await giveBack();
      }
    }
  });

  it('may be held near the policy that sampled, or the first one, over the whole vocabulary', async (t) => {
    const ends = new Set<string>();
    for (const overrides of [PER_ROLE, SHARED]) {
      for (const kl of [[], ['last', 'k3'], ['last', 'exact'], ['reference', 'exact']]) {
        const [against, estimator] = kl;
        const keys =
          kl.length === 0 ? [] : [`ppo.kl_against=${String(against)}`, `ppo.kl_estimator=${String(estimator)}`];
        const world = await begin(t);
        const turns = await run(world, { radius: 1e9, passes: 2, share: 0, exact: estimator === 'exact' }, [
          ...overrides,
          ...keys,
          'ppo.kl_coefficient=2',
        ]);
        ends.add(findSnapshotAfter(world.store, 'run-1', 4).id);
        const penalties = world.store.steps('run-1', 0, 4).map(({ metrics }) => metrics?.penalty);
        assert.equal(
          penalties.every((one) => one === undefined),
          kl.length === 0,
        );
        assert.ok(kl.length === 0 || penalties.some((one) => one !== undefined && one > 0), JSON.stringify(penalties));
        for (const { exact, k3 } of turns) {
          assert.equal(exact !== undefined, estimator === 'exact');
          assert.ok(exact === undefined || (exact >= 0 && exact > 0 === k3 > 0), JSON.stringify(turns));
        }
      }
    }
    assert.equal(ends.size, 8);
  });

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
          `${method} ${at}`,
        );
        await world.resume({ overrides, evaluation: [], method: inTurn(settings) });
        assert.deepEqual(rowsOf(world), rowsOf(whole), `${method} ${at}`);
        await world.giveBack();
      }
      const input = whole.restoring({ overrides, method: inTurn(settings) });
      for (const step of [1, 2, 4]) {
        assert.equal(await restoreTraining(input, step), findSnapshotAfter(whole.store, 'run-1', step).id);
      }
    }
  });

  it('go back to what their own step kept only, and end their generator where an update fails', async (t) => {
    const world = await begin(t);
    let ended = 0;
    const method = inTurn({ radius: 1, passes: 1, share: 0 });
    await assert.rejects(
      world.start({
        overrides: SHARED,
        evaluation: [],
        method: {
          ...method,
          *updates({ iteration }) {
            try {
              if (iteration === 1) {
                yield { kind: 'keep' };
              }
              yield { kind: 'revert', share: 0 };
            } finally {
              ended++;
            }
          },
        },
      }),
      /Step 2 of run run-1 restores weights that it did not save/,
    );
    assert.equal(ended, 2);
  });
});
