/** Training that breaks anywhere and is resumed, and what tests of that share. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { ModelRuntime } from '../../../src/runtime/modelRuntime.ts';
import { METHOD_NAMES, type MethodName } from '../../../src/training/methods/methods.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../../unit/training/tinyRun.ts';
import { failing, rowsOf } from '../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

export const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);
export const OVERRIDES = ['steps=5', 'checkpoint_every=2', 'snapshot_every=2', 'evaluation.batch=4'];

/** The value heads that were kept, by the names of their files. */
const heads = ({ snapshotFolder }: TinyRun): Record<string, string> =>
  Object.fromEntries(
    readdirSync(snapshotFolder)
      .filter((name) => name.startsWith('value-head-'))
      .sort()
      .map((name) => [name, readFileSync(join(snapshotFolder, name), 'base64')]),
  );

const finalWeights = ({ store }: TinyRun): string => store.snapshotsOfRun('run-1').at(-1)?.id ?? '';

/**
 * @param apart one of so many places at which a run can break is tried, for each method
 * @param methods beside C3, with and without values
 */
export function resumedAnywhere(apart: number, methods: readonly MethodName[] = METHOD_NAMES): void {
  describe('a run that broke', () => {
    it('gives the rows and weights of a run that was not interrupted, wherever it was', async (t) => {
      const whole = await begin(t);
      await whole.start({ overrides: OVERRIDES });
      const broken: readonly (readonly [keyof ModelRuntime, number])[] = [
        // The first batch of an evaluation, its second one, sampling in step 3, an optimiser step whose messages are
        // stored, and every file that is written.
        ['generate', 1],
        ['generate', 4],
        ['generate', 13],
        ['step', 1],
        ['step', 4],
        ['saveSnapshot', 1],
        ['saveSnapshot', 3],
        ['saveCheckpoint', 1],
        ['saveCheckpoint', 2],
        ['generate', 22],
      ];
      for (const [method, at] of broken.filter((_, place) => place % apart === 0)) {
        const world = await begin(t);
        await assert.rejects(
          world.start({ overrides: OVERRIDES, wrap: failing(method, at) }),
          /It broke/,
          `${method} ${at}`,
        );
        assert.equal(world.store.run('run-1').status, 'failed');
        await world.resume({ overrides: OVERRIDES });
        assert.equal(finalWeights(world), finalWeights(whole), `${method} ${at}`);
        assert.deepEqual(rowsOf(world), rowsOf(whole), `${method} ${at}`);
        await world.giveBack();
      }
    });

    for (const [turn, { name, method, more }] of [
      ...methods.flatMap((one) => (one === 'c3' ? [] : [{ name: one, method: one, more: [] }])),
      { name: 'value-assisted c3', method: 'c3', more: ['credit.estimator=value_assisted'] },
      { name: 'two-level c3', method: 'c3', more: ['credit.estimator=loo_two_level'] },
      { name: 'c3 with a chosen shape', method: 'c3', more: ['shape=auto'] },
    ].entries()) {
      it(`does so for the method ${name}`, async (t) => {
        const overrides = [...OVERRIDES, `method=${method}`, ...more];
        const whole = await begin(t);
        await whole.start({ overrides });
        // Nothing is sampled or learned where nothing is trained: there are the evaluations only.
        const broken: readonly (readonly [keyof ModelRuntime, number])[] =
          method === 'sft'
            ? [
                ['generate', 1],
                ['generate', 6],
              ]
            : [
                ['generate', 4],
                ['generate', 13],
                ['step', 1],
                ['step', 4],
                ['saveCheckpoint', 2],
                ['generate', 22],
              ];
        const ofValues: [keyof ModelRuntime, number][] =
          method === 'mappo' || name === 'value-assisted c3'
            ? [
                ['values', 1],
                ['values', 4],
                ['learnValues', 2],
                ['learnValues', 5],
              ]
            : [];
        if (method === 'mappo') {
          ofValues.push(['saveValueHead', 1], ['saveValueHead', 3], ['saveSnapshot', 2]);
        }
        // Methods begin at different places: one that they share is tried in some of them.
        const places = [...broken, ...ofValues].filter((_, place) => place % apart === turn % apart);
        for (const [failed, at] of places) {
          const world = await begin(t);
          await assert.rejects(world.start({ overrides, wrap: failing(failed, at) }), /It broke/, `${failed} ${at}`);
          await world.resume({ overrides });
          assert.equal(finalWeights(world), finalWeights(whole), `${failed} ${at}`);
          assert.deepEqual(rowsOf(world), rowsOf(whole), `${failed} ${at}`);
          await world.giveBack();
          assert.deepEqual(heads(world), heads(whole), `${failed} ${at}`);
        }
        assert.equal(finalWeights(whole) === whole.base, method === 'sft');
        assert.equal(Object.keys(heads(whole)).length, method === 'mappo' ? 3 : 0);
      });
    }
  });
}
