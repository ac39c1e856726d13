/** A file with the value head of one snapshot, for evaluation. Training uses checkpoints only. */

import { createHash } from 'node:crypto';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { bytePieces, writeSafetensors } from '../files/safetensors.ts';
import { SafetensorsFile } from '../files/safetensorsFile.ts';
import { writeFileAtomically } from '../files/wholeFile.ts';

const TENSOR = 'value_head.parameters';

/**
 * Writes the weights of a value head, [hidden] in float32 or [hidden + 1] with the bias last, and
 * the name of their snapshot, whole or not at all.
 * @throws C3Error('store')
 */
export async function saveValueHeadFile(path: string, snapshot: string, parameters: Float32Array): Promise<void> {
  await writeFileAtomically(
    path,
    writeSafetensors([{ name: TENSOR, shape: [parameters.length], data: parameters }], 'F32', {
      snapshot,
      sha256: digest(snapshot, parameters),
    }),
  );
}

/**
 * Reads the weights of a value head, [hidden] or [hidden + 1] with the bias last.
 * @throws C3Error('model') if the file cannot be read, is damaged, or is based on another snapshot
 */
export async function loadValueHeadFile(path: string, snapshot: string, hiddenSize: number): Promise<Float32Array> {
  let parameters: Float32Array;
  let metadata: Readonly<Record<string, string>>;
  try {
    ({ parameters, metadata } = await SafetensorsFile.reading(path, async (file) => {
      const biased = file.tensors.get(TENSOR)?.shape[0] === hiddenSize + 1;
      const into = new Float32Array(biased ? hiddenSize + 1 : hiddenSize);
      await file.read({ name: TENSOR, shape: [into.length], into });
      return { parameters: into, metadata: file.metadata };
    }));
  } catch (error) {
    throw new C3Error(
      'model',
      `The value head ${path} cannot be read (${toErrorMessage(error)}); delete it, and the training of its run is repeated to restore it.`,
      { cause: error },
    );
  }
  if (metadata['sha256'] !== digest(metadata['snapshot'] ?? '', parameters)) {
    throw new C3Error(
      'model',
      `The value head ${path} is damaged: its contents do not match its hash; delete it, and the training of its run is repeated to restore it.`,
    );
  }
  if (metadata['snapshot'] !== snapshot) {
    throw new C3Error(
      'model',
      `The value head ${path} was trained on the weights ${(metadata['snapshot'] ?? '').slice(0, 12)}, not on ${snapshot.slice(0, 12)}; put the original file back.`,
    );
  }
  return parameters;
}

function digest(snapshot: string, parameters: Float32Array): string {
  const hash = createHash('sha256').update(`value head of ${snapshot}\n`);
  for (const piece of bytePieces(parameters)) {
    hash.update(piece);
  }
  return hash.digest('hex');
}
