/** Hashes of what a run is made of beside its configuration, so that a resume notices when any of it has changed. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Problem } from '../../domain/problem.ts';
import { readRegular } from '../../files/regularFile.ts';
import { readTemplate } from '../../policy/chatTemplate.ts';
import type { Rendering } from '../../policy/rendering.ts';
import { MAX_TOKENIZER_BYTES, TOKENIZER_CONFIG_FILE, TOKENIZER_FILE } from '../../policy/tokenizer.ts';
import { readModelFile } from '../../runtime/files/modelFile.ts';
import { MAX_YAML_BYTES } from '../../shared/text/yaml.ts';
import { testsText } from '../../store/tables/problemTests.ts';
import type { Fingerprint, Recipe, RunData, StoredRecipe } from './recipe.ts';

/** The hashes of a recipe's tokenizer, rendering and data as they are now. @throws C3Error('model') */
export async function fingerprintOf(
  { modelFolder }: Recipe,
  { train, evaluation }: RunData,
  { template }: Rendering,
): Promise<Fingerprint> {
  return {
    train: problemsHash(train),
    evaluation: problemsHash(evaluation),
    ...(await textsFingerprint(modelFolder, { template })),
  };
}

/** The hashes of a folder's tokenizer and of the chat template that contexts go through. @throws C3Error('model') */
export async function textsFingerprint(
  folder: string,
  { template }: Pick<Rendering, 'template'>,
): Promise<Pick<Fingerprint, 'tokenizer' | 'template'>> {
  const tokenizer = createHash('sha256');
  for (const name of [TOKENIZER_FILE, TOKENIZER_CONFIG_FILE]) {
    tokenizer.update(await readModelFile(join(folder, name), MAX_TOKENIZER_BYTES, 'put the file back'));
  }
  return { tokenizer: tokenizer.digest('hex'), template: template === null ? null : templateHash(template) };
}

/** Why a run with a stored fingerprint cannot be resumed, as the end of a sentence; null where nothing has changed. */
export async function changeSince(recipe: StoredRecipe, current: Fingerprint): Promise<string | null> {
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
  // First: a template may be in the tokenizer's configuration. A run without a rendering wrote plain text and goes
  // on so.
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

/**
 * What to say where a stored run's chat template is no longer that of its model folder, as a whole sentence; null where
 * it is.
 */
export async function templateRemark({ modelFolder, rendering }: StoredRecipe, run: string): Promise<string | null> {
  if (rendering === null || rendering.template === null) {
    return null;
  }
  const now = await readTemplate(modelFolder).catch(() => null);
  if (now !== null && templateHash(now) === templateHash(rendering.template)) {
    return null;
  }
  return `The chat template in ${modelFolder} has changed since run ${run} began; its messages are replayed with the one that it began with.`;
}

const templateHash = ({ text }: { readonly text: string }): string => createHash('sha256').update(text).digest('hex');

function problemsHash(problems: readonly Problem[]): string {
  const hash = createHash('sha256');
  // Problems without tests hash as they did before there were any.
  for (const { uid, uidSha, question, answer, tests } of problems) {
    hash.update(
      `${JSON.stringify([uid, uidSha, question, answer, ...(tests === undefined ? [] : [testsText(tests)])])}\n`,
    );
  }
  return hash.digest('hex');
}
