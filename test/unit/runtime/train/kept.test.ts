/** Going back to a training state that was kept, whole or by a share of the way, in this thread and in a worker. */

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { readSafetensors } from '../../../../src/runtime/files/safetensors.ts';
import { ModelHost } from '../../../../src/runtime/host.ts';
import { saveModel } from '../../../../src/runtime/model/model.ts';
import type { AdapterStart, ModelRuntime } from '../../../../src/runtime/modelRuntime.ts';
import { startRuntime } from '../../../../src/runtime/remote.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { context, DEVICE, testParameters, TINY } from '../models.ts';

const STEP = { loss: 'supervised', learningRate: 0.02, temperature: 1, klCoefficient: 0 } as const;
const [FIRST, SECOND] = [
  [
    { ...context('a', 4, 3, 2), role: 'one' },
    { ...context('b', 6, 5), role: 'two' },
  ],
  [{ ...context('c', 5, 4), role: 'one' }],
];
const NEVER = new AbortController().signal;
const PER_ROLE: AdapterStart = {
  settings: { rank: 2, alpha: 4, targetModules: ['k_proj', 'up_proj'] },
  seed: 9,
  roles: ['one', 'two'],
};

let model: string;
before(async () => {
  model = await mkdtemp(join(tmpdir(), 'c3-kept-'));
  await saveModel(model, { config: TINY, parameters: testParameters(TINY) }, 'F32');
});
after(() => rm(model, { recursive: true, force: true }));

const RUNTIMES: Readonly<Record<string, () => Promise<ModelRuntime>>> = {
  'this thread': () => Promise.resolve(new ModelHost(DEVICE)),
  'a worker': () => startRuntime(new URL('../../../../src/engine/worker.ts', import.meta.url), DEVICE),
};

async function training(
  t: TestContext,
  start: () => Promise<ModelRuntime>,
  adapter?: AdapterStart,
): Promise<ModelRuntime> {
  const runtime = await start();
  t.after(() => runtime.close());
  const { snapshot } = await runtime.load(model);
  await runtime.beginTraining(snapshot, adapter);
  return runtime;
}

async function numbersOf(runtime: ModelRuntime): Promise<ReadonlyMap<string, Float32Array>> {
  const file = join(model, 'numbers.safetensors');
  await runtime.saveSnapshot(await runtime.freeze(), file);
  const { tensors } = readSafetensors(await readFile(file), file);
  return new Map([...tensors].map(([name, { data }]) => [name, data]));
}

const fails =
  (pattern: RegExp) =>
  (error: unknown): boolean =>
    error instanceof C3Error && pattern.test(error.message);

for (const [place, start] of Object.entries(RUNTIMES)) {
  for (const [what, adapter] of [
    ['whole models', undefined],
    ['adapters of roles', PER_ROLE],
  ] as const) {
    describe(`a kept training state of ${what} in ${place}`, () => {
      it('comes back with its optimizer, to the bit, as often as asked', async (t) => {
        const runtime = await training(t, start, adapter);
        await runtime.step(FIRST, STEP, NEVER);
        const kept = await runtime.freeze();
        await runtime.keepTraining();
        const twoMore = async (): Promise<string[]> => {
          const found: string[] = [];
          for (const contexts of [SECOND, FIRST]) {
            await runtime.step(contexts, STEP, NEVER);
            found.push(await runtime.freeze());
          }
          return found;
        };
        const expected = await twoMore();
        assert.equal(new Set([kept, ...expected]).size, 3);
        for (let times = 0; times < 2; times++) {
          await runtime.revertTraining(0);
          assert.equal(await runtime.freeze(), kept);
          assert.deepEqual(await twoMore(), expected);
        }
      });

      it('is left by a share of the way', async (t) => {
        const runtime = await training(t, start, adapter);
        await runtime.step(FIRST, STEP, NEVER);
        const from = await numbersOf(runtime);
        await runtime.keepTraining();
        await runtime.step(FIRST, STEP, NEVER);
        const now = await runtime.freeze();
        const to = await numbersOf(runtime);
        await runtime.revertTraining(1);
        assert.equal(await runtime.freeze(), now);
        await runtime.revertTraining(0.25);
        let moved = 0;
        for (const [name, values] of await numbersOf(runtime)) {
          values.forEach((value, index) => {
            const [a, b] = [from.get(name)?.[index] ?? NaN, to.get(name)?.[index] ?? NaN];
            assert.equal(value, Math.fround(a + 0.25 * (b - a)));
            if (a !== b) {
              moved++;
            }
          });
        }
        assert.ok(moved > 100);
      });

      it('is there only once it is kept, and only in its training', async (t) => {
        const runtime = await training(t, start, adapter);
        await assert.rejects(runtime.revertTraining(0), fails(/No training state was saved/));
        await runtime.keepTraining();
        for (const share of [-0.1, 1.5, NaN]) {
          await assert.rejects(runtime.revertTraining(share), fails(/give 0 to 1/));
        }
        const { snapshot } = await runtime.load(model);
        await runtime.beginTraining(snapshot, adapter);
        await assert.rejects(runtime.revertTraining(0), fails(/No training state was saved/));
      });
    });
  }
}
