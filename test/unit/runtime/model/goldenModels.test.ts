/** Tiny random checkpoints of three families, and what Transformers computed with them. */

import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readSafetensors, writeSafetensors, type NamedTensor } from '../../../../src/runtime/files/safetensors.ts';
import { Generator, type GenerationRequest } from '../../../../src/runtime/generate/generate.ts';
import { ModelHost } from '../../../../src/runtime/host.ts';
import { loadModel, saveModel, snapshotId, type ModelWithParameters } from '../../../../src/runtime/model/model.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../src/runtime/train/trainingState.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { computeLogSoftmax, plainRow, referenceLogits } from '../../../support/referenceTransformer.ts';
import { FAMILIES, folderOf, readExpected, type Expected } from '../../golden.ts';
import { DEVICE, message, RUNNING, weightsOf } from '../models.ts';
import { item, present, range } from '../nd.ts';

const END = 2;
const greedily = (ids: readonly number[], maxNewTokens: number): GenerationRequest => ({
  prompt: Int32Array.from(ids),
  maxNewTokens,
  endToken: END,
  temperature: 0,
  topP: 1,
  topK: 0,
  streamKey: '',
});

let temporary: string;
before(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'c3-golden-'));
});
after(() => rm(temporary, { recursive: true, force: true }));

/** A copy of a model whose weights lie in three files with an index. */
async function shardedCopy(family: string): Promise<string> {
  const folder = await mkdtemp(join(temporary, 'sharded-'));
  await cp(folderOf(family), folder, { recursive: true });
  const single = join(folder, 'model.safetensors');
  const tensors = [...readSafetensors(await readFile(single), single).tensors.values()];
  await rm(single);
  const map: Record<string, string> = {};
  for (const shard of range(3)) {
    const name = `model-0000${shard + 1}-of-00003.safetensors`;
    const members: NamedTensor[] = tensors.filter((_, index) => index % 3 === shard);
    await writeFile(join(folder, name), writeSafetensors(members, 'F32'));
    for (const member of members) {
      map[member.name] = name;
    }
  }
  await writeFile(
    join(folder, 'model.safetensors.index.json'),
    JSON.stringify({ metadata: { total_size: 1 }, weight_map: map }),
  );
  return folder;
}

for (const family of FAMILIES) {
  describe(`the ${family} checkpoint`, () => {
    let model: ModelWithParameters;
    let expected: Expected;
    before(async () => {
      model = await loadModel(folderOf(family));
      expected = await readExpected(family);
    });

    it('is the model that Transformers has run: logits at every position, by the reference transformer', () => {
      const weights = weightsOf(model.config, model.parameters);
      for (const { ids, last_logits: last, logits } of expected.prompts) {
        const got = referenceLogits(model.config, weights, plainRow(ids));
        const wanted = logits ?? [...range(ids.length - 1).map(() => null), last];
        got.forEach((row, position) =>
          wanted[position]?.forEach((value, token) => assert.ok(Math.abs(value - item(row, token)) < 2e-5)),
        );
      }
    });

    it('scores every next token as its logits say, packed', async () => {
      const { config, parameters } = model;
      const contexts = expected.prompts.map(({ ids }) => ({
        prompt: Int32Array.from(ids),
        messages: range(config.vocabularySize).map((token) => message(Int32Array.of(token))),
      }));
      const trainer = new Trainer(config, DEVICE);
      const scored = await trainer.score(parameters, contexts, 1, RUNNING.signal);
      await trainer.release();
      expected.prompts.forEach(({ last_logits: last }, index) => {
        computeLogSoftmax(last).forEach((value, token) =>
          assert.ok(Math.abs(value - item(present(scored[index]?.[token]), 0)) < 3e-5),
        );
      });
    });

    it('scores a completion to 1e-4', async () => {
      const { prompt, completion, per_token: perToken } = expected.logprob;
      const trainer = new Trainer(model.config, DEVICE);
      const scored = await trainer.score(
        model.parameters,
        [{ prompt: Int32Array.from(prompt), messages: [message(Int32Array.from(completion))] }],
        1,
        RUNNING.signal,
      );
      await trainer.release();
      assert.equal(perToken.length, completion.length);
      perToken.forEach((value, index) => assert.ok(Math.abs(value - item(present(scored[0]?.[0]), index)) < 1e-4));
    });

    it('continues greedily with the same tokens: batched, alone, and without a cache', async () => {
      const { config, parameters } = model;
      const generator = await Generator.create(config, DEVICE);
      const requests = expected.prompts.map(({ ids, greedy }) => greedily(ids, greedy.length));
      const wanted = expected.prompts.map(({ greedy }) => greedy);
      const batched = await generator.generate(parameters, requests, RUNNING);
      assert.deepEqual(
        batched.map(({ tokens }) => [...tokens]),
        wanted,
      );
      for (const [index, request] of requests.entries()) {
        assert.deepEqual(await generator.generate(parameters, [request], RUNNING), [batched[index]]);
      }
      const prompts = expected.prompts.map(({ ids }) => [...ids]);
      for (const position of range(Math.max(...wanted.map(({ length }) => length)))) {
        const next = await generator.generate(
          parameters,
          prompts.map((ids) => greedily(ids, 1)),
          RUNNING,
        );
        next.forEach(({ tokens, logprobs }, index) => {
          if (position >= present(wanted[index]).length) {
            return;
          }
          assert.equal(tokens[0], wanted[index]?.[position]);
          assert.equal(logprobs[0], batched[index]?.logprobs[position]);
          prompts[index]?.push(item(tokens, 0));
        });
      }
      await generator.release();
    });

    it('ends at any of several end tokens', async () => {
      const { ids, greedy } = present(expected.prompts[1]);
      const other = present(greedy[5]);
      const generator = await Generator.create(model.config, DEVICE);
      const [ended] = await generator.generate(
        model.parameters,
        [{ ...greedily(ids, greedy.length), endToken: -1, otherEndTokens: [-2, other] }],
        RUNNING,
      );
      await generator.release();
      assert.deepEqual(
        [present(ended).finish, [...present(ended).tokens]],
        ['end', greedy.slice(0, greedy.indexOf(other) + 1)],
      );
    });

    it('samples with the log-probabilities that training sees, bit for bit', async () => {
      const { config, parameters } = model;
      const generator = await Generator.create(config, DEVICE);
      const requests = expected.prompts.map(({ ids }, index) => ({
        ...greedily(ids, 20),
        endToken: -1,
        temperature: 1,
        streamKey: String(index).padStart(32, '0'),
      }));
      const sampled = await generator.generate(parameters, requests, RUNNING);
      await generator.release();
      const contexts = requests.map(({ prompt }, index) => {
        const { tokens, logprobs } = present(sampled[index]);
        return {
          prompt,
          messages: [
            {
              tokens,
              behaviour: logprobs,
              reference: logprobs,
              advantages: Float32Array.from(tokens, (_, place) => place - 9),
            },
          ],
        };
      });
      const trainer = new Trainer(config, DEVICE);
      const { ratioDeviation, kl, gradientNorm } = await trainer.step(
        initialState(parameters),
        contexts,
        { loss: 'ppo', learningRate: 1e-3, temperature: 1, klCoefficient: 0.1 },
        RUNNING.signal,
      );
      await trainer.release();
      assert.deepEqual([ratioDeviation, kl], [0, 0]);
      assert.ok(gradientNorm > 0);
    });

    it('in three files is the same model, bit for bit', async () =>
      assert.deepEqual(await loadModel(await shardedCopy(family)), model));
  });
}

it('every family is written so that it loads as it was, under the same name', async () => {
  for (const family of FAMILIES) {
    const model = await loadModel(folderOf(family));
    const folder = join(temporary, `saved-${family}`);
    await saveModel(folder, model, 'F32');
    const again = await loadModel(folder);
    assert.deepEqual(again, model);
    assert.equal(snapshotId(again.config, again.parameters), snapshotId(model.config, model.parameters));
  }
});

it('a model that fails to load leaves the one before as it was', async () => {
  const host = new ModelHost(DEVICE);
  const { snapshot } = await host.load(folderOf('llama'));
  const request = greedily([5, 6, 7], 4);
  const before = await host.generate(snapshot, [request], RUNNING);
  const broken = await shardedCopy('qwen3');
  await truncate(join(broken, 'model-00003-of-00003.safetensors'), 90_000);
  await assert.rejects(host.load(broken), C3Error);
  assert.deepEqual(await host.snapshots(), [snapshot]);
  assert.deepEqual(await host.generate(snapshot, [request], RUNNING), before);
  await host.close();
});

describe('weights in several files', () => {
  let folder: string;
  before(async () => {
    folder = await shardedCopy('qwen2');
  });
  const refuses = async (prepare: (copy: string) => Promise<void>, says: RegExp): Promise<void> => {
    const copy = await mkdtemp(join(temporary, 'broken-'));
    await cp(folder, copy, { recursive: true });
    await prepare(copy);
    await assert.rejects(
      loadModel(copy),
      (error) =>
        error instanceof C3Error &&
        error.kind === 'model' &&
        says.test(error.message) &&
        /^[^\n]+\.$/.test(error.message) &&
        error.message.includes(copy),
    );
  };
  const index = 'model.safetensors.index.json';
  const second = 'model-00002-of-00003.safetensors';
  const withMap =
    (change: (map: Record<string, string>) => unknown) =>
    async (copy: string): Promise<void> => {
      const json = JSON.parse(await readFile(join(copy, index), 'utf8')) as { weight_map: Record<string, string> };
      change(json.weight_map);
      await writeFile(join(copy, index), JSON.stringify(json));
    };
  const norm = 'model.norm.weight';

  it('are refused where a file is missing, short or no tensors', async () => {
    assert.equal((await readdir(folder)).filter((name) => name.endsWith('.safetensors')).length, 3);
    await refuses(
      (copy) => rm(join(copy, second)),
      /model-00002-of-00003\.safetensors is missing, where model\.safetensors\.index\.json places tensor model\./,
    );
    await refuses(
      (copy) => truncate(join(copy, second), 60_000),
      /model-00002-of-00003\.safetensors: tensor model\..* is truncated/,
    );
    await refuses(
      (copy) => truncate(join(copy, second), 100),
      /model-00002-of-00003\.safetensors: the safetensors header is truncated/,
    );
    await refuses((copy) => truncate(join(copy, second), 3), /the file is too short for a safetensors header/);
    await refuses(
      (copy) => writeFile(join(copy, second), new Uint8Array(2000).fill(0xff)),
      /the safetensors header is truncated/,
    );
  });

  it('are refused where the index is wrong', async () => {
    await refuses(
      withMap((map) => Reflect.deleteProperty(map, norm)),
      /index\.json names no file for tensor model\.norm\.weight/,
    );
    await refuses(
      withMap((map) => (map[norm] = '../../model.safetensors')),
      /gives tensor model\.norm\.weight a path that is not a file in its folder: \.\.\/\.\.\/model\.safetensors/,
    );
    await refuses(
      withMap((map) => (map[norm] = present(Object.values(map).find((file) => file !== map[norm])))),
      /tensor model\.norm\.weight is missing/,
    );
    await refuses(
      withMap((map) => (map['model.layers.3.mlp.up_proj.weight'] = second)),
      /tensor model\.layers\.3\.mlp\.up_proj\.weight has no place in the architecture/,
    );
    await refuses((copy) => writeFile(join(copy, index), '{"weight_map": {"a": 3}}'), /index\.json has no weight_map/);
    await refuses((copy) => writeFile(join(copy, index), '{'), /index\.json cannot be read/);
  });

  it('are refused where a tensor belongs to another architecture', async () => {
    const withConfig =
      (change: object) =>
      async (copy: string): Promise<void> => {
        const path = join(copy, 'config.json');
        await writeFile(path, JSON.stringify({ ...(JSON.parse(await readFile(path, 'utf8')) as object), ...change }));
      };
    // Without its biases the model would compute something else than Transformers does.
    await refuses(
      withConfig({ model_type: 'llama', architectures: ['LlamaForCausalLM'] }),
      /tensor model\.layers\.0\.self_attn\.[qkv]_proj\.bias has no place in the architecture/,
    );
    await refuses(
      withConfig({ model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'], head_dim: 8 }),
      /_proj\.bias has no place|tensor model\.layers\.0\.self_attn\.q_norm\.weight/,
    );
    await refuses(
      withConfig({ intermediate_size: 111 }),
      /tensor model\.layers\.0\.mlp\.gate_proj\.weight has shape \[112, 48\] where config\.json needs \[111, 48\]/,
    );
    await refuses(withConfig({ tie_word_embeddings: false }), /names no file for tensor lm_head\.weight/);
  });
});

it('weights in bfloat16 and float16 are read as the numbers that they hold', async () => {
  const { parameters } = await loadModel(folderOf('qwen3'));
  for (const type of ['BF16', 'F16'] as const) {
    const folder = await mkdtemp(join(temporary, 'half-'));
    await cp(folderOf('qwen3'), folder, { recursive: true });
    const path = join(folder, 'model.safetensors');
    const tensors = [...readSafetensors(await readFile(path), path).tensors.values()];
    await writeFile(path, type === 'F16' ? writeSafetensors(tensors, 'F16') : bfloat16File(tensors));
    const read = (await loadModel(folder)).parameters;
    // Eight bits of a fraction, or eleven: cut or rounded.
    const unit = type === 'BF16' ? 2 ** -7 : 2 ** -11;
    assert.ok(
      read.every(
        (value, index) =>
          Math.abs(value - item(parameters, index)) <= unit * Math.abs(item(parameters, index)) + 2 ** -25,
      ),
    );
    assert.ok(read.some((value, index) => value !== parameters[index]));
  }
});

it('weights that hold no number are refused by tensor, also in half precision', async () => {
  const folder = await mkdtemp(join(temporary, 'infinite-'));
  await cp(folderOf('qwen3'), folder, { recursive: true });
  const path = join(folder, 'model.safetensors');
  const tensors = [...readSafetensors(await readFile(path), path).tensors.values()];
  const norm = present(tensors.find(({ name }) => name === 'model.layers.1.self_attn.k_norm.weight'));
  for (const value of [NaN, -Infinity]) {
    norm.data[15] = value;
    await writeFile(path, bfloat16File(tensors));
    await assert.rejects(
      loadModel(folder),
      /tensor model\.layers\.1\.self_attn\.k_norm\.weight holds a value that is not a finite number/,
    );
  }
});

/** The upper halves of the numbers, written out by hand. */
function bfloat16File(tensors: readonly NamedTensor[]): Uint8Array {
  let offset = 0;
  const header: Record<string, object> = {};
  const parts = tensors.map(({ name, shape, data }) => {
    const bytes = Buffer.from(
      new Uint16Array(Array.from(new Uint32Array(data.buffer, data.byteOffset, data.length), (bits) => bits >>> 16))
        .buffer,
    );
    header[name] = { dtype: 'BF16', shape, data_offsets: [offset, (offset += bytes.length)] };
    return bytes;
  });
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...parts]);
}
