/** Optimizer updates: AdamW in ordinary memory, or on the device, where the moments stay. */

import { C3Error } from '../../shared/errors.ts';
import type { DeviceWeights } from '../model/deviceWeights.ts';
import { viewFeeds, type ParameterView } from '../model/model.ts';
import { requireTensor, type DeviceTensors } from '../session/deviceMemory.ts';
import { disposeAll } from '../session/deviceTensor.ts';
import { floatData, keepsOutputs, type DeviceSettings, type Session } from '../session/session.ts';
import { adamwStep, gradientNorm } from './adamw.ts';
import { readScalar, scalarTensor } from './graph/batchFeeds.ts';
import { ADAMW, gradientName, momentumName, updatedName, varianceName } from './graph/trainingGraph.ts';
import type { StepResult, StepTotals, TrainingState } from './trainingState.ts';

export interface UpdateParts {
  readonly device: DeviceSettings;
  readonly weights: DeviceWeights;
  /** The layout of the trained parameters. */
  readonly views: readonly ParameterView[];
  /** Returns the update graph on the device. The outputs in `keep` stay there. */
  readonly session: (keep: readonly string[]) => Promise<Session>;
}

export class Updates {
  private readonly device: DeviceSettings;
  private readonly weights: DeviceWeights;
  private readonly views: readonly ParameterView[];
  private readonly session: UpdateParts['session'];
  /** The moments on the device of states whose arrays do not have them yet. */
  private readonly moments = new Map<TrainingState, DeviceTensors>();

  constructor({ device, weights, views, session }: UpdateParts) {
    this.device = device;
    this.weights = weights;
    this.views = views;
    this.session = session;
  }

  /** Applies gradients and returns the new state. The given one changes only if the result is finite. */
  apply(state: TrainingState, sums: DeviceTensors, learningRate: number, totals: StepTotals): Promise<StepResult> {
    return keepsOutputs(this.device)
      ? this.onDevice(state, sums, learningRate, totals)
      : this.inMemory(state, sums, learningRate, totals);
  }

  /** Copies the moments of the last step from the device into the arrays of its state. */
  async download(state: TrainingState): Promise<void> {
    const held = this.moments.get(state);
    if (held === undefined) {
      return;
    }
    const tensors = await this.weights.memory.download(held);
    for (const { name, offset } of this.views) {
      state.momentum.set(floatData(tensors, momentumName(name)), offset);
      state.variance.set(floatData(tensors, varianceName(name)), offset);
    }
  }

  /** Applies AdamW in ordinary memory. The state changes only if the result is finite. */
  private async inMemory(
    state: TrainingState,
    sums: DeviceTensors,
    learningRate: number,
    totals: StepTotals,
  ): Promise<StepResult> {
    const t = state.step + 1;
    const read = await this.weights.memory.download(sums);
    const gradients = this.views.map(({ name, offset }) => ({ offset, values: floatData(read, gradientName(name)) }));
    const norm = gradientNorm(gradients);
    checkFinite(totals.loss + norm, t);
    return {
      state: { ...state, parameters: adamwStep(state, gradients, norm, learningRate, t, ADAMW), step: t },
      ...totals,
      gradientNorm: norm,
    };
  }

  /** Applies AdamW on the device. The state changes only if the result is finite. */
  private async onDevice(
    state: TrainingState,
    sums: DeviceTensors,
    learningRate: number,
    totals: StepTotals,
  ): Promise<StepResult> {
    const t = state.step + 1;
    const names = this.views.map(({ name }) => name);
    const changed = names.flatMap((name) => [name, momentumName(name), varianceName(name)]);
    const session = await this.session(changed.map(updatedName));
    const moments = await this.momentsOf(state);
    const { outputs, kept } = await session.runKeeping({
      ...(await this.weights.trained.of(state.parameters)),
      ...sums,
      ...moments,
      learningRate: scalarTensor(learningRate),
      correction1: scalarTensor(1 - ADAMW.beta1 ** t),
      correction2: scalarTensor(1 - ADAMW.beta2 ** t),
    });
    const norm = readScalar(outputs, 'gradientNorm');
    try {
      checkFinite(totals.loss + norm, t);
    } catch (error) {
      disposeAll(Object.values(kept));
      throw error;
    }
    const pick = (tensors: readonly string[]): DeviceTensors =>
      Object.fromEntries(tensors.map((name) => [name, requireTensor(kept, updatedName(name))]));
    const updated = pick(names);
    const read = await this.weights.memory.download(updated);
    const parameters = new Float32Array(state.parameters.length);
    for (const { name, offset } of this.views) {
      parameters.set(floatData(read, name), offset);
    }
    const next: TrainingState = { ...state, parameters, step: t };
    this.forgetMoments(state);
    this.moments.set(next, pick(names.flatMap((name) => [momentumName(name), varianceName(name)])));
    this.weights.trained.put(parameters, updated);
    return { state: next, ...totals, gradientNorm: norm };
  }

  /** Returns the moments of a state on the device, which are copied there if necessary. */
  private async momentsOf(state: TrainingState): Promise<DeviceTensors> {
    const known = this.moments.get(state);
    if (known !== undefined) {
      return known;
    }
    const held = await this.weights.memory.upload({
      ...viewFeeds(this.views, state.momentum, momentumName),
      ...viewFeeds(this.views, state.variance, varianceName),
    });
    this.moments.set(state, held);
    return held;
  }

  private forgetMoments(state: TrainingState): void {
    disposeAll(Object.values(this.moments.get(state) ?? {}));
    this.moments.delete(state);
  }

  /** Frees the device memory of training that was given up. */
  forget(): void {
    for (const state of [...this.moments.keys()]) {
      this.forgetMoments(state);
    }
  }
}

function checkFinite(value: number, step: number): void {
  if (Number.isFinite(value)) {
    return;
  }
  throw new C3Error(
    'model',
    `Optimizer step ${step} gave a loss or gradient that is not a finite number; lower the learning rate and resume.`,
  );
}
