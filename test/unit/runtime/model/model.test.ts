import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { writeSafetensors } from '../../../../src/runtime/files/safetensors.ts';
import {
  initialParameters,
  loadModel,
  loadParameters,
  parameterCount,
  parameterFeeds,
  parameterViews,
  saveModel,
  saveParameters,
  snapshotId,
} from '../../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { testParameters, TINY } from '../models.ts';
import { item, present, total } from '../nd.ts';

const UNTIED: TransformerConfig = { ...TINY, tieEmbeddings: false };

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-model-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** A folder with a good model, and its config.json as an object. */
async function saved(name: string): Promise<{ path: string; config: Record<string, unknown> }> {
  const path = join(folder, name);
  await saveModel(path, { config: UNTIED, parameters: testParameters(UNTIED) }, 'F32');
  return { path, config: JSON.parse(await readFile(join(path, 'config.json'), 'utf8')) as Record<string, unknown> };
}

const refuses = (work: Promise<unknown>, pattern: RegExp): Promise<void> =>
  assert.rejects(
    work,
    (error) =>
      error instanceof C3Error &&
      error.kind === 'model' &&
      pattern.test(error.message) &&
      !error.message.includes('\n'),
  );

describe('a model folder', () => {
  it('gives back configuration and every bit of the weights', async () => {
    const { path } = await saved('whole');
    const { config, parameters } = await loadModel(path);
    assert.deepEqual(config, UNTIED);
    assert.deepEqual(parameters, testParameters(UNTIED));
    assert.deepEqual((await readdir(path)).sort(), ['config.json', 'model.safetensors']);
  });

  it('in half precision gives back rounded weights', async () => {
    const path = join(folder, 'half');
    const parameters = testParameters(UNTIED);
    await saveModel(path, { config: UNTIED, parameters }, 'F16');
    (await loadModel(path)).parameters.forEach((value, index) =>
      assert.ok(Math.abs(value - item(parameters, index)) <= 2 ** -11 * Math.abs(item(parameters, index)) + 2 ** -25),
    );
  });

  it('without a file is refused by name', async () => {
    await refuses(loadModel(join(folder, 'nowhere')), /Cannot read .*nowhere\/config\.json: .*choose a folder/);
    const { path } = await saved('without weights');
    await rm(join(path, 'model.safetensors'));
    await refuses(loadModel(path), /Cannot read .*model\.safetensors/);
  });

  it('with an impossible configuration is refused by key', async () => {
    const { path, config } = await saved('configurations');
    const withConfig = async (text: string): Promise<unknown> => {
      await writeFile(join(path, 'config.json'), text);
      return loadModel(path);
    };
    const withKeys = (keys: object): Promise<unknown> => withConfig(JSON.stringify({ ...config, ...keys }));
    await refuses(withConfig('{"model_type": '), /config\.json is not JSON/);
    await refuses(withConfig('[]'), /config\.json is not a JSON object/);
    await refuses(
      withKeys({ model_type: 'mistral' }),
      /model_type: "mistral" is not supported; choose a model of llama, qwen2, qwen3/,
    );
    await refuses(withKeys({ model_type: 'qwen3', head_dim: undefined }), /head_dim: /);
    await refuses(withKeys({ head_dim: 5 }), /head_dim: /);
    await refuses(withKeys({ hidden_size: 16.5 }), /hidden_size: /);
    await refuses(withKeys({ num_hidden_layers: 0 }), /num_hidden_layers: /);
    await refuses(withKeys({ num_key_value_heads: 3 }), /num_attention_heads is not a multiple/);
  });

  it('whose weights belong to another configuration is refused by tensor', async () => {
    const { path, config } = await saved('other weights');
    const withKeys = async (keys: object): Promise<unknown> => {
      await writeFile(join(path, 'config.json'), JSON.stringify({ ...config, ...keys }));
      return loadModel(path);
    };
    await refuses(withKeys({ num_hidden_layers: 3 }), /tensor model\.layers\.2\.input_layernorm\.weight is missing/);
    await refuses(
      withKeys({ intermediate_size: 32 }),
      /tensor model\.layers\.0\.mlp\.gate_proj\.weight has shape \[24, 16\] where config\.json needs \[32, 16\]/,
    );
  });

  it('whose weights hold no number is refused by tensor', async () => {
    const parameters = testParameters(UNTIED);
    const view = present(parameterViews(UNTIED).find(({ name }) => name === 'model.norm.weight'));
    for (const value of [NaN, Infinity]) {
      parameters[view.offset + 3] = value;
      const path = join(folder, 'broken.safetensors');
      await saveParameters(UNTIED, parameters, path);
      await refuses(
        loadParameters(UNTIED, path),
        /tensor model\.norm\.weight holds a value that is not a finite number/,
      );
    }
  });

  it('may hold more tensors than the architecture has', async () => {
    const path = join(folder, 'more.safetensors');
    const parameters = testParameters(UNTIED);
    const tensors = parameterViews(UNTIED).map(({ name, shape, offset, length }) => ({
      name,
      shape,
      data: parameters.subarray(offset, offset + length),
    }));
    await writeFile(
      path,
      writeSafetensors(
        [{ name: 'rotary.inv_freq', shape: [1], data: Float32Array.of(1) }, ...tensors.reverse()],
        'F32',
      ),
    );
    assert.deepEqual(await loadParameters(UNTIED, path), parameters);
  });

  it('that cannot be written says so and leaves nothing behind', async () => {
    const place = join(folder, 'full');
    await mkdir(join(place, 'x.safetensors'), { recursive: true });
    for (const path of [join(place, 'no such folder', 'x.safetensors'), join(place, 'x.safetensors')]) {
      await assert.rejects(
        saveParameters(TINY, testParameters(TINY), path),
        (error) =>
          error instanceof C3Error && error.kind === 'store' && error.message.startsWith(`Cannot write ${path}: `),
      );
    }
    assert.deepEqual(await readdir(place), ['x.safetensors']);
  });
});

describe('an output projection beside the embeddings that it is tied to', () => {
  const stored = async (change: (value: number) => number): Promise<string> => {
    const path = join(await mkdtemp(join(folder, 'tied-')), 'model');
    const flat = testParameters(TINY);
    await saveModel(path, { config: TINY, parameters: flat }, 'F32');
    const tensors = parameterViews(TINY).map(({ name, shape, offset, length }) => ({
      name,
      shape,
      data: flat.subarray(offset, offset + length),
    }));
    const embedding = present(tensors.find(({ name }) => name === 'model.embed_tokens.weight'));
    const head = { ...embedding, name: 'lm_head.weight', data: embedding.data.map(change) };
    await writeFile(join(path, 'model.safetensors'), writeSafetensors([...tensors, head], 'F32'));
    return path;
  };

  it('is left out where it holds their numbers, and refused where it holds others', async () => {
    assert.deepEqual((await loadModel(await stored((value) => value))).parameters, testParameters(TINY));
    await assert.rejects(
      loadModel(await stored((value) => value + 2 ** -10)),
      /ties the output projection.*lm_head\.weight is stored with other values/u,
    );
  });
});

describe('parameters', () => {
  it('lie one after another', () => {
    const views = parameterViews(UNTIED);
    let offset = 0;
    for (const view of views) {
      assert.equal(view.offset, offset);
      assert.equal(
        view.length,
        view.shape.reduce((a, b) => a * b, 1),
      );
      offset += view.length;
    }
    // 22 x 16 twice; two layers of 2 norms, q and o of 24 x 16, k and v of 12 x 16, three of 24 x 16; the last norm.
    assert.equal(offset, 2 * 22 * 16 + 2 * (2 * 16 + 2 * 24 * 16 + 2 * 12 * 16 + 3 * 24 * 16) + 16);
    assert.equal(parameterCount(UNTIED), offset);
  });

  it('are given to graphs as views, with q, k and v of a layer joined', () => {
    const flat = testParameters(TINY);
    const feeds = parameterFeeds(TINY, flat);
    const joined = present(feeds['model.layers.1.self_attn.qkv_proj.weight']);
    const [q, k, v] = ['q', 'k', 'v'].map((part) =>
      present(parameterViews(TINY).find(({ name }) => name === `model.layers.1.self_attn.${part}_proj.weight`)),
    );
    assert.deepEqual(joined.dims, [48, 16]);
    const data = joined.data as Float32Array;
    assert.deepEqual(
      data,
      Float32Array.from(
        [q, k, v].flatMap((view) => [
          ...flat.subarray(present(view).offset, present(view).offset + present(view).length),
        ]),
      ),
    );
    assert.equal(data.buffer, flat.buffer);
    assert.equal(total(Object.values(feeds).map(({ size }) => size)), flat.length);
  });

  it('begin as GPT-2 does: norms at one, normal elsewhere, output projections narrower', () => {
    const config: TransformerConfig = { ...TINY, hiddenSize: 64, intermediateSize: 96, vocabularySize: 80 };
    const flat = initialParameters(config, 3);
    for (const { name, offset, length } of parameterViews(config)) {
      const values = [...flat.subarray(offset, offset + length)];
      if (name.endsWith('norm.weight')) {
        assert.deepEqual(new Set(values), new Set([1]));
        continue;
      }
      const deviation = /(o_proj|down_proj)/.test(name) ? 0.02 / Math.sqrt(4) : 0.02;
      const [mean, square] = [total(values) / length, total(values.map((value) => value ** 2)) / length];
      // Five standard errors.
      assert.ok(Math.abs(mean) < (5 * deviation) / Math.sqrt(length), `${name}: mean ${mean}`);
      assert.ok(Math.abs(square / deviation ** 2 - 1) < 5 * Math.sqrt(2 / length), `${name}: ${square}`);
    }
    assert.deepEqual(initialParameters(config, 3), flat);
    assert.notDeepEqual(initialParameters(config, 4), flat);
  });

  it('are named by SHA-256 over configuration and bytes', () => {
    const flat = testParameters(TINY);
    const id = snapshotId(TINY, flat);
    const json =
      '{"model_type":"llama","vocab_size":22,"hidden_size":16,"intermediate_size":24,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":6,' +
      `"rms_norm_eps":${2 ** -16},"rope_theta":100,"max_position_embeddings":64,"tie_word_embeddings":true}`;
    assert.equal(id, createHash('sha256').update(json).update(Buffer.from(flat.buffer)).digest('hex'));
    assert.equal(snapshotId(TINY, flat.slice()), id);
    assert.notEqual(snapshotId(TINY, flat.with(7, item(flat, 7) + 1e-6)), id);
    assert.notEqual(snapshotId({ ...TINY, ropeTheta: 101 }, flat), id);
    // A view into a longer vector is named by its own bytes.
    const longer = new Float32Array(flat.length + 5);
    longer.set(flat, 5);
    assert.equal(snapshotId(TINY, longer.subarray(5)), id);
  });
});
