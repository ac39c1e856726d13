/** Method teamtr: its turns update by update, and what a whole run stores, learns from and comes back to. */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Json } from '../../../../src/domain/episode.ts';
import type { ModelRuntime } from '../../../../src/runtime/modelRuntime.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../../../unit/training/tinyRun.ts';
import { sums } from '../../../unit/training/tinyTeam.ts';
import { rowsOf, watching } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const STEPS = 3;
const RUN = [
  'method=teamtr',
  `steps=${STEPS}`,
  'checkpoint_every=2',
  'evaluation.instances=0',
  'adapter={per: role, rank: 2}',
  'ppo.learning_rate=0.02',
  'teamtr.delta=0.05',
  'teamtr.kl_estimator=exact',
];

interface Learned {
  readonly roles: readonly (string | undefined)[];
  readonly advantages: readonly number[];
  readonly weight: number;
}

const start = (world: TinyRun, wrap?: (runtime: ModelRuntime) => ModelRuntime, overrides: readonly string[] = RUN) =>
  world.start({ evaluation: [], train: sums(3), overrides, ...(wrap !== undefined && { wrap }) });

async function learnedIn(world: TinyRun, overrides: readonly string[] = RUN): Promise<Learned[]> {
  const learned: Learned[] = [];
  await start(
    world,
    watching((name, args) => {
      if (name !== 'step') {
        return;
      }
      const [contexts, { klCoefficient }] = args as Parameters<ModelRuntime['step']>;
      const messages = contexts.flatMap((context) => context.messages);
      const length = messages.reduce((sum, { tokens }) => sum + tokens.length, 0) / messages.length;
      learned.push({
        roles: [...new Set(contexts.map(({ role }) => role))],
        advantages: messages.map(({ advantages, tokens }) => ((advantages[0] ?? NaN) * tokens.length) / length),
        weight: klCoefficient / length,
      });
    }),
    overrides,
  );
  return learned;
}

describe('a run of teamtr', () => {
  it('comes to the same rows and weights wherever it was interrupted', async (t: TestContext) => {
    const whole = await tinyWorld(t, team.folder);
    const counts = new Map<string, number>();
    await start(
      whole,
      watching((name) => counts.set(name, (counts.get(name) ?? 0) + 1)),
    );
    for (const [method, share] of [
      ['generate', 0.3],
      ['generate', 0.8],
      ['step', 0.2],
      ['step', 0.9],
      ['divergence', 0.5],
      ['divergence', 0.95],
      ['saveCheckpoint', 0],
    ] as const) {
      const at = 1 + Math.floor(share * (counts.get(method) ?? 0));
      const world = await tinyWorld(t, team.folder);
      let calls = 0;
      const breaking = watching((name) => {
        if (name === method && ++calls === at) {
          throw new C3Error('model', 'It broke.');
        }
      });
      await assert.rejects(start(world, breaking), /It broke/u, `${method} ${at}`);
      await world.resume({ evaluation: [], train: sums(3), overrides: RUN });
      assert.deepEqual(rowsOf(world), rowsOf(whole), `${method} ${at}`);
      await world.giveBack();
    }
  });

  it('learns its order, and what stale episodes count, the same after an interruption', async (t: TestContext) => {
    const own = [...RUN, 'teamtr.order=gain', 'teamtr.resample_every=null', 'teamtr.reuse=weighted'];
    const whole = await tinyWorld(t, team.folder);
    const learned = await learnedIn(whole, own);
    const gainsAt = (step: number) => (whole.store.methodState('run-1', step)?.json as { readonly gain: Json }).gain;
    assert.deepEqual(Object.keys(gainsAt(2) ?? {}).toSorted(), ['actor', 'reasoner']);
    assert.notDeepEqual(gainsAt(2), gainsAt(3), 'what it learned of the roles goes with each step');
    for (const at of [0.3, 0.9]) {
      const world = await tinyWorld(t, team.folder);
      let calls = 0;
      const breaking = watching((name) => {
        if (name === 'step' && ++calls === 1 + Math.floor(at * learned.length)) {
          throw new C3Error('model', 'It broke.');
        }
      });
      await assert.rejects(start(world, breaking, own), /It broke/u);
      await world.resume({ evaluation: [], train: sums(3), overrides: own });
      assert.deepEqual(rowsOf(world), rowsOf(whole), String(at));
      await world.giveBack();
    }
  });
});
