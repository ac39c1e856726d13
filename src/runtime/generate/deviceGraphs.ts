/**
 * Generation graphs for accelerators: a whole decoding step in one graph, and the rearrangement of a cache that stays
 * on the device.
 */
import { Graph, type Value } from '../graph/graph.ts';
import { HIDDEN } from '../graph/ops/attention.ts';
import { cast, div, equal, lessOrEqual, select } from '../graph/ops/elementwise.ts';
import { logSoftmax } from '../graph/ops/normalise.ts';
import { reshape, unsqueeze } from '../graph/ops/shape.ts';
import { embed, layerOutput, logits, project, tablesOf } from '../model/decoder.ts';
import { layerWeights, parameterInputs, type TransformerConfig } from '../model/transformer.ts';
import { cacheNames } from './generationGraph.ts';

/** Names of all cache tensors, layer by layer. */
export const cacheParts = ({ layers }: TransformerConfig): string[] =>
  Array.from({ length: layers }, (_, layer) => Object.values(cacheNames(layer))).flat();

/** A cache tensor as a graph gives it back. */
export const nextPart = (part: string): string => `next.${part}`;
/** A cache tensor of prompts that were just prefilled. */
export const freshPart = (part: string): string => `fresh.${part}`;

/**
 * A decoding step. Inputs: the parameters; tokens int32 [rows, 1]; positions int64 [rows, 1] and the same numbers as
 * places int32 [rows, 1]; slots int32 [slots] = 0, 1, ...; ones float [slots, 2]; the cache keys_i, values_i [rows,
 * key-value heads, slots, width]; temperature float [rows, 1]. Outputs: logprobs [rows, vocabulary]; next.keys_i,
 * next.values_i: the cache with each row's keys and values at its place.
 */
export function buildStepGraph(config: TransformerConfig): Graph {
  const g = new Graph('step');
  const parameters = parameterInputs(g, config);
  const positions = g.input('positions', 'int64', ['rows', 1]);
  const places = g.input('places', 'int32', ['rows', 1]);
  const slots = g.input('slots', 'int32', ['slots']);
  const ones = g.floatInput('ones', ['slots', 2]);
  const seen = unsqueeze(g, lessOrEqual(g, slots, places), [1, 2]);
  const mask = { bias: select(g, seen, g.scalar(0), g.scalar(HIDDEN)), visible: cast(g, seen, 'float32') };
  const written = equal(g, unsqueeze(g, slots, [0, 1, 3]), unsqueeze(g, places, [1, 3]));
  const tables = tablesOf(g, config);
  let hidden = embed(g, parameters, g.input('tokens', 'int32', ['rows', 1]));
  for (let layer = 0; layer < config.layers; layer++) {
    const weights = layerWeights(parameters, layer);
    const own = project(g, config, weights, hidden, positions, tables);
    const names = cacheNames(layer);
    const extended = (name: string, fresh: Value): Value => {
      const cache = select(
        g,
        written,
        fresh,
        g.floatInput(name, ['rows', config.keyValueHeads, 'slots', config.headDim]),
      );
      g.output(nextPart(name), cache);
      return cache;
    };
    const attended = { keys: extended(names.keys, own.keys), values: extended(names.values, own.values), mask, ones };
    hidden = layerOutput(g, config, weights, hidden, own.queries, attended);
  }
  const scores = logits(g, config, parameters, reshape(g, hidden, ['rows', config.hiddenSize]));
  g.output('logprobs', logSoftmax(g, div(g, scores, g.floatInput('temperature', ['rows', 1]))));
  return g;
}

/**
 * Rows of a cache in another order, with more slots. Inputs: the cache keys_i, values_i [rows, key-value heads, slots,
 * width]; with `fresh` also fresh.keys_i, fresh.values_i [prompts, key-value heads, time, width], whose rows are
 * counted on from those of the cache; pads and freshPads int64 [8] as Pad takes them; sources int32 [taken]: for each
 * row to be, the row that it comes from. Outputs: next.keys_i, next.values_i.
 */
export function buildArrangeGraph(config: TransformerConfig, fresh: boolean): Graph {
  const g = new Graph('arrange');
  const { keyValueHeads, headDim } = config;
  const sources = g.input('sources', 'int32', ['taken']);
  const padded = (name: string, rows: string, slots: string, pads: Value): Value =>
    g.apply({
      op: 'Pad',
      inputs: [g.floatInput(name, [rows, keyValueHeads, slots, headDim]), pads],
      dtype: 'float32',
      shape: [rows, keyValueHeads, 'room', headDim],
    });
  const pads = g.input('pads', 'int64', [8]);
  const freshPads = fresh ? g.input('freshPads', 'int64', [8]) : undefined;
  for (const name of cacheParts(config)) {
    const cache = padded(name, 'rows', 'slots', pads);
    const all =
      freshPads === undefined
        ? cache
        : g.apply({
            op: 'Concat',
            inputs: [cache, padded(freshPart(name), 'prompts', 'time', freshPads)],
            attributes: { axis: 0 },
            dtype: 'float32',
            shape: ['all', keyValueHeads, 'room', headDim],
          });
    g.output(
      nextPart(name),
      g.apply({
        op: 'Gather',
        inputs: [all, sources],
        attributes: { axis: 0 },
        dtype: 'float32',
        shape: ['taken', keyValueHeads, 'room', headDim],
      }),
    );
  }
  return g;
}
