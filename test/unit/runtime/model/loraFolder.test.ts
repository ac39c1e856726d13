/** Adapters on disk, in PEFT's layout. */

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { readSafetensors, writeSafetensors, type NamedTensor } from '../../../../src/runtime/files/safetensors.ts';
import { adapterViews, initialAdapter, WHOLE_TEAM, withAdapter } from '../../../../src/runtime/model/lora.ts';
import {
  isAdapterFile,
  loadAdapterFile,
  loadAdapters,
  saveAdapterFile,
  saveAdapters,
  selectTargetModules,
} from '../../../../src/runtime/model/loraFolder.ts';
import { loadModel, snapshotId } from '../../../../src/runtime/model/model.ts';
import { ADAPTER_MODULES, type AdapterSettings } from '../../../../src/runtime/model/transformer.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { initialState, selectPolicyWeights } from '../../../../src/runtime/train/trainingState.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { FAMILIES, folderOf } from '../../golden.ts';
import { context, DEVICE, message, RUNNING, TINY } from '../models.ts';
import { present, range } from '../nd.ts';

const SETTINGS: AdapterSettings = { rank: 2, alpha: 3, targetModules: ['v_proj', 'o_proj'] };
const FLAT = initialAdapter(TINY, SETTINGS, 1).map((value, index) => value + 0.01 * (index % 7));
const ORIGIN = { settings: SETTINGS, base: 'ab12' };
const team = (flat: Float32Array): Map<string, Float32Array> => new Map([[WHOLE_TEAM, flat]]);

let temporary: string;
before(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'c3-adapter-'));
});
after(() => rm(temporary, { recursive: true, force: true }));

async function saved(): Promise<string> {
  const folder = join(await mkdtemp(join(temporary, 'saved-')), 'adapter');
  await saveAdapters(folder, TINY, ORIGIN, team(FLAT), 'Qwen/Qwen2.5-3B-Instruct');
  return folder;
}

describe('an adapter folder', () => {
  it('holds the names, shapes and keys of PEFT', async () => {
    const folder = await saved();
    assert.deepEqual((await readdir(folder)).sort(), ['adapter_config.json', 'adapter_model.safetensors']);
    const { tensors, metadata } = readSafetensors(await readFile(join(folder, 'adapter_model.safetensors')), 'file');
    assert.equal(metadata['format'], 'pt');
    const expected = range(2).flatMap((layer) => [
      [`base_model.model.model.layers.${layer}.self_attn.v_proj.lora_A.weight`, 2, 16],
      [`base_model.model.model.layers.${layer}.self_attn.v_proj.lora_B.weight`, 12, 2],
      [`base_model.model.model.layers.${layer}.self_attn.o_proj.lora_A.weight`, 2, 24],
      [`base_model.model.model.layers.${layer}.self_attn.o_proj.lora_B.weight`, 16, 2],
    ]);
    assert.deepEqual(
      [...tensors.values()].map(({ name, shape }) => [name, ...shape]),
      expected,
    );
    assert.deepEqual(JSON.parse(await readFile(join(folder, 'adapter_config.json'), 'utf8')), {
      peft_type: 'LORA',
      r: 2,
      lora_alpha: 3,
      target_modules: ['v_proj', 'o_proj'],
      task_type: 'CAUSAL_LM',
      base_model_name_or_path: 'Qwen/Qwen2.5-3B-Instruct',
      bias: 'none',
      lora_dropout: 0,
      fan_in_fan_out: false,
      use_dora: false,
      use_rslora: false,
      inference_mode: true,
    });
  });

  it('is read as it was written, and so is its weights file alone', async () => {
    const folder = await saved();
    assert.deepEqual(await loadAdapters(folder, TINY), { settings: SETTINGS, adapters: team(FLAT), base: 'ab12' });
    assert.deepEqual(await loadAdapterFile(join(folder, 'adapter_model.safetensors'), TINY), {
      settings: SETTINGS,
      adapters: team(FLAT),
      base: 'ab12',
    });
  });

  it('is read as PEFT writes it: no word of ours in it, keys that are off, tensors in another order and in float16', async () => {
    const folder = await saved();
    const path = join(folder, 'adapter_model.safetensors');
    const tensors = [...readSafetensors(await readFile(path), path).tensors.values()].reverse();
    await writeFile(
      path,
      writeSafetensors(
        tensors.map((tensor) => ({ ...tensor, data: tensor.data.map((value) => Math.round(value * 256) / 256) })),
        'F16',
        { format: 'pt' },
      ),
    );
    await rewriteConfig(folder, {
      alpha_pattern: {},
      rank_pattern: {},
      modules_to_save: null,
      layers_to_transform: null,
      bias: 'none',
      init_lora_weights: true,
      lora_dropout: 0.05,
      revision: null,
      megatron_core: 'megatron.core',
    });
    const { adapters, base } = await loadAdapters(folder, TINY);
    assert.deepEqual(adapters, team(FLAT.map((value) => Math.round(value * 256) / 256)));
    assert.equal(base, null);
    await assert.rejects(
      loadAdapterFile(path, TINY),
      says(`${path} does not say what adapter it holds; choose the folder with its adapter_config.json.`),
    );
  });
});

const says =
  (message: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof C3Error);
    assert.equal(error.message, message);
    return true;
  };

async function rewriteConfig(folder: string, more: Readonly<Record<string, unknown>>): Promise<void> {
  const path = join(folder, 'adapter_config.json');
  await writeFile(path, JSON.stringify({ ...(JSON.parse(await readFile(path, 'utf8')) as object), ...more }));
}

async function rewriteTensors(folder: string, change: (tensors: NamedTensor[]) => NamedTensor[]): Promise<void> {
  const path = join(folder, 'adapter_model.safetensors');
  await writeFile(
    path,
    writeSafetensors(change([...readSafetensors(await readFile(path), path).tensors.values()]), 'F32', {
      format: 'pt',
    }),
  );
}

it('the target modules of PEFT are names, ends of names, a pattern, or all that is linear', async () => {
  for (const modules of [
    ['self_attn.v_proj', 'o_proj'],
    '.*\\.(v|o)_proj',
    'model\\.layers\\.\\d+\\.self_attn\\.[vo]_proj',
  ]) {
    const folder = await saved();
    await rewriteConfig(folder, { target_modules: modules });
    assert.deepEqual((await loadAdapters(folder, TINY)).settings, SETTINGS, String(modules));
  }
  assert.deepEqual(selectTargetModules('all-linear', 2, 'x'), [...ADAPTER_MODULES]);
});

describe('an adapter folder that is refused', () => {
  const CONFIGS: readonly (readonly [more: Readonly<Record<string, unknown>>, message: string])[] = [
    [{ target_modules: ['q_proj', 'vproj'] }, '"vproj" is not a target module; did you mean v_proj?'],
    [{ target_modules: ['lm_head'] }, `"lm_head" is not a target module; choose from ${ADAPTER_MODULES.join(', ')}.`],
    [
      { target_modules: '.*layers\\.0\\..*' },
      'target_modules asks for q_proj in 1 of 2 layers, which the runtime does not compute.',
    ],
    [{ target_modules: '.*' }, 'target_modules matches lm_head, which the runtime does not compute.'],
    [
      { target_modules: 'attn' },
      'target_modules: no matrix of this model matches "attn"; choose the model that the adapter was trained over.',
    ],
    [{ use_dora: true }, 'use_dora asks for weight-decomposed adapters (DoRA), which the runtime does not compute.'],
    [
      { rank_pattern: { q_proj: 4 } },
      'rank_pattern asks for separate ranks for some modules, which the runtime does not compute.',
    ],
    [
      { modules_to_save: ['lm_head'] },
      'modules_to_save asks for modules that are trained whole, which the runtime does not compute.',
    ],
    [
      { layers_to_transform: 0 },
      'layers_to_transform asks for an adapter on some layers only, which the runtime does not compute.',
    ],
    [{ bias: 'all' }, 'bias asks for trained biases, which the runtime does not compute.'],
  ];
  for (const [more, message] of CONFIGS) {
    it(JSON.stringify(more), async () => {
      const folder = await saved();
      await rewriteConfig(folder, more);
      await assert.rejects(loadAdapters(folder, TINY), says(`${join(folder, 'adapter_config.json')}: ${message}`));
    });
  }

  for (const more of [{ peft_type: 'IA3' }, { r: 0 }, { r: 1.5 }, { lora_alpha: -1 }, { target_modules: 3 }]) {
    it(JSON.stringify(more), async () => {
      const folder = await saved();
      await rewriteConfig(folder, more);
      const key = present(Object.keys(more)[0]);
      await assert.rejects(
        loadAdapters(folder, TINY),
        (error) =>
          error instanceof C3Error &&
          error.message.startsWith(`${join(folder, 'adapter_config.json')}: ${key}: `) &&
          error.message.endsWith(
            'a LoRA adapter has peft_type LORA, r, lora_alpha and a list or pattern of target_modules.',
          ),
      );
    });
  }

  const NAME = 'base_model.model.model.layers.1.self_attn.o_proj.lora_B.weight';
  const TENSORS: readonly (readonly [
    what: string,
    change: (tensors: NamedTensor[]) => NamedTensor[],
    message: string,
  ])[] = [
    [
      'a missing tensor',
      (tensors) => tensors.filter(({ name }) => name !== NAME),
      `tensor ${NAME} is missing; choose the model that the adapter was trained over.`,
    ],
    [
      'a surplus tensor',
      (tensors) => [...tensors, { name: NAME.replace('o_proj', 'q_proj'), shape: [1], data: new Float32Array(1) }],
      `tensor "${NAME.replace('o_proj', 'q_proj')}" belongs to no target module of this model; choose the model that the adapter was trained over.`,
    ],
    [
      'another base',
      (tensors) =>
        tensors.map((tensor) =>
          tensor.name === NAME ? { ...tensor, shape: [8, 2], data: new Float32Array(16) } : tensor,
        ),
      `tensor ${NAME} has shape [8, 2] where [16, 2] is needed: the adapter was trained over another model.`,
    ],
    [
      'another rank',
      (tensors) =>
        tensors.map((tensor) =>
          tensor.name === NAME ? { ...tensor, shape: [16, 4], data: new Float32Array(64) } : tensor,
        ),
      `tensor ${NAME} has shape [16, 4] where [16, 2] is needed: its rank is not 2 as adapter_config.json says.`,
    ],
    [
      'a number that is none',
      (tensors) =>
        tensors.map((tensor) => (tensor.name === NAME ? { ...tensor, data: tensor.data.map(() => NaN) } : tensor)),
      `tensor ${NAME} holds a value that is not a finite number; copy the weights again from their source.`,
    ],
  ];
  for (const [what, change, message] of TENSORS) {
    it(what, async () => {
      const folder = await saved();
      await rewriteTensors(folder, change);
      await assert.rejects(
        loadAdapters(folder, TINY),
        says(`${join(folder, 'adapter_model.safetensors')}: ${message}`),
      );
    });
  }

  it('a truncated file, no file, no JSON', async () => {
    const folder = await saved();
    await truncate(join(folder, 'adapter_model.safetensors'), 2000);
    await assert.rejects(loadAdapters(folder, TINY), /adapter_model\.safetensors: tensor \S+ is truncated/);
    await rm(join(folder, 'adapter_model.safetensors'));
    await assert.rejects(
      loadAdapters(folder, TINY),
      /Cannot read \S+adapter_model\.safetensors: .*; choose a folder with adapter_config\.json/,
    );
    await writeFile(join(folder, 'adapter_config.json'), '{');
    await assert.rejects(loadAdapters(folder, TINY), /adapter_config\.json: this is not JSON/);
  });
});

for (const family of FAMILIES) {
  it(`an adapter trained over the ${family} checkpoint reloads to the same log-probabilities, bit for bit`, async () => {
    const { config, parameters: base } = await loadModel(folderOf(family));
    const settings: AdapterSettings = { rank: 4, alpha: 8, targetModules: ADAPTER_MODULES };
    const origin = { settings, base: snapshotId(config, base) };
    const contexts = [context('golden', 9, 5, 3)];
    const trainer = new Trainer(withAdapter(config, settings), DEVICE);
    let state = initialState(initialAdapter(config, settings, 2), { ...origin, model: base });
    for (const rate of [0.01, 0.02]) {
      ({ state } = await trainer.step(
        state,
        contexts,
        { loss: 'supervised', learningRate: rate, temperature: 1, klCoefficient: 0 },
        RUNNING.signal,
      ));
    }
    const trained = await trainer.score(selectPolicyWeights(state), contexts, 1, RUNNING.signal);
    const path = join(temporary, `${family}.safetensors`);
    await saveAdapterFile(path, config, origin, team(state.parameters));
    const read = await loadAdapterFile(path, config);
    const [adapter = new Float32Array()] = [...read.adapters.values()];
    assert.deepEqual(await trainer.score({ model: base, adapter }, contexts, 1, RUNNING.signal), trained);
    assert.notDeepEqual(
      await trainer.score({ model: base, adapter: initialAdapter(config, settings, 2) }, contexts, 1, RUNNING.signal),
      trained,
    );
    assert.equal(read.base, origin.base);
    assert.equal(
      adapter.length,
      adapterViews(config, settings).reduce((total, { length }) => total + length, 0),
    );
    await trainer.release();
  });
}

it('an adapter that PEFT 0.21 wrote gives the log-probabilities that Transformers computes with it', async () => {
  const folder = join(import.meta.dirname, '../../../fixtures/peft');
  const { ids, prompt, logprobs } = z
    .object({ ids: z.array(z.int()), prompt: z.int(), logprobs: z.array(z.number()) })
    .parse(JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8')));
  const { config, parameters: model } = await loadModel(folderOf('qwen3'));
  const { settings, adapters, base } = await loadAdapters(folder, config);
  assert.deepEqual(
    [settings, base],
    [{ rank: 3, alpha: 7, targetModules: ['q_proj', 'down_proj', 'o_proj', 'v_proj', 'up_proj'] }, null],
  );
  const trainer = new Trainer(withAdapter(config, settings), DEVICE);
  const contexts = [
    { prompt: Int32Array.from(ids.slice(0, prompt)), messages: [message(Int32Array.from(ids.slice(prompt)))] },
  ];
  const scores = (
    await trainer.score({ model, adapter: present(adapters.get(WHOLE_TEAM)) }, contexts, 1, RUNNING.signal)
  )
    .flat()
    .flatMap((values) => [...values]);
  assert.equal(scores.length, 6);
  scores.forEach((value, index) =>
    assert.ok(
      Math.abs(value - present(logprobs[prompt - 1 + index])) < 1e-4,
      `${value} is not ${logprobs[prompt - 1 + index]}`,
    ),
  );
  await trainer.release();
});

describe('adapters of several roles', () => {
  const OTHER = FLAT.map((value) => -value);
  const ROLES = new Map([
    ['actor', FLAT],
    ['the "reasoner"/..', OTHER],
  ]);

  it('come back from one file, whose names and order cannot be mistaken', async () => {
    const path = join(temporary, 'roles.safetensors');
    await saveAdapterFile(path, TINY, ORIGIN, new Map([...ROLES].reverse()));
    assert.deepEqual(await loadAdapterFile(path, TINY), { settings: SETTINGS, adapters: ROLES, base: 'ab12' });
    assert.ok(await isAdapterFile(path));
    const bytes = await readFile(path);
    await writeFile(path, Buffer.from(bytes.toString('latin1').replaceAll('agent_1.', 'agent_2.'), 'latin1'));
    await assert.rejects(loadAdapterFile(path, TINY), /tensor \S*lora_A\.weight is missing/);
  });

  it('are folders that others load one by one; a name that is no folder name gets a number', async () => {
    const folder = join(temporary, 'roles');
    assert.deepEqual(await saveAdapters(folder, TINY, ORIGIN, ROLES, null), [
      join(folder, 'actor'),
      join(folder, 'agent-1'),
    ]);
    assert.deepEqual((await readdir(folder)).sort(), ['actor', 'agent-1']);
    assert.deepEqual(await loadAdapters(join(folder, 'agent-1'), TINY), {
      settings: SETTINGS,
      adapters: team(OTHER),
      base: 'ab12',
    });
    assert.deepEqual(await loadAdapters(folder, TINY), { settings: SETTINGS, adapters: ROLES, base: 'ab12' });
  });

  it('are refused where they do not belong together, or where there is none', async () => {
    const folder = join(temporary, 'mixed');
    await saveAdapters(folder, TINY, ORIGIN, ROLES, null);
    await saveAdapters(folder, TINY, { ...ORIGIN, base: 'cd34' }, new Map([['actor', FLAT]]), null);
    await assert.rejects(
      loadAdapters(folder, TINY),
      says(
        `${join(folder, 'agent-1')} holds an adapter of other settings or over other weights than its neighbors; the adapters of one team share them.`,
      ),
    );
    await assert.rejects(loadAdapters(temporary, TINY), /has no adapter_config\.json, nor have the folders in it/);
  });
});
