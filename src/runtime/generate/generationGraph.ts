/**
 * Generation graphs for the CPU: prefill of whole prompts, and a decoding step in stages. The caller
 * extends the key-value cache between the stages.
 */

import { Graph, type Value } from '../graph/graph.ts';
import { div } from '../graph/ops/elementwise.ts';
import { gatherRows } from '../graph/ops/gather.ts';
import { logSoftmax } from '../graph/ops/normalise.ts';
import { reshape } from '../graph/ops/shape.ts';
import { embed, forward, layerOutput, logits, project, buildRotaryTables, type Projections } from '../model/decoder.ts';
import {
  EMBEDDING,
  FINAL_NORM,
  headName,
  layerParameterInputs,
  OUTPUT_PARTS,
  parameterInputs,
  PROJECTION_PARTS,
  weightInput,
  type LayerPart,
  type Parameters,
  type TransformerConfig,
} from '../model/transformer.ts';
import { packedInputs } from '../train/graph/trainingGraph.ts';

export const cacheNames = (layer: number): { keys: string; values: string } => ({
  keys: `keys_${layer}`,
  values: `values_${layer}`,
});

/** Returns the input name of a part of the next layer in a graph that has two layers. */
export const nextLayerInputName = (part: LayerPart): string => `next.${part}`;

/**
 * Builds the prefill graph. Inputs: tokens, segments int32 [rows, time] (segment 0, or -1 for
 * padding), positions int64 [rows * time, 1], slots int32 [time], ones float [time, 2], last int32
 * [prompts] (flat index of each prompt's last token), temperature float [prompts, 1]. Outputs:
 * logprobs [prompts, vocabulary] of the next token; keys_i, values_i [rows, key-value heads, time,
 * head width].
 */
export function buildPrefillGraph(config: TransformerConfig): Graph {
  const g = new Graph('prefill');
  const parameters = parameterInputs(g, config);
  const { hidden, projections } = forward(g, config, parameters, packedInputs(g));
  const last = gatherRows(
    g,
    reshape(g, hidden, ['positions', config.hiddenSize]),
    g.input('last', 'int32', ['prompts']),
  );
  publishLogprobs(g, config, parameters, last, 'prompts');
  projections.forEach(({ keys, values }, layer) => {
    const names = cacheNames(layer);
    g.output(names.keys, keys);
    g.output(names.values, values);
  });
  return g;
}

/**
 * Builds the first stage of a decoding step. Inputs: tokens int32 [rows, 1], positions int64 [rows,
 * 1], the embeddings and the projection parts of layer 0. Outputs: hidden [rows, 1, hidden], queries
 * [rows, heads, 1, width], keys and values [rows, key-value heads, 1, width] for the caller to store.
 */
export function buildEnterGraph(config: TransformerConfig): Graph {
  const g = new Graph('enter');
  const tokens = g.input('tokens', 'int32', ['rows', 1]);
  const parameters = new Map([
    [EMBEDDING, weightInput(g, config, { name: EMBEDDING, shape: [config.vocabularySize, config.hiddenSize] })],
  ]);
  const hidden = embed(g, parameters, tokens);
  publishStage(g, hidden, projectWith(g, config, hidden, layerParameterInputs(g, config, PROJECTION_PARTS)));
  return g;
}

/**
 * Builds the middle stage: the output of a layer, then the projections of the next. Inputs: hidden and
 * queries of the stage before, the cache of this layer with the fresh keys and values in it, bias,
 * visible and ones (see `attention`), positions, the output parts of this layer and the projection
 * parts (`next.PART`) of the next. The outputs are those of the first stage.
 */
export function buildMiddleGraph(config: TransformerConfig): Graph {
  const g = new Graph('middle');
  const hidden = stageOutput(g, config);
  publishStage(
    g,
    hidden,
    projectWith(g, config, hidden, layerParameterInputs(g, config, PROJECTION_PARTS, nextLayerInputName)),
  );
  return g;
}

/**
 * Builds the last stage: the output of the last layer, then the output projection. The inputs are
 * those of the middle stage, and temperature float [rows, 1]. Output: logprobs [rows, vocabulary].
 */
export function buildExitGraph(config: TransformerConfig): Graph {
  const g = new Graph('exit');
  const hidden = reshape(g, stageOutput(g, config), ['rows', config.hiddenSize]);
  const parameters = new Map([
    [FINAL_NORM, weightInput(g, config, { name: FINAL_NORM, shape: [config.hiddenSize] })],
    [
      headName(config),
      weightInput(g, config, { name: headName(config), shape: [config.vocabularySize, config.hiddenSize] }),
    ],
  ]);
  publishLogprobs(g, config, parameters, hidden, 'rows');
  return g;
}

function projectWith(
  g: Graph,
  config: TransformerConfig,
  hidden: Value,
  weights: ReadonlyMap<LayerPart, Value>,
): Projections {
  return project(
    g,
    config,
    makePartReader(weights),
    hidden,
    g.input('positions', 'int64', ['rows', 1]),
    buildRotaryTables(g, config),
  );
}

function stageOutput(g: Graph, config: TransformerConfig): Value {
  const { heads, keyValueHeads, headDim } = config;
  const hidden = g.floatInput('hidden', ['rows', 1, config.hiddenSize]);
  const queries = g.floatInput('queries', ['rows', heads, 1, headDim]);
  const cache = (name: string): Value => g.floatInput(name, ['rows', keyValueHeads, 'slots', headDim]);
  const mask = {
    bias: g.floatInput('bias', ['rows', 1, 1, 'slots']),
    visible: g.floatInput('visible', ['rows', 1, 1, 'slots']),
  };
  const attended = { keys: cache('keys'), values: cache('values'), mask, ones: g.floatInput('ones', ['slots', 2]) };
  return layerOutput(
    g,
    config,
    makePartReader(layerParameterInputs(g, config, OUTPUT_PARTS)),
    hidden,
    queries,
    attended,
  );
}

function makePartReader(weights: ReadonlyMap<LayerPart, Value>): (part: LayerPart) => Value {
  return (part) => {
    const value = weights.get(part);
    if (value === undefined) {
      throw new Error(`The stage has no ${part}.`);
    }
    return value;
  };
}

function publishStage(g: Graph, hidden: Value, { queries, keys, values }: Projections): void {
  g.output('next_hidden', hidden);
  g.output('next_queries', queries);
  g.output('next_keys', keys);
  g.output('next_values', values);
}

function publishLogprobs(
  g: Graph,
  config: TransformerConfig,
  parameters: Parameters,
  hidden: Value,
  rows: string,
): void {
  g.output(
    'logprobs',
    logSoftmax(g, div(g, logits(g, config, parameters, hidden), g.floatInput('temperature', [rows, 1]))),
  );
}
