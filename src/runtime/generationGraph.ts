/** Graphs that generate: prefill of whole prompts, and one decoding step over a key-value cache. */
import { Graph, type Value } from './graph.ts';
import { expandLike } from './ops/broadcast.ts';
import { div, lessOrEqual, select } from './ops/elementwise.ts';
import { gatherRows } from './ops/gather.ts';
import { logSoftmax } from './ops/normalise.ts';
import { reshape, unsqueeze } from './ops/shape.ts';
import { packedBias } from './trainingGraph.ts';
import { forward, logits, parameterInputs, type LayerKeyValues, type TransformerConfig } from './transformer.ts';

const MASKED = -1e9;

/** Names of one layer's cache tensors in both graphs. */
export const cacheNames = (layer: number): { keys: string; values: string } => ({ keys: `keys_${String(layer)}`, values: `values_${String(layer)}` });

/**
 * Prefill. Inputs: tokens, positions, segments int64 [rows, time] (segment 0, or -1 for padding), slots int64 [time], last int64 [prompts]
 * (flat index of each prompt's last token), temperature float [prompts, 1].
 * Outputs: logprobs [rows, vocabulary] of the next token; fresh_keys_i, fresh_values_i [rows, key-value heads, time, head width].
 */
export function buildPrefillGraph(config: TransformerConfig): Graph {
  const g = new Graph('prefill');
  const parameters = parameterInputs(g, config);
  const segments = g.input('segments', 'int64', ['rows', 'time']);
  const { hidden, fresh } = forward(g, config, parameters, {
    tokens: g.input('tokens', 'int64', ['rows', 'time']),
    positions: g.input('positions', 'int64', ['rows', 'time']),
    bias: packedBias(g, segments, g.input('slots', 'int64', ['time'])),
  });
  const last = gatherRows(g, reshape(g, hidden, ['positions', config.hiddenSize]), g.input('last', 'int64', ['prompts']));
  g.output('logprobs', logSoftmax(g, div(g, logits(g, config, parameters, last), g.floatInput('temperature', ['prompts', 1]))));
  publish(g, fresh);
  return g;
}

/**
 * One decoding step. Inputs: tokens, positions int64 [rows, 1], the cache keys_i, values_i [rows, key-value heads, slots, head width],
 * slots int64 [slots] = 0, 1, ..., temperature float [rows, 1]. A position is also the slot that its keys and values take.
 * Outputs: logprobs [rows, vocabulary]; fresh_keys_i, fresh_values_i [rows, key-value heads, 1, head width] for the caller to store.
 * The fresh keys are scattered into a copy of the cache first, so that scores, softmax and mixture run over one contiguous axis
 * exactly as in prefill and training.
 */
export function buildDecodeGraph(config: TransformerConfig): Graph {
  const g = new Graph('decode');
  const parameters = parameterInputs(g, config);
  const positions = g.input('positions', 'int64', ['rows', 1]);
  const visible = lessOrEqual(g, g.input('slots', 'int64', ['slots']), positions);
  const bias = unsqueeze(g, select(g, visible, g.scalar(0), g.scalar(MASKED)), [1, 2]);
  const slot = unsqueeze(g, positions, [1, 3]);
  const { hidden, fresh } = forward(g, config, parameters, {
    tokens: g.input('tokens', 'int64', ['rows', 1]),
    positions,
    bias,
    extend: (layer, own) => {
      const shape = ['rows', config.keyValueHeads, 'slots', config.headDim] as const;
      const names = cacheNames(layer);
      const indices = expandLike(g, slot, own.keys);
      const write = (cache: Value, update: Value): Value =>
        g.apply({ op: 'ScatterElements', inputs: [cache, indices, update], attributes: { axis: 2 }, dtype: 'float32', shape });
      return { keys: write(g.floatInput(names.keys, shape), own.keys), values: write(g.floatInput(names.values, shape), own.values) };
    },
  });
  const rows = reshape(g, hidden, ['rows', config.hiddenSize]);
  g.output('logprobs', logSoftmax(g, div(g, logits(g, config, parameters, rows), g.floatInput('temperature', ['rows', 1]))));
  publish(g, fresh);
  return g;
}

function publish(g: Graph, fresh: readonly LayerKeyValues[]): void {
  fresh.forEach(({ keys, values }, layer) => {
    const names = cacheNames(layer);
    g.output(`fresh_${names.keys}`, keys);
    g.output(`fresh_${names.values}`, values);
  });
}
