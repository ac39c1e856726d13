/** Exports trained weights: adapters in the layout of PEFT, or a model in that of Hugging Face. */

import { constants } from 'node:fs';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { TEMPLATE_FILE } from '../../policy/chatTemplate.ts';
import { GENERATION_FILE, TOKENIZER_CONFIG_FILE, TOKENIZER_FILE } from '../../policy/tokenizer.ts';
import { WEIGHTS_FILE } from '../../runtime/files/huggingFaceWeights.ts';
import { CONFIG_FILE } from '../../runtime/model/huggingFaceConfig.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';

export type WeightFormat = 'adapter' | 'model';

/** Files that a model folder may contain besides its weights. */
const COMPANIONS = [CONFIG_FILE, TOKENIZER_FILE, TOKENIZER_CONFIG_FILE, GENERATION_FILE, TEMPLATE_FILE];

/**
 * Writes a snapshot that the runtime has loaded into a new or empty folder.
 * @param modelFolder the model that the snapshot's run began with
 * @returns the folders to load
 * @throws C3Error('input') if the folder is not empty; C3Error('model') if the snapshot does not have
 *   this format; C3Error('store')
 */
export async function exportWeights(
  runtime: Pick<ModelRuntime, 'hasAdapter' | 'saveAdapter' | 'saveSnapshot'>,
  snapshot: string,
  format: WeightFormat,
  out: string,
  modelFolder: string,
): Promise<readonly string[]> {
  await ensureEmptyFolder(out);
  // Only the name: the path is specific to this machine.
  if (format === 'adapter') {
    return runtime.saveAdapter(snapshot, out, basename(modelFolder));
  }
  if (await runtime.hasAdapter(snapshot)) {
    throw new C3Error(
      'model',
      `Snapshot ${snapshot.slice(0, 12)} has an adapter beside a model that was not trained; export the format adapter.`,
    );
  }
  // The weights are written last, so that a folder with weights is complete.
  for (const name of COMPANIONS) {
    await copyIfPresent(join(modelFolder, name), join(out, name));
  }
  await runtime.saveSnapshot(snapshot, join(out, WEIGHTS_FILE));
  return [out];
}

async function ensureEmptyFolder(folder: string): Promise<void> {
  let names: string[];
  try {
    await mkdir(folder, { recursive: true });
    names = await readdir(folder);
  } catch (error) {
    throw new C3Error('store', `Cannot make the folder ${folder}: ${toErrorMessage(error)}; choose another one.`, {
      cause: error,
    });
  }
  if (names.length > 0) {
    throw new C3Error('input', `The folder ${folder} is not empty; choose a new one, nothing there is overwritten.`);
  }
}

async function copyIfPresent(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return;
    }
    throw new C3Error('store', `Cannot copy ${from} to ${to}: ${toErrorMessage(error)}; choose another folder.`, {
      cause: error,
    });
  }
}
