/** Hashes the inputs of a run besides its configuration, so that resuming detects changes. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Problem } from '../../domain/problem.ts';
import { readRegular } from '../../files/regularFile.ts';
import { readTemplate } from '../../policy/chatTemplate.ts';
import type { Rendering } from '../../policy/rendering.ts';
import { MAX_TOKENIZER_BYTES, TOKENIZER_CONFIG_FILE, TOKENIZER_FILE } from '../../policy/tokenizer.ts';
import { readModelFile } from '../../runtime/files/modelFile.ts';
import { MAX_YAML_BYTES } from '../../shared/text/yaml.ts';
import { formatTests } from '../../store/tables/problemTests.ts';
import type { Fingerprint, Recipe, RunData, StoredRecipe } from './recipe.ts';

/** Returns the hashes of a recipe's current tokenizer, rendering and data. @throws C3Error('model') */
export async function computeFingerprint(
  { modelFolder }: Recipe,
  { train, evaluation }: RunData,
  { template }: Rendering,
): Promise<Fingerprint> {
  return {
    train: hashProblems(train),
    evaluation: hashProblems(evaluation),
    ...(await computeTextsFingerprint(modelFolder, { template })),
  };
}

/**
 * Returns the hashes of a folder's tokenizer and of the chat template of the contexts.
 * @throws C3Error('model')
 */
export async function computeTextsFingerprint(
  folder: string,
  { template }: Pick<Rendering, 'template'>,
): Promise<Pick<Fingerprint, 'tokenizer' | 'template'>> {
  const tokenizer = createHash('sha256');
  for (const name of [TOKENIZER_FILE, TOKENIZER_CONFIG_FILE]) {
    tokenizer.update(await readModelFile(join(folder, name), MAX_TOKENIZER_BYTES, 'put the file back'));
  }
  return { tokenizer: tokenizer.digest('hex'), template: template === null ? null : hashTemplate(template) };
}

/** Returns the end of a sentence on why a run cannot be resumed; null if nothing has changed. */
export async function describeChange(recipe: StoredRecipe, current: Fingerprint): Promise<string | null> {
  const { fingerprint: stored, config, protocolText, protocolSource, modelFolder } = recipe;
  if (stored === null) {
    return 'it was stored by a version that did not record its inputs; start a new run.';
  }
  const { train_file: trainFile, evaluation_file: evaluationFile } = config.task;
  const data = (name: string | null): string => (name === null ? 'that are generated' : `in ${name}`);
  if (stored.train !== current.train) {
    return `the training problems ${data(trainFile)} have changed since it began; put the old ones back, or start a new run.`;
  }
  if (stored.evaluation !== current.evaluation) {
    return `the evaluation problems ${data(evaluationFile ?? trainFile)} have changed since it began; put the old ones back, or start a new run.`;
  }
  // Checked before the tokenizer, whose configuration may contain the template. A run without a stored
  // rendering wrote plain text and still does.
  if (recipe.rendering !== null && stored.template !== current.template) {
    return `the chat template in ${modelFolder} has changed since it began; put the old one back, or start a new run.`;
  }
  if (stored.tokenizer !== current.tokenizer) {
    return `the tokenizer in ${modelFolder} has changed since it began; put the old one back, or start a new run.`;
  }
  const protocol = await readRegular(protocolSource, MAX_YAML_BYTES, 'name an existing protocol file').then(
    (bytes) => bytes.toString('utf8'),
    () => protocolText,
  );
  return protocol === protocolText
    ? null
    : `the protocol ${protocolSource} has changed since it began; put the old one back, or start a new run.`;
}

/** Returns a remark if the chat template of a stored run has changed in its folder, or null. */
export async function describeTemplateChange(
  { modelFolder, rendering }: StoredRecipe,
  run: string,
): Promise<string | null> {
  if (rendering === null || rendering.template === null) {
    return null;
  }
  const now = await readTemplate(modelFolder).catch(() => null);
  if (now !== null && hashTemplate(now) === hashTemplate(rendering.template)) {
    return null;
  }
  return `The chat template in ${modelFolder} has changed since run ${run} began; its messages are replayed with the one that it began with.`;
}

const hashTemplate = ({ text }: { readonly text: string }): string => createHash('sha256').update(text).digest('hex');

function hashProblems(problems: readonly Problem[]): string {
  const hash = createHash('sha256');
  // Problems without tests keep the hash that they had before tests existed.
  for (const { uid, uidSha, question, answer, tests } of problems) {
    hash.update(
      `${JSON.stringify([uid, uidSha, question, answer, ...(tests === undefined ? [] : [formatTests(tests)])])}\n`,
    );
  }
  return hash.digest('hex');
}
