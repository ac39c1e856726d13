/** Makes the inputs of training graphs from micro-batches, and distributes their outputs. */

import type { Tensor } from 'onnxruntime-node';
import type { ParameterView } from '../../model/model.ts';
import { requireTensor, type DeviceTensors } from '../../session/deviceMemory.ts';
import { type Feeds, floatData, floatTensor, type Outputs } from '../../session/session.ts';
import type { MicroBatch, TrainingContext } from './pack.ts';

export const scalarTensor = (value: number): Tensor => floatTensor(new Float32Array([value]), [1]);
export const readScalar = (outputs: Outputs, name: string): number => floatData(outputs, name)[0] ?? NaN;

export const renameTensors = (
  views: readonly ParameterView[],
  held: DeviceTensors,
  from: (name: string) => string,
  to: (name: string) => string,
): DeviceTensors => Object.fromEntries(views.map(({ name }) => [to(name), requireTensor(held, from(name))]));

export const STATE_INPUTS = ['tokens', 'positions', 'segments', 'slots', 'ones', 'selected', 'inverse'];
const SCORE_INPUTS = [...STATE_INPUTS, 'targets'];

export const selectFeeds = ({ feeds }: MicroBatch, inputs: readonly string[]): Feeds =>
  Object.fromEntries(Object.entries(feeds).filter(([name]) => inputs.includes(name)));
export const scoreFeeds = (batch: MicroBatch): Feeds => selectFeeds(batch, SCORE_INPUTS);
export const supervisedFeeds = (batch: MicroBatch): Feeds => selectFeeds(batch, [...SCORE_INPUTS, 'weights']);

export function distributeLogprobs(
  logprobs: Float32Array,
  batch: MicroBatch,
  contexts: readonly TrainingContext[],
  into: Float32Array[][],
): void {
  for (const { context, message, start } of batch.placements) {
    const count = contexts[context]?.messages[message]?.tokens.length ?? 0;
    const row = into[context];
    if (row !== undefined) {
      row[message] = logprobs.slice(start, start + count);
    }
  }
}
