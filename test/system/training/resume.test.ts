import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { answerEvaluator, type Evaluator } from '../../../src/evaluate/evaluator.ts';
import type { ModelRuntime } from '../../../src/runtime/modelRuntime.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import { connect } from '../../../src/store/files/sqlite.ts';
import { checkpointPath, listCheckpoints, valueHeadPath } from '../../../src/training/state/checkpoints.ts';
import { findLastIteration, restoreTraining, findSnapshotAfter } from '../../../src/training/state/restore.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { tinyWorld, type TinyRunOptions } from '../../unit/training/tinyRun.ts';
import { makeTeam } from '../../unit/training/tinyTeam.ts';
import { bound, failing, rowsOf, watching } from '../../unit/training/watched.ts';
import { begin, OVERRIDES, resumedAnywhere } from './resumedAnywhere.ts';

// Those whose state differs most: a value head, running statistics, stages of roles.
resumedAnywhere(4, ['teamtr']);

describe('resumeTraining', () => {
  it('gives the rows of a run that was not interrupted where an evaluation has several samples, and none comes before training', async (t) => {
    const overrides = ['steps=1', 'evaluation.samples=3', 'evaluation.before=false', 'evaluation.batch=6'];
    const whole = await begin(t);
    const summary = await whole.start({ overrides });
    assert.deepEqual([summary.accuracy.before, summary.accuracy.difference, summary.passAt1.after?.n], [null, null, 6]);
    assert.equal(summary.evaluatorCalls + (summary.reusedEvaluations ?? 0), 24 + 6 + 18);
    for (const at of [3, 5, 8]) {
      const world = await begin(t);
      await assert.rejects(world.start({ overrides, wrap: failing('generate', at) }), /It broke/, String(at));
      const { passAt1 } = await world.resume({ overrides });
      assert.deepEqual(passAt1, summary.passAt1);
      assert.deepEqual(rowsOf(world), rowsOf(whole), String(at));
      await world.giveBack();
    }
  });

  it('continues after a cancel, and after several', async (t) => {
    const whole = await begin(t);
    const summary = await whole.start({ overrides: OVERRIDES });
    const world = await begin(t);
    const until = (steps: number): TinyRunOptions => ({
      overrides: OVERRIDES,
      control: {
        signal: makeSignalAbortedWhen(() =>
          world.progress.some(({ stage, done }) => stage === 'train' && done >= steps),
        ),
      },
    });
    await assert.rejects(world.start(until(1)), CancelledError);
    await assert.rejects(world.resume(until(3)), CancelledError);
    assert.deepEqual([world.store.run('run-1').status, world.store.run('run-1').steps], ['cancelled', 3]);
    const resumed = await world.resume({ overrides: OVERRIDES });
    assert.deepEqual(rowsOf(world), rowsOf(whole));
    const { seconds, ...same } = resumed;
    const { seconds: wholeSeconds, ...expected } = summary;
    assert.deepEqual({ ...same, store: '', lostEvaluatorCalls: 0 }, { ...expected, store: '' });
    assert.ok(seconds > 0 && wholeSeconds > 0);
  });

  it('counts evaluator calls that were made and lost apart from those whose results are stored', async (t) => {
    const world = await begin(t);
    let calls = 0;
    const breaking: Evaluator = {
      name: 'breaking',
      evaluate: (problem, text) => {
        // Two evaluations of six problems, one iteration of 24 episodes, then the fifth of the next.
        if (++calls === 12 + 24 + 5) {
          throw new C3Error('engine', 'The evaluator broke.');
        }
        return answerEvaluator.evaluate(problem, text);
      },
    };
    await assert.rejects(world.start({ evaluator: breaking, reuse: false }), /The evaluator broke/);
    assert.equal(world.store.account('run-1')?.pendingCalls, 24);
    const summary = await world.resume({ evaluator: breaking, reuse: false });
    assert.deepEqual([summary.evaluatorCalls, summary.lostEvaluatorCalls], [12 + 48 + 12, 24]);
    // What was sampled beside the fifth may have been scored too, and was lost with it.
    assert.ok(calls >= 12 + 48 + 12 + 5 && calls <= 12 + 48 + 12 + 24);
    assert.deepEqual([world.store.account('run-1')?.pendingCalls, world.store.account('run-1')?.lostCalls], [0, 24]);
  });

  it('does not sample or evaluate again what is stored', async (t) => {
    const world = await begin(t);
    await assert.rejects(world.start({ overrides: OVERRIDES, wrap: failing('step', 4) }), /It broke/);
    const stored = world.store.counts();
    let generated = 0;
    const wrap = watching((name) => (generated += name === 'generate' ? 1 : 0));
    await world.resume({ overrides: [...OVERRIDES, 'evaluation.instances=0'], evaluation: [], wrap });
    // The fourth step's messages were there: one iteration of two levels was sampled, no evaluation.
    assert.equal(generated, 2);
    assert.ok(world.store.counts().messages > stored.messages);
  });

  it('refuses another model and another numeric environment, and changes nothing', async (t) => {
    const world = await begin(t);
    await assert.rejects(world.start({ wrap: failing('step', 1) }), /It broke/);
    const stored = rowsOf(world);
    const elsewhere = (runtime: ModelRuntime): ModelRuntime =>
      new Proxy(runtime, {
        get: (target, name): unknown =>
          name === 'environment' ? { ...target.environment, device: 'Another processor' } : bound(target, name),
      });
    await assert.rejects(
      world.resume({ wrap: elsewhere }),
      /cannot be resumed exactly: it was made with .* and this is .*Another processor/,
    );
    const other = join(world.snapshotFolder, 'other');
    await makeTeam(other, { seed: 2, steps: 0 });
    const stranger = await tinyWorld(t, other);
    await assert.rejects(stranger.resume(), /There is no run run-1|no snapshot of its beginning/);
    const db = connect(world.store.path, 'write');
    db.prepare("UPDATE snapshot SET weights = 'another' WHERE iteration = 0").run();
    await assert.rejects(world.resume(), /the model in .* is no longer the one that it began with/);
    db.prepare('UPDATE snapshot SET weights = ? WHERE iteration = 0').run(world.base);
    db.close();
    assert.deepEqual(rowsOf(world), stored);
    assert.equal((await world.resume()).steps, 2);
  });
});

describe('checkpoints and snapshots', () => {
  it('keeps the newest two checkpoints, one for every stretch of snapshots that are not kept, and the weights that were asked for', async (t) => {
    for (const [every, iterations, files] of [
      [1, [8, 6], [1, 2, 3, 4, 5, 6, 7, 8, 9]],
      [2, [8, 6, 4, 2], [2, 4, 6, 8, 9]],
      [3, [8, 6, 4], [3, 6, 9]],
      [9, [8, 6], [9]],
    ] as const) {
      const { start, store, snapshotFolder } = await begin(t);
      await start({
        overrides: ['steps=9', 'checkpoint_every=2', `snapshot_every=${every}`, 'evaluation.instances=0'],
        evaluation: [],
      });
      assert.deepEqual(await listCheckpoints(snapshotFolder, 'run-1'), iterations);
      assert.deepEqual(await listCheckpoints(snapshotFolder, 'run-2'), []);
      const kept = store
        .snapshotsOfRun('run-1')
        .flatMap(({ file, iteration }) => (file !== null && existsSync(file) ? [iteration] : []));
      assert.deepEqual(kept, files);
    }
  });

  it('rebuilds every snapshot of a run from what is stored, from the nearest checkpoint or from the beginning', async (t) => {
    const { start, store, snapshotFolder, restoring } = await begin(t);
    const overrides = ['steps=7', 'checkpoint_every=3', 'snapshot_every=7', 'ppo.epochs=2', 'evaluation.instances=0'];
    await start({ overrides, evaluation: [] });
    const again: number[] = [];
    const input = { ...restoring({ overrides }), onStep: (step: number) => again.push(step) };
    const rebuild = async (iteration: number): Promise<number[]> => {
      again.length = 0;
      assert.equal(await restoreTraining(input, iteration), findSnapshotAfter(store, 'run-1', iteration).id);
      return [...again];
    };
    assert.equal(
      new Set([0, 1, 2, 3, 4, 5, 6, 7].map((iteration) => findSnapshotAfter(store, 'run-1', iteration).id)).size,
      8,
    );
    assert.deepEqual(
      [await rebuild(0), await rebuild(2), await rebuild(3), await rebuild(5), await rebuild(7)],
      [[], [1, 2], [], [4, 5], [7]],
    );
    // A damaged checkpoint, a cut one and one of other weights are passed over.
    const third = checkpointPath(snapshotFolder, 'run-1', 3);
    const sixth = checkpointPath(snapshotFolder, 'run-1', 6);
    const bytes = readFileSync(sixth);
    writeFileSync(sixth, Buffer.from(bytes).fill(bytes.at(-5) === 0 ? 1 : 0, bytes.length - 8));
    assert.deepEqual(await rebuild(7), [4, 5, 6, 7]);
    truncateSync(sixth, 100);
    assert.deepEqual(await rebuild(6), [4, 5, 6]);
    writeFileSync(sixth, readFileSync(third));
    assert.deepEqual(await rebuild(6), [4, 5, 6]);
    rmSync(third);
    assert.deepEqual(await rebuild(4), [1, 2, 3, 4]);
    // Any other fault is no damage of a checkpoint, and ends the work.
    const broken = watching((name) => {
      if (name === 'loadCheckpoint') {
        throw new C3Error('engine', 'The worker has stopped.');
      }
    });
    await assert.rejects(restoreTraining({ ...input, runtime: broken(input.runtime) }, 7), /The worker has stopped/);
    // What cannot be executed again exactly is no snapshot of the run.
    await assert.rejects(
      restoreTraining({ ...input, config: { ...input.config, ppo: { ...input.config.ppo, learning_rate: 1e-3 } } }, 2),
      /executed again, gave the weights [0-9a-f]{12} where [0-9a-f]{12} are stored/,
    );
  });

  it('keeps the value head of the weights that it keeps, and gives it again when they are rebuilt', async (t) => {
    const overrides = ['method=mappo', 'steps=5', 'checkpoint_every=2', 'snapshot_every=2', 'evaluation.instances=0'];
    const { start, store, snapshotFolder, host, base, restoring } = await begin(t);
    const kept: [string, number[]][] = [];
    const states = [{ role: 'actor', tokens: Int32Array.of(5, 7, 9) }];
    const wrap = (runtime: ModelRuntime): ModelRuntime =>
      new Proxy(runtime, {
        get: (target, name): unknown =>
          name !== 'saveValueHead'
            ? bound(target, name)
            : async (snapshot: string, path: string) => {
                // The rows that name the weights come after.
                assert.ok(!store.snapshotsOfRun('run-1').some(({ id }) => id === snapshot));
                kept.push([path, await target.values(states, new AbortController().signal)]);
                await target.saveValueHead(snapshot, path);
              },
      });
    await start({ overrides, evaluation: [], wrap });
    assert.deepEqual(
      kept.map(([path]) => path),
      [2, 4, 5].map((iteration) => valueHeadPath(snapshotFolder, 'run-1', iteration)),
    );
    for (const [index, [path, values]] of kept.entries()) {
      const iteration = [2, 4, 5][index] ?? 0;
      const snapshot = await restoreTraining(restoring({ overrides }), iteration);
      assert.equal(findLastIteration(store, 'run-1', snapshot), iteration);
      assert.deepEqual(await host.valuesUnder(snapshot, path, states, new AbortController().signal), values);
      const bytes = readFileSync(path);
      rmSync(path);
      await host.saveValueHead(snapshot, path);
      assert.deepEqual(readFileSync(path), bytes);
    }
    // In the first step the head learns alone.
    assert.deepEqual(
      [findLastIteration(store, 'run-1', base), findLastIteration(store, 'run-1', 'another')],
      [1, null],
    );
  });

  it('keeps a head of each step where the weights stay the same', async (t) => {
    const world = await begin(t);
    await world.start({
      overrides: ['method=mappo', 'steps=3', 'ppo.learning_rate=1e-30', 'evaluation.instances=0'],
      evaluation: [],
    });
    const { store, base, host, snapshotFolder } = world;
    assert.deepEqual(
      [store.snapshotsOfRun('run-1').map(({ id }) => id), findLastIteration(store, 'run-1', base)],
      [[base], 3],
    );
    const values = await Promise.all(
      [1, 2, 3].map((iteration) =>
        host.valuesUnder(
          base,
          valueHeadPath(snapshotFolder, 'run-1', iteration),
          [{ tokens: Int32Array.of(5, 7, 9) }],
          new AbortController().signal,
        ),
      ),
    );
    assert.equal(new Set(values.flat()).size, 3);
    // An earlier step's weights, where another one follows.
    const other = await begin(t);
    await other.start({ overrides: ['method=mappo', 'steps=3', 'evaluation.instances=0'], evaluation: [] });
    assert.deepEqual(
      other.store.snapshotsOfRun('run-1').map(({ id }) => findLastIteration(other.store, 'run-1', id)),
      [1, 2, 3],
    );
  });
});
