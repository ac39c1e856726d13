/** What a runtime does with adapters: training, snapshots, checkpoints and folders, in this thread and in a worker. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { ModelHost } from '../../../src/runtime/host.ts';
import { initialParameters, saveModel } from '../../../src/runtime/model/model.ts';
import type { AdapterStart, ModelRuntime } from '../../../src/runtime/modelRuntime.ts';
import { startRuntime } from '../../../src/runtime/remote.ts';
import type { StepSettings } from '../../../src/runtime/train/trainingState.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { context, DEVICE, request, RUNNING, testParameters, TINY } from '../../unit/runtime/models.ts';
import { range } from '../../unit/runtime/nd.ts';

const STEP: StepSettings = { loss: 'supervised', learningRate: 0.02, temperature: 1, klCoefficient: 0 };
const CONTEXTS = [context('a', 4, 3, 2), context('b', 6, 5)];
const NEVER = new AbortController().signal;
const ADAPTER: AdapterStart = { settings: { rank: 2, alpha: 4, targetModules: ['k_proj', 'up_proj'] }, seed: 9 };

let temporary: string;
let model: string;
let stranger: string;
before(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'c3-host-'));
  [model, stranger] = [join(temporary, 'model'), join(temporary, 'stranger')];
  await saveModel(model, { config: TINY, parameters: testParameters(TINY) }, 'F32');
  await saveModel(stranger, { config: TINY, parameters: initialParameters(TINY, 1) }, 'F32');
});
after(() => rm(temporary, { recursive: true, force: true }));

const RUNTIMES: Readonly<Record<string, () => Promise<ModelRuntime>>> = {
  'this thread': () => Promise.resolve(new ModelHost(DEVICE)),
  'a worker': () => startRuntime(new URL('../../../src/engine/worker.ts', import.meta.url), DEVICE),
};

async function runtimeOf(t: TestContext, start = RUNTIMES['this thread']): Promise<ModelRuntime> {
  if (start === undefined) {
    throw new Error('There is no such runtime.');
  }
  const runtime = await start();
  t.after(() => runtime.close());
  return runtime;
}

const says =
  (pattern: RegExp) =>
  (error: unknown): boolean =>
    error instanceof C3Error && error.kind === 'model' && pattern.test(error.message);

for (const [name, start] of Object.entries(RUNTIMES)) {
  describe(`adapters in ${name}`, () => {
    it('begin as the base, move off it, and come back from file and folder bit for bit, also when the base was let go', async (t) => {
      const runtime = await runtimeOf(t, start);
      const { snapshot: base } = await runtime.load(model);
      await runtime.beginTraining(base, ADAPTER);
      assert.equal(await runtime.freeze(), base);
      const { loss } = await runtime.step(CONTEXTS, STEP, NEVER);
      assert.ok((await runtime.step(CONTEXTS, STEP, NEVER)).loss < loss);
      const trained = await runtime.freeze();
      assert.notEqual(trained, base);
      assert.deepEqual([...(await runtime.snapshots())].sort(), [base, trained].sort());
      const requests = range(3).map((index) => request(`adapter ${index}`, 3 + index, 8));
      const observe = async (): Promise<unknown> => [
        await runtime.generate(trained, requests, RUNNING),
        await runtime.score(trained, CONTEXTS, 0.75, NEVER),
      ];
      const before = await observe();
      assert.notDeepEqual(
        await runtime.score(base, CONTEXTS, 0.75, NEVER),
        await runtime.score(trained, CONTEXTS, 0.75, NEVER),
      );

      const [file, folder] = [join(temporary, `${name}.safetensors`), join(temporary, `${name} adapter`)];
      await runtime.saveSnapshot(trained, file);
      await runtime.saveAdapter(trained, folder, model);
      await runtime.saveSnapshot(base, join(temporary, 'whole.safetensors'));
      assert.ok((await stat(file)).size < (await stat(join(temporary, 'whole.safetensors'))).size / 2);
      for (const load of [
        (): Promise<string> => runtime.loadSnapshot(file),
        (): Promise<string> => runtime.loadAdapter(folder, base),
      ]) {
        for (const held of await runtime.snapshots()) {
          await runtime.releaseSnapshot(held);
        }
        assert.equal(await load(), trained);
        assert.deepEqual(await observe(), before);
      }
    });

    it('go on from a checkpoint to the same weights', async (t) => {
      const [straight, later] = [await runtimeOf(t, start), await runtimeOf(t, start)];
      const path = join(temporary, `${name} checkpoint`);
      await straight.beginTraining((await straight.load(model)).snapshot, ADAPTER);
      await straight.step(CONTEXTS, STEP, NEVER);
      const first = await straight.freeze();
      await straight.saveCheckpoint(path);
      await straight.step(CONTEXTS, STEP, NEVER);
      await later.load(model);
      assert.equal(await later.loadCheckpoint(path), first);
      await later.step(CONTEXTS, STEP, NEVER);
      assert.equal(await later.freeze(), await straight.freeze());
      assert.notEqual(await later.freeze(), first);
    });
  });
}

describe('adapters that are refused', () => {
  it('over other weights, by file, folder and checkpoint', async (t) => {
    const [runtime, other] = [await runtimeOf(t), await runtimeOf(t)];
    const { snapshot: base } = await runtime.load(model);
    await runtime.beginTraining(base, ADAPTER);
    await runtime.step(CONTEXTS, STEP, NEVER);
    const trained = await runtime.freeze();
    const [file, folder, checkpoint] = [
      join(temporary, 'a.safetensors'),
      join(temporary, 'a'),
      join(temporary, 'a.checkpoint'),
    ];
    await runtime.saveSnapshot(trained, file);
    await runtime.saveAdapter(trained, folder, null);
    await runtime.saveCheckpoint(checkpoint);
    const { snapshot } = await other.load(stranger);
    const unknown = new RegExp(`trained over the weights ${base.slice(0, 12)}, which are not loaded`);
    await assert.rejects(other.loadSnapshot(file), says(unknown));
    await assert.rejects(
      other.loadAdapter(folder, snapshot),
      says(new RegExp(`was trained over the weights ${base.slice(0, 12)}, not over ${snapshot.slice(0, 12)}`)),
    );
    await assert.rejects(other.loadCheckpoint(checkpoint), says(unknown));
    assert.deepEqual(await other.snapshots(), [snapshot]);
    await assert.rejects(other.freeze(), says(/No training was begun/));
    await assert.rejects(runtime.saveAdapter(base, folder, null), says(/has no adapter/));
  });

  it('over a model folder whose weights have changed since', async (t) => {
    const [runtime, folder, file] = [
      await runtimeOf(t),
      join(temporary, 'changing'),
      join(temporary, 'changing.safetensors'),
    ];
    await saveModel(folder, { config: TINY, parameters: testParameters(TINY) }, 'F32');
    const { snapshot: base } = await runtime.load(folder);
    await runtime.beginTraining(base, ADAPTER);
    await runtime.step(CONTEXTS, STEP, NEVER);
    const trained = await runtime.freeze();
    await runtime.saveSnapshot(trained, file);
    const later = await runtimeOf(t);
    await later.load(folder);
    await later.releaseSnapshot(base);
    await saveModel(folder, { config: TINY, parameters: initialParameters(TINY, 1) }, 'F32');
    await assert.rejects(later.loadSnapshot(file), says(/which are not loaded/));
    assert.deepEqual(await later.snapshots(), []);
    // Whoever trains over it still has it.
    for (const name of [base, trained]) {
      await runtime.releaseSnapshot(name);
    }
    assert.equal(await runtime.loadSnapshot(file), trained);
  });
});

it('adapters do not know of each other: each gives the weights that it gives alone', async (t) => {
  const others: AdapterStart[] = [
    ADAPTER,
    { ...ADAPTER, settings: { ...ADAPTER.settings, rank: 3 } },
    { ...ADAPTER, settings: { ...ADAPTER.settings, alpha: 1 } },
  ];
  const trainedIn = async (runtime: ModelRuntime, start: AdapterStart): Promise<Float32Array[][]> => {
    await runtime.beginTraining((await runtime.load(model)).snapshot, start);
    await runtime.step(CONTEXTS, STEP, NEVER);
    return runtime.score(await runtime.freeze(), CONTEXTS, 1, NEVER);
  };
  const together = await runtimeOf(t);
  const seen: Float32Array[][][] = [];
  for (const start of [...others, ADAPTER]) {
    const scores = await trainedIn(together, start);
    assert.deepEqual(scores, await trainedIn(await runtimeOf(t), start));
    seen.push(scores);
  }
  assert.notDeepEqual(seen[0], seen[2]);
});

describe('adapters of roles', () => {
  const OWN: AdapterStart = { ...ADAPTER, roles: ['reasoner', 'actor'] };
  const [asked, told] = [context('asked', 4, 3, 2), context('told', 6, 5)];
  const both = [
    { ...asked, role: 'reasoner' },
    { ...told, role: 'actor' },
  ];

  it('learn from their own messages only, and each speaks with its own', async (t) => {
    const runtime = await runtimeOf(t);
    const { snapshot: base } = await runtime.load(model);
    const scores = (snapshot: string, role?: string): Promise<Float32Array[][]> =>
      runtime.score(snapshot, [{ ...asked, ...(role !== undefined && { role }) }], 1, NEVER);
    await runtime.beginTraining(base, OWN);
    assert.equal(await runtime.freeze(), base);
    await runtime.step(both.slice(0, 1), STEP, NEVER);
    const first = await runtime.freeze();
    assert.notDeepEqual(await scores(first, 'reasoner'), await scores(base));
    assert.deepEqual(await scores(first, 'actor'), await scores(base));
    // Nobody's adapter: the model alone.
    assert.deepEqual(await scores(first), await scores(base));
    await runtime.step(both, STEP, NEVER);
    const second = await runtime.freeze();
    assert.notDeepEqual(await scores(second, 'actor'), await scores(base));
    const [mixed, reversed] = [
      await runtime.score(second, both, 1, NEVER),
      await runtime.score(second, [...both].reverse(), 1, NEVER),
    ];
    assert.deepEqual(mixed, reversed.reverse());
    assert.deepEqual(mixed[0], (await scores(second, 'reasoner'))[0]);
    const requests = range(4).map((index) => ({
      ...request(`roles ${index}`, 4, 6),
      role: index % 2 === 0 ? 'reasoner' : 'actor',
    }));
    const heard: number[] = [];
    const answers = await runtime.generate(second, requests, {
      ...RUNNING,
      onCompletion: (index) => heard.push(index),
    });
    assert.deepEqual(heard.sort(), [0, 1, 2, 3]);
    for (const [index, one] of requests.entries()) {
      assert.deepEqual(
        await runtime.generate(second, [one], RUNNING).then(([answer]) => answer?.tokens),
        answers[index]?.tokens,
      );
    }
    await assert.rejects(
      runtime.step([{ ...asked, role: 'judge' }], STEP, NEVER),
      says(/Nothing is trained for the role "judge"/),
    );
  });

  it('train as an adapter alone would on the same messages', async (t) => {
    const [together, alone] = [await runtimeOf(t), await runtimeOf(t)];
    const { snapshot: base } = await together.load(model);
    await alone.load(model);
    await together.beginTraining(base, OWN);
    const report = await together.step(both, STEP, NEVER);
    const snapshot = await together.freeze();
    let [loss, tokens, norm] = [0, 0, 0];
    for (const one of both) {
      await alone.beginTraining(base, { ...ADAPTER, roles: [one.role] });
      const own = await alone.step([one], STEP, NEVER);
      [loss, tokens, norm] = [loss + own.loss * own.tokens, tokens + own.tokens, norm + own.gradientNorm ** 2];
      assert.deepEqual(
        await alone.score(await alone.freeze(), [one], 1, NEVER),
        await together.score(snapshot, [one], 1, NEVER),
      );
    }
    assert.ok(Math.abs(report.loss - loss / tokens) < 1e-9 && Math.abs(report.gradientNorm - Math.sqrt(norm)) < 1e-9);
    assert.equal(report.tokens, tokens);
  });

  it('go on from a checkpoint, come back from a file and from folders', async (t) => {
    const [runtime, later] = [await runtimeOf(t), await runtimeOf(t)];
    const [checkpoint, file, folder] = [
      join(temporary, 'roles.checkpoint'),
      join(temporary, 'roles.safetensors'),
      join(temporary, 'roles'),
    ];
    const { snapshot: base } = await runtime.load(model);
    await runtime.beginTraining(base, OWN);
    await runtime.step(both.slice(1), STEP, NEVER);
    const first = await runtime.freeze();
    await runtime.saveCheckpoint(checkpoint);
    await runtime.step(both, STEP, NEVER);
    const second = await runtime.freeze();
    await runtime.saveSnapshot(second, file);
    assert.deepEqual(await runtime.saveAdapter(second, folder, model), [
      join(folder, 'reasoner'),
      join(folder, 'actor'),
    ]);
    await later.load(model);
    assert.equal(await later.loadCheckpoint(checkpoint), first);
    await later.step(both, STEP, NEVER);
    assert.equal(await later.freeze(), second);
    for (const load of [
      (): Promise<string> => later.loadSnapshot(file),
      (): Promise<string> => later.loadAdapter(folder, base),
    ]) {
      await later.releaseSnapshot(second);
      assert.equal(await load(), second);
      assert.deepEqual(await later.score(second, both, 1, NEVER), await runtime.score(second, both, 1, NEVER));
    }
  });

  it('are as before where a step is cancelled between two of them', async (t) => {
    const [runtime, straight] = [await runtimeOf(t), await runtimeOf(t)];
    for (const one of [runtime, straight]) {
      await one.beginTraining((await one.load(model)).snapshot, OWN);
    }
    for (const one of [runtime, straight]) {
      await one.step(both, STEP, NEVER);
    }
    let asks = 0;
    await assert.rejects(
      runtime.step(
        both,
        STEP,
        makeSignalAbortedWhen(() => ++asks > 1),
      ),
      CancelledError,
    );
    for (const one of [runtime, straight]) {
      await one.step(both, STEP, NEVER);
    }
    assert.equal(await runtime.freeze(), await straight.freeze());
  });
});
