/** Training on a WebGPU device. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countDeviceTensors } from '../../../../../src/runtime/session/deviceTensor.ts';
import { Trainer } from '../../../../../src/runtime/train/trainer.ts';
import { initialState, type TrainingState } from '../../../../../src/runtime/train/trainingState.ts';
import {
  close,
  CONFIG,
  contexts,
  CPU,
  NEVER,
  parameters,
  STEP,
  useDevice,
  WEBGPU,
} from '../../../../system/runtime/provider/onDevice.ts';

useDevice();

describe('training on WebGPU', () => {
  // Shared by the tests that need no new one: compiling its shaders takes most of the time.
  const own = new Trainer(CONFIG, WEBGPU);

  it('takes the steps of the CPU, its moments staying on the device until they are asked for', async () => {
    const reference = new Trainer(CONFIG, CPU);
    let [here, there] = [initialState(parameters), initialState(parameters)];
    for (let step = 0; step < 2; step++) {
      const [a, b] = [await own.step(here, contexts, STEP, NEVER), await reference.step(there, contexts, STEP, NEVER)];
      for (const key of ['loss', 'kl', 'gradientNorm', 'ratioDeviation', 'clipFraction'] as const) {
        close(a[key] / (1 + Math.abs(b[key])), b[key] / (1 + Math.abs(b[key])));
      }
      [here, there] = [a.state, b.state];
      here.parameters.forEach((value, index) => close(value, there.parameters[index] ?? NaN));
    }
    assert.ok(here.momentum.every((value) => value === 0));
    await own.download(here);
    for (const vector of ['momentum', 'variance'] as const) {
      here[vector].forEach((value, index) => close(value, there[vector][index] ?? NaN));
    }
    assert.ok(there.momentum.some((value) => Math.abs(value) > 1e-3));
    await reference.release();
  });

  it('sees the states that the CPU sees', async () => {
    const reference = new Trainer(CONFIG, CPU);
    const texts = contexts.map(({ prompt }) => prompt);
    const [a, b] = [
      await own.lastStates(parameters, texts, NEVER),
      await reference.lastStates(parameters, texts, NEVER),
    ];
    assert.equal(a.length, texts.length);
    a.forEach((state, index) => state.forEach((value, place) => close(value, b[index]?.[place] ?? NaN)));
    await reference.release();
  });

  it('continues from arrays bit for bit as from the device', async () => {
    const again = new Trainer(CONFIG, WEBGPU);
    const { state } = await own.step(initialState(parameters), contexts, STEP, NEVER);
    await own.download(state);
    const copy: TrainingState = {
      parameters: state.parameters.slice(),
      momentum: state.momentum.slice(),
      variance: state.variance.slice(),
      step: state.step,
    };
    const [a, b] = [await own.step(state, contexts, STEP, NEVER), await again.step(copy, contexts, STEP, NEVER)];
    assert.deepEqual(a.state.parameters, b.state.parameters);
    await own.download(a.state);
    await again.download(b.state);
    assert.deepEqual([a.state.momentum, a.state.variance], [b.state.momentum, b.state.variance]);
    await again.release();
  });

  it('a cancelled step leaves nothing behind', async () => {
    const state = initialState(parameters);
    await own.step(state, contexts, STEP, NEVER);
    const { tensors } = countDeviceTensors();
    await assert.rejects(own.step(state, contexts, STEP, AbortSignal.abort()));
    assert.equal(countDeviceTensors().tensors, tensors);
    await own.release();
    assert.equal(countDeviceTensors().tensors, 0);
  });
});
