/** Choosing a model folder. */

import assert from 'node:assert/strict';
import { cp, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { isRecord } from '../../src/shared/guard.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { answerPath } from './pathDialog.ts';

export const CHOOSE_MODEL = 'C3: Choose model folder';

const GOLDEN = join(import.meta.dirname, '..', 'fixtures', 'golden');

/** Answers the editor's folder dialog. */
export function answerDialog(workbench: Workbench, folder: string): Promise<void> {
  return answerPath(workbench, 'Choose model folder', 'Choose model folder', folder);
}

/** Picks an entry of the list of folders, which the palette opens, or the button of a panel that is given. */
export async function choose(workbench: Workbench, entry: string, panel?: FrameLocator): Promise<void> {
  // A panel that takes the focus back late, after the palette has closed, closes the question too.
  await eventually(
    'the list of folders',
    async () => {
      if (panel === undefined) {
        await workbench.runCommand(CHOOSE_MODEL);
      } else {
        await panel.getByRole('button', { name: 'Choose another folder' }).click();
      }
      await workbench.pick(entry, 5_000);
      return true;
    },
    120_000,
  );
}

/** Copies a golden model into the workspace, where a user would have put it. */
export async function provide(workbench: Workbench, name: string, as = name): Promise<string> {
  const folder = join(workbench.folder, 'models', as);
  await cp(join(GOLDEN, name), folder, { recursive: true });
  return folder;
}

/** A golden model made wider, and deeper where layers are given: a sparse file, all weights 0. */
export async function provideWide(workbench: Workbench, name: string, width: number, layers?: number): Promise<string> {
  const folder = await provide(workbench, 'llama', name);
  const configFile = join(folder, 'config.json');
  const config: unknown = JSON.parse(await readFile(configFile, 'utf8'));
  assert.ok(isRecord(config));
  const narrow = Number(config['intermediate_size']);
  await writeFile(
    configFile,
    JSON.stringify({ ...config, intermediate_size: width, ...(layers !== undefined && { num_hidden_layers: layers }) }),
  );
  const weightsFile = join(folder, 'model.safetensors');
  let end = 0;
  const stored = await storedTensors(weightsFile);
  const first = stored.filter(([tensor]) => tensor.startsWith('model.layers.0.'));
  const copies = Array.from({ length: layers ?? 0 }, (_, layer) =>
    first.map(([tensor, shape]) => [tensor.replace('.0.', `.${layer}.`), shape] as const),
  ).flat();
  const named =
    layers === undefined ? stored : [...stored.filter(([tensor]) => !tensor.startsWith('model.layers.')), ...copies];
  const tensors = named.map(([tensor, shape]) => {
    const wide = tensor.includes('.mlp.') ? shape.map((dim) => (dim === narrow ? width : dim)) : shape;
    const start = end;
    end += 4 * wide.reduce((product, dim) => product * dim, 1);
    return [tensor, { dtype: 'F32', shape: wide, data_offsets: [start, end] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(tensors)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await writeFile(weightsFile, Buffer.concat([length, header]));
  await truncate(weightsFile, 8 + header.length + end);
  return folder;
}

/** Names and shapes in a safetensors file, by its own header. */
export async function storedTensors(
  file: string,
): Promise<readonly (readonly [name: string, shape: readonly number[]])[]> {
  const data = await readFile(file);
  const header: unknown = JSON.parse(data.subarray(8, 8 + Number(data.readBigUInt64LE(0))).toString('utf8'));
  assert.ok(isRecord(header));
  return Object.entries(header).flatMap(([name, tensor]) =>
    isRecord(tensor) && Array.isArray(tensor['shape']) ? [[name, tensor['shape'].map(Number)] as const] : [],
  );
}

/** The chosen model's panel, with its facts. */
export async function modelPanel(workbench: Workbench, name: string): Promise<FrameLocator> {
  const model = await workbench.webview(`Model ${name}`);
  await model.getByRole('table', { name: 'Model details' }).waitFor();
  return model;
}

/** The plan's numbers, once it is there and not being made anew. */
export async function planText(model: FrameLocator): Promise<string> {
  await model.locator('.plan-body:not(.stale) table').waitFor();
  return model.getByRole('table', { name: 'Memory by item' }).innerText();
}
