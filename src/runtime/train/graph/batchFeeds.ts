/** Makes the inputs of training graphs from micro-batches, and distributes their outputs. */
import type { Tensor } from 'onnxruntime-node';
import type { ParameterView } from '../../model/model.ts';
import { found, type Held } from '../../session/deviceMemory.ts';
import { type Feeds, floatData, floats, type Outputs } from '../../session/session.ts';
import type { MicroBatch, TrainingContext } from './pack.ts';

export const scalar = (value: number): Tensor => floats(new Float32Array([value]), [1]);
export const numberOf = (outputs: Outputs, name: string): number => floatData(outputs, name)[0] ?? NaN;

export const renamed = (
  views: readonly ParameterView[],
  held: Held,
  from: (name: string) => string,
  to: (name: string) => string,
): Held => Object.fromEntries(views.map(({ name }) => [to(name), found(held, from(name))]));

export const STATE_INPUTS = ['tokens', 'positions', 'segments', 'slots', 'ones', 'selected', 'inverse'];
const SCORE_INPUTS = [...STATE_INPUTS, 'targets'];

export const feedsOf = ({ feeds }: MicroBatch, inputs: readonly string[]): Feeds =>
  Object.fromEntries(Object.entries(feeds).filter(([name]) => inputs.includes(name)));
export const scoreFeeds = (batch: MicroBatch): Feeds => feedsOf(batch, SCORE_INPUTS);
export const supervisedFeeds = (batch: MicroBatch): Feeds => feedsOf(batch, [...SCORE_INPUTS, 'weights']);

export function distribute(
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
