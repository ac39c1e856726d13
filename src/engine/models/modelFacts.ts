/** Reads facts of a model folder from its configuration, headers and tokenizer, without weights. */

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { readTemplate } from '../../policy/chatTemplate.ts';
import type { TextProcess } from '../../policy/textProcess.ts';
import { INDEX_FILE, MAX_INDEX_BYTES, readWeights, WEIGHTS_FILE } from '../../runtime/files/huggingFaceWeights.ts';
import { readModelFile } from '../../runtime/files/modelFile.ts';
import type { StoredTensor } from '../../runtime/files/safetensors.ts';
import { SafetensorsFile } from '../../runtime/files/safetensorsFile.ts';
import { CONFIG_FILE, MAX_CONFIG_BYTES } from '../../runtime/model/huggingFaceConfig.ts';
import { emptyTargets, loadConfig, parameterCount, refuseUntiedHead } from '../../runtime/model/model.ts';
import { HEAD, parameterSpecs, type TransformerConfig } from '../../runtime/model/transformer.ts';
import { NEVER } from '../../shared/cancellation.ts';
import type { ModelFacts } from '../../shared/models.ts';
import { checkTokenizer } from './models.ts';
import { withTexts } from './texts.ts';

const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) });
const familySchema = z.looseObject({ model_type: z.string() });
const ADVICE = 'copy the model again from its source';
/** The variable with which templates enable reasoning. */
const THINKING = 'enable_thinking';

/**
 * Examines a folder as loading does, but reads no weights: configuration, names, shapes and lengths of
 * all tensors, tokenizer, chat template.
 * @throws C3Error('model') naming the file and the fault, with the messages of loading; CancelledError
 */
export const inspectModel = (folder: string, signal: AbortSignal = NEVER): Promise<ModelFacts> =>
  withTexts(folder, (texts) => readModelFacts(texts, signal));

/** As inspectModel, with an open process for the folder's texts. */
export async function readModelFacts(texts: TextProcess, signal: AbortSignal): Promise<ModelFacts> {
  const { folder } = texts;
  const config = await loadConfig(folder);
  const weights = await inspectWeights(folder, config);
  const tokenizer = await texts.tokenizer(signal);
  const parameters = parameterCount(config);
  checkTokenizer(folder, tokenizer, { snapshot: '', config, parameters });
  const template = await readTemplate(folder);
  if (template !== null) {
    await texts.chat(template, signal);
  }
  return {
    folder,
    family: familySchema.parse(
      JSON.parse((await readModelFile(join(folder, CONFIG_FILE), MAX_CONFIG_BYTES, ADVICE)).toString('utf8')),
    ).model_type,
    parameters,
    ...weights,
    layers: config.layers,
    hiddenSize: config.hiddenSize,
    heads: config.heads,
    keyValueHeads: config.keyValueHeads,
    vocabularySize: config.vocabularySize,
    maxPositions: config.maxPositions,
    tiedEmbeddings: config.tieEmbeddings,
    ropeScaling: formatScaling(config),
    chatTemplate: template === null ? null : basename(template.path),
    reasons: template?.text.includes(THINKING) ?? false,
    endTokens: await tokenizer.pieces(Int32Array.of(tokenizer.endToken, ...tokenizer.otherEndTokens)),
  };
}

/**
 * Checks the name, shape and place of every tensor, and counts.
 * @throws C3Error('model') naming file and tensor
 */
async function inspectWeights(
  folder: string,
  config: TransformerConfig,
): Promise<Pick<ModelFacts, 'precisions' | 'files' | 'bytes'>> {
  const specs = parameterSpecs(config);
  await readWeights(folder, emptyTargets(config), (name) => config.tieEmbeddings && name === HEAD);
  await refuseUntiedHead(folder, config);
  const stored = new Map<string, StoredTensor>();
  const files = await listWeightFiles(folder);
  let bytes = 0;
  for (const file of files) {
    bytes += (await stat(file)).size;
    await SafetensorsFile.reading(file, ({ tensors }) => {
      for (const [name, tensor] of tensors) {
        stored.set(name, tensor);
      }
      return Promise.resolve();
    });
  }
  const counts = new Map<string, number>();
  for (const { name, shape } of specs) {
    const dtype = stored.get(name)?.dtype ?? '?';
    counts.set(dtype, (counts.get(dtype) ?? 0) + shape.reduce((product, dim) => product * dim, 1));
  }
  const precisions = [...counts]
    .map(([dtype, parameters]) => ({ dtype, parameters }))
    .sort((a, b) => b.parameters - a.parameters);
  return { precisions, files: files.length, bytes };
}

/** Returns the weight files of a checked folder, each once. */
async function listWeightFiles(folder: string): Promise<string[]> {
  const single = join(folder, WEIGHTS_FILE);
  if (existsSync(single)) {
    return [single];
  }
  const { weight_map: places } = indexSchema.parse(
    JSON.parse((await readModelFile(join(folder, INDEX_FILE), MAX_INDEX_BYTES, ADVICE)).toString('utf8')),
  );
  return [...new Set(Object.values(places))].sort().map((name) => join(folder, name));
}

function formatScaling({ ropeScaling: scaling }: TransformerConfig): string | null {
  return scaling === undefined ? null : `${scaling.type}, factor ${scaling.factor}`;
}
