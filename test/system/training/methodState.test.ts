/** Messages that are only measured, and what a method carries from step to step. */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { C3Error } from '../../../src/shared/errors.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { magrpo } from '../../../src/training/methods/magrpo.ts';
import type { Method } from '../../../src/training/methods/method.ts';
import { restoreTraining, findSnapshotAfter } from '../../../src/training/state/restore.ts';
import { runningStatistics, readRunningStatistics } from '../../support/runningStatistics.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../../unit/training/tinyRun.ts';
import { failing, rowsOf, watchingSteps } from '../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const OVERRIDES = ['steps=5', 'checkpoint_every=2', 'snapshot_every=2', 'evaluation.instances=0'];
const OPTIONS = { overrides: OVERRIDES, evaluation: [], method: runningStatistics };
const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);

describe('messages that are only measured', () => {
  it('are scored and stored, and neither learned from nor counted in the mean return', async (t) => {
    const world = await begin(t);
    const learned: string[] = [];
    const wrap = watchingSteps((contexts) => {
      for (const { messages } of contexts) {
        for (const { tokens } of messages) {
          learned.push([...tokens].join());
        }
      }
    });
    const summary = await world.start({ ...OPTIONS, overrides: [...OVERRIDES, 'steps=1'], wrap });
    const { store } = world;
    assert.equal(summary.evaluatorCalls + (summary.reusedEvaluations ?? 0), 3 * (3 + 2));
    const { messages } = store.transcript({
      run: 'run-1',
      phase: 'train',
      iteration: 1,
      problem: store.episodes({ run: 'run-1', phase: 'train', iteration: 1, offset: 0, limit: 1 })[0]?.problem ?? '',
      offset: 0,
      limit: 100,
    });
    assert.deepEqual(
      [messages.length, messages.filter(({ trainingCredit }) => trainingCredit !== null).length],
      [10, 6],
    );
    assert.equal(learned.length, 3 * 3 * 2);
    const returns = store.learnedReturns('run-1', 1);
    assert.deepEqual([returns.length, store.countEpisodes({ run: 'run-1', phase: 'train', iteration: 1 })], [9, 15]);
    assert.equal(
      store.steps('run-1', 0, 1)[0]?.metrics?.meanReturn,
      returns.reduce<number>((sum, one) => sum + (one ?? NaN), 0) / 9,
    );
    // No two rollouts draw the same numbers.
    const streams = messages.map(({ id }) => store.fullMessage(id).streamKey);
    assert.equal(new Set(streams).size, streams.length);
  });
});

describe('the state of a method', () => {
  it('goes from step to step, and is stored with each', async (t) => {
    const seen: number[] = [];
    const method: Method = {
      ...runningStatistics,
      credit: (step) => {
        seen.push(readRunningStatistics(step.state).statistics.steps);
        return runningStatistics.credit(step);
      },
    };
    const { start, store } = await begin(t);
    await start({ ...OPTIONS, method });
    assert.deepEqual(seen, [0, 1, 2, 3, 4]);
    const states = [1, 2, 3, 4, 5].map((step) => store.methodState('run-1', step) ?? assert.fail());
    assert.deepEqual(
      states.map((state) => readRunningStatistics(state).history.length),
      [1, 2, 3, 4, 5],
    );
    assert.equal(new Set(states.map((state) => readRunningStatistics(state).statistics.mean)).size, 5);
    assert.deepEqual(
      [store.methodState('run-1', 0), store.methodState('run-1', 6), store.methodState('other', 1)],
      [null, null, null],
    );
  });

  it('is the same after an interruption, wherever it was', async (t) => {
    const whole = await begin(t);
    await whole.start(OPTIONS);
    for (const [method, at] of [
      ['generate', 1],
      ['generate', 7],
      ['step', 1],
      ['step', 3],
      ['step', 5],
      ['saveCheckpoint', 1],
    ] as const) {
      const world = await begin(t);
      await assert.rejects(world.start({ ...OPTIONS, wrap: failing(method, at) }), /It broke/, `${method} ${at}`);
      await world.resume(OPTIONS);
      assert.deepEqual(rowsOf(world), rowsOf(whole), `${method} ${at}`);
      await world.giveBack();
    }
  });

  it('leads to the same weights when steps are executed again', async (t) => {
    const { start, store, restoring } = await begin(t);
    await start(OPTIONS);
    const input = restoring(OPTIONS);
    for (const step of [1, 3, 5]) {
      assert.equal(await restoreTraining(input, step), findSnapshotAfter(store, 'run-1', step).id);
    }
  });

  it('of another version or method stops a run with one sentence, and nothing is lost', async (t) => {
    const world = await begin(t);
    await assert.rejects(world.start({ ...OPTIONS, wrap: failing('step', 3) }), /It broke/);
    const before = rowsOf(world);
    const state = runningStatistics.state?.(readConfig('', 'defaults')) ?? assert.fail();
    for (const [kind, words] of [
      [
        { ...state, version: 2 },
        /after step 2 of run run-1 is running-statistics, version 1, and this is running-statistics, version 2: nothing was changed/,
      ],
      [{ ...state, name: 'other' }, /is running-statistics, version 1, and this is other, version 1/],
    ] as const) {
      await assert.rejects(
        world.resume({ ...OPTIONS, method: { ...runningStatistics, state: () => kind } }),
        (error) =>
          error instanceof C3Error &&
          error.kind === 'input' &&
          words.test(error.message) &&
          !error.message.includes('\n'),
      );
      assert.deepEqual(rowsOf(world), before);
    }
    const without = await begin(t);
    await assert.rejects(without.start({ ...OPTIONS, method: magrpo, wrap: failing('generate', 7) }), /It broke/);
    await assert.rejects(without.resume(OPTIONS), /has no state running-statistics after step \d of run run-1/);
    await world.resume(OPTIONS);
    assert.equal(world.store.run('run-1').status, 'done');
  });

  it('is refused where it cannot be stored, with the messages of its step', async (t) => {
    for (const [json, tensors, words] of [
      [{ mean: [NaN] }, {}, /A number in the state running-statistics after step 1 of run run-1 is NaN/],
      [
        null,
        { a: { shape: [2], data: Float32Array.of(1) } },
        /The tensor a of the state .* has 1 numbers for the shape \[2\]/,
      ],
      [null, { a: { shape: [1], data: Float32Array.of(Infinity) } }, /not finite/],
    ] as const) {
      const { start, store } = await begin(t);
      const method: Method = {
        ...runningStatistics,
        credit: (step) => ({ ...runningStatistics.credit(step), state: { json, tensors } }),
      };
      await assert.rejects(start({ ...OPTIONS, method }), words);
      assert.deepEqual(
        [store.countEpisodes({ run: 'run-1', phase: 'train', iteration: 1 }), store.methodState('run-1', 1)],
        [0, null],
      );
    }
  });
});
