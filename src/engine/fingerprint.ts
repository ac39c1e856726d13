/** Hashes of what a run is made of beside its configuration, so that a resume notices when any of it has changed. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TOKENIZER_CONFIG_FILE, TOKENIZER_FILE } from '../policy/tokenizer.ts';
import { C3Error, messageOf } from '../shared/errors.ts';
import type { Instance } from '../shared/records.ts';
import { testsText } from '../store/instanceTests.ts';
import type { Fingerprint, Recipe, RunData } from './recipe.ts';

/** The hashes of a recipe's tokenizer and data as they are now. @throws C3Error('model') */
export async function fingerprintOf({ modelFolder }: Recipe, { train, evaluation }: RunData): Promise<Fingerprint> {
  const tokenizer = createHash('sha256');
  for (const name of [TOKENIZER_FILE, TOKENIZER_CONFIG_FILE]) tokenizer.update(await readNamed(join(modelFolder, name)));
  return { train: instancesHash(train), evaluation: instancesHash(evaluation), tokenizer: tokenizer.digest('hex') };
}

/** Why a run with a stored fingerprint cannot be resumed, as the end of a sentence; null where nothing has changed. */
export async function changeSince(recipe: Recipe, stored: Fingerprint | null, current: Fingerprint): Promise<string | null> {
  const { config, protocolText, protocolSource, modelFolder } = recipe;
  if (stored === null) return 'it was stored by a version that did not note what it was made of; start a new run.';
  const { train_file: trainFile, evaluation_file: evaluationFile } = config.task;
  const data = (name: string | null): string => (name === null ? 'that are generated' : `in ${name}`);
  if (stored.train !== current.train) return `the training instances ${data(trainFile)} have changed since it began; put the old ones back, or start a new run.`;
  if (stored.evaluation !== current.evaluation) return `the evaluation instances ${data(evaluationFile ?? trainFile)} have changed since it began; put the old ones back, or start a new run.`;
  if (stored.tokenizer !== current.tokenizer) return `the tokenizer in ${modelFolder} has changed since it began; put the old one back, or start a new run.`;
  const protocol = await readFile(protocolSource, 'utf8').catch(() => protocolText);
  return protocol === protocolText ? null : `the protocol ${protocolSource} has changed since it began; put the old one back, or start a new run.`;
}

function instancesHash(instances: readonly Instance[]): string {
  const hash = createHash('sha256');
  // Instances without tests hash as they did before there were any.
  for (const { uid, uidSha, question, answer, tests } of instances) hash.update(`${JSON.stringify([uid, uidSha, question, answer, ...(tests === undefined ? [] : [testsText(tests)])])}\n`);
  return hash.digest('hex');
}

async function readNamed(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new C3Error('model', `Cannot read ${path}: ${messageOf(error)}; put the file back.`, { cause: error });
  }
}
