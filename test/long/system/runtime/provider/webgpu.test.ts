/** Generation in batches of many sizes, whole hosts and the self-test on a WebGPU device. */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { examineProviderApart } from '../../../../../src/engine/machine/probing.ts';
import { ModelHost } from '../../../../../src/runtime/host.ts';
import { saveModel } from '../../../../../src/runtime/model/model.ts';
import { countDeviceTensors } from '../../../../../src/runtime/session/deviceTensor.ts';
import type { DeviceSettings } from '../../../../../src/runtime/session/session.ts';
import {
  close,
  CONFIG,
  contexts,
  generatesOnDevice,
  NEVER,
  parameters,
  STEP,
  useDevice,
  WEBGPU,
} from '../../../../system/runtime/provider/onDevice.ts';
import { request, RUNNING } from '../../../../unit/runtime/models.ts';

useDevice();
generatesOnDevice([1, 2, 3, 5, 7, 9, 11, 13, 16, 20]);

describe('a host on WebGPU', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'c3-webgpu-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('trains, freezes, saves and goes back to a checkpoint', async () => {
    await saveModel(folder, { config: CONFIG, parameters }, 'F32');
    const host = new ModelHost({ ...WEBGPU, name: 'SwiftShader' });
    assert.deepEqual([host.environment.provider, host.environment.device], ['webgpu', 'SwiftShader']);
    const { snapshot } = await host.load(folder);
    await host.beginTraining(snapshot);
    await host.step(contexts, STEP, NEVER);
    await host.saveCheckpoint(join(folder, 'checkpoint'));
    await host.step(contexts, STEP, NEVER);
    const straight = await host.freeze();
    await host.loadCheckpoint(join(folder, 'checkpoint'));
    await host.step(contexts, STEP, NEVER);
    assert.equal(await host.freeze(), straight);
    assert.equal((await host.generate(straight, [request('trained', 3, 4)], RUNNING)).length, 1);
    await host.close();
    assert.equal(countDeviceTensors().tensors, 0);
  });

  it('so does one with an adapter for each role, as on the CPU', async () => {
    await saveModel(folder, { config: CONFIG, parameters }, 'F32');
    const both = contexts.flatMap((one) => [
      { ...one, role: 'reasoner' },
      { ...one, role: 'actor' },
    ]);
    const observed = async (device: DeviceSettings): Promise<number[]> => {
      const host = new ModelHost(device);
      const { snapshot } = await host.load(folder);
      await host.beginTraining(snapshot, {
        settings: { rank: 2, alpha: 4, targetModules: ['q_proj', 'v_proj', 'down_proj'] },
        roles: ['reasoner', 'actor'],
        seed: 1,
      });
      const first = await host.step(both.slice(0, 1), STEP, NEVER);
      await host.saveCheckpoint(join(folder, 'roles'));
      await host.step(both, STEP, NEVER);
      const straight = await host.freeze();
      await host.loadCheckpoint(join(folder, 'roles'));
      await host.step(both, STEP, NEVER);
      assert.equal(await host.freeze(), straight);
      const scores = (await host.score(straight, both, 1, NEVER)).flat().flatMap((values) => [...values]);
      await host.close();
      return [first.loss, first.gradientNorm, ...scores];
    };
    const [there, here] = [await observed(WEBGPU), await observed({ threads: 1 })];
    there.forEach((value, index) => close(value, here[index] ?? NaN));
    assert.equal(countDeviceTensors().tensors, 0);
  });
});

describe('the WebGPU provider in a process of its own', () => {
  it('passes its self-test', async () => {
    const report = await examineProviderApart('webgpu', 1, false);
    assert.match(
      report.sentence,
      /^passed: 5 completions the same in two orders, sampler and trainer within \S+, within \S+ of the CPU, a training step within \S+$/,
    );
    assert.match(report.invariance ?? '', /^\d+ shapes, batches 1 to 64: 0 differing elements$/);
  });
});
