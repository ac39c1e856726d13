/**
 * Hostile files of a model folder: a size that is named is no size that is taken, and a header or an adapter is read
 * whole or refused in one sentence.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { inspectModel } from '../../src/engine/models/modelFacts.ts';
import { readSafetensors } from '../../src/runtime/files/safetensors.ts';
import { parseConfig } from '../../src/runtime/model/huggingFaceConfig.ts';
import { loadAdapterFile, loadAdapters } from '../../src/runtime/model/loraFolder.ts';
import { loadConfig, loadModel } from '../../src/runtime/model/model.ts';
import { C3Error, toErrorMessage } from '../../src/shared/errors.ts';
import { folderOf } from '../unit/golden.ts';
import { seed, tally } from './harness.ts';

const files = tally('model files');

/** Milliseconds, and megabytes of the whole process above what it had, for one hostile folder. */
const LONGEST = 10_000;
const MOST_MEGABYTES = 700;

let temporary = '';

let copies = 0;
function copyOf(family: string): string {
  const folder = join(temporary, String(++copies));
  cpSync(folderOf(family), folder, { recursive: true });
  return folder;
}

function changeJson(path: string, more: Readonly<Record<string, unknown>>): void {
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...more }));
}

/** A safetensors file of any header. */
function fileOf(header: unknown, dataBytes = 0): Buffer {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, Buffer.alloc(dataBytes)]);
}

/** One line of bounded length that names the file. */
function assertSentence(error: unknown, path: string, says: RegExp = /./u): void {
  assert.ok(
    error instanceof C3Error && (error.kind === 'model' || error.kind === 'input'),
    `no sentence: ${String(error)}`,
  );
  assert.ok(
    error.message.includes(path) && error.message.length < 2_000 && !/[\r\n]|\bat .+\.[jt]s:/u.test(error.message),
    `no sentence about ${path}: ${error.message.slice(0, 300)}`,
  );
  assert.match(error.message, says);
}

/** Reads a hostile folder: it ends in time and memory, with a result or a sentence. */
async function held(what: string, path: string, read: () => unknown, says?: RegExp): Promise<void> {
  await files.attempt(what, async () => {
    const [began, resident] = [performance.now(), process.memoryUsage.rss()];
    const failure = await Promise.resolve()
      .then(read)
      .then(
        () => null,
        (error: unknown) => ({ error }),
      );
    assert.ok(failure !== null || says === undefined, 'it was read');
    if (failure !== null) {
      assertSentence(failure.error, path, says);
    }
    assert.ok(performance.now() - began < LONGEST, `it took ${performance.now() - began} ms`);
    assert.ok((process.memoryUsage.rss() - resident) / 1e6 < MOST_MEGABYTES, 'it took more memory than it may');
  });
}

const SIZES = [
  'vocab_size',
  'hidden_size',
  'intermediate_size',
  'num_hidden_layers',
  'num_attention_heads',
  'num_key_value_heads',
  'head_dim',
  'max_position_embeddings',
] as const;

/** How much is tried. */
export interface ModelFilesSizes {
  /** Files of each kind. */
  readonly files: number;
  /** Settings of adapters. */
  readonly adapters: number;
}

/** Attacks with the files of a model, as many as the sizes say. */
export function modelFilesAttacks(sizes: ModelFilesSizes): void {
  before(() => {
    temporary = mkdtempSync(join(tmpdir(), 'c3-attack-model-'));
  });
  after(() => rmSync(temporary, { recursive: true, force: true }));

  describe('a hostile config.json', () => {
    for (const key of SIZES) {
      for (const value of [1e9, 2 ** 53 - 1]) {
        it(`names ${value} as its ${key}`, async () => {
          const folder = copyOf('qwen3');
          changeJson(join(folder, 'config.json'), { [key]: value });
          await held(
            key,
            join(folder, 'config.json'),
            () => loadModel(folder),
            new RegExp(`${key}: ${value} is more than the \\d+|multiple`, 'u'),
          );
          await held(key, join(folder, 'config.json'), () => inspectModel(folder), /./u);
        });
      }
    }

    it('names sizes that are large together', async () => {
      const folder = copyOf('qwen3');
      const path = join(folder, 'config.json');
      changeJson(path, { num_hidden_layers: 512, hidden_size: 65536, intermediate_size: 262144 });
      await held('parameters', path, () => loadModel(folder), /the sizes make \d+ parameters, more than the \d+/u);
      changeJson(path, {
        num_hidden_layers: 2,
        hidden_size: 64,
        intermediate_size: 128,
        max_position_embeddings: 2 ** 25,
        head_dim: 64,
      });
      await held(
        'positions',
        path,
        () => loadModel(folder),
        /max_position_embeddings: \d+ times head_dim: \d+ is more than the \d+/u,
      );
    });

    it('describes more numbers than its files hold', async () => {
      const folder = copyOf('qwen3');
      changeJson(join(folder, 'config.json'), {
        num_hidden_layers: 512,
        hidden_size: 8192,
        intermediate_size: 65536,
        head_dim: 128,
      });
      await held('numbers', folder, () => loadModel(folder), /model\.safetensors: tensor \S+ has shape/u);
    });

    it('is a text of any kind and length', async () => {
      const folder = copyOf('qwen3');
      const path = join(folder, 'config.json');
      writeFileSync(path, '['.repeat(3_000_000));
      await held('deep', path, () => loadConfig(folder), /is not (?:JSON|a JSON object)/u);
      truncateSync(path, 50_000_000_000);
      await held('long', path, () => loadConfig(folder), /has 50 GB, more than the 4\.19 MB/u);
      rmSync(path);
      execFileSync('mkfifo', [path]);
      await held('FIFO', path, () => loadConfig(folder), /it is not a regular file/u);
    });

    it('holds any values', async () => {
      const value = fc.oneof(
        fc.integer(),
        fc.maxSafeNat(),
        fc.double(),
        fc.constantFrom(1, 2, 8, 64, 1e9, 2 ** 31, 2 ** 53, -1, 0, 0.5),
        fc.json().map((text): unknown => JSON.parse(text)),
      );
      const keys = fc.constantFrom(
        ...SIZES,
        'rms_norm_eps',
        'rope_theta',
        'rope_scaling',
        'rope_parameters',
        'tie_word_embeddings',
        'model_type',
        'architectures',
        'layer_types',
        '__proto__',
      );
      const base = JSON.parse(readFileSync(join(folderOf('qwen3'), 'config.json'), 'utf8')) as Record<string, unknown>;
      await fc.assert(
        fc.asyncProperty(fc.dictionary(keys, value, { maxKeys: 6 }), (changed) =>
          held(JSON.stringify(changed), 'x/config.json', () => {
            const { layers, hiddenSize, maxPositions, headDim } = parseConfig(
              Buffer.from(JSON.stringify({ ...base, ...changed })),
              'x/config.json',
            );
            assert.ok(layers <= 512 && hiddenSize <= 65536 && maxPositions * headDim <= 2 ** 29);
          }),
        ),
        { seed: seed(), numRuns: sizes.files },
      );
    });
  });

  describe('a hostile safetensors file', () => {
    const ATTACKS: readonly (readonly [what: string, bytes: () => Buffer, says: RegExp])[] = [
      [
        'a header of 100 MB',
        () => fileOf(`{"a":"${'x'.repeat(100_000_000)}"}`),
        /the safetensors header has \d+ bytes, more than/u,
      ],
      [
        'a million tensors',
        () =>
          fileOf(
            Object.fromEntries(
              Array.from({ length: 200_000 }, (_, index) => [
                String(index),
                { dtype: 'F32', shape: [0], data_offsets: [0, 0] },
              ]),
            ),
          ),
        /names 200000 tensors, more than/u,
      ],
      [
        'a type that is an object',
        () => fileOf({ a: { dtype: { toString: 1 }, shape: [1], data_offsets: [0, 4] } }, 4),
        /unsupported type object/u,
      ],
      [
        'a type that is nested',
        () =>
          fileOf(`{"a":{"dtype":${'['.repeat(100_000)}${']'.repeat(100_000)},"shape":[1],"data_offsets":[0,4]}}`, 4),
        /header is not JSON|unsupported type object/u,
      ],
      [
        'metadata that are objects',
        () => fileOf({ __metadata__: { a: { toString: 1 } } }),
        /metadata gives a a value that is not text/u,
      ],
      [
        'a shape of a million axes',
        () =>
          fileOf({ a: { dtype: 'F32', shape: Array.from({ length: 1_000_000 }, () => 1), data_offsets: [0, 4] } }, 4),
        /1000000 dimensions, more than the 8/u,
      ],
      [
        'a shape whose product overflows',
        () => fileOf({ a: { dtype: 'F32', shape: [2 ** 52, 2 ** 52, 2 ** 52], data_offsets: [0, 4] } }, 4),
        /bytes where its shape needs/u,
      ],
    ];
    for (const [what, bytes, says] of ATTACKS) {
      it(`has ${what}`, async () => {
        const folder = copyOf('qwen3');
        const path = join(folder, 'model.safetensors');
        writeFileSync(path, bytes());
        await held(what, path, () => inspectModel(folder), says);
        await held(what, path, () => loadModel(folder), says);
      });
    }

    it('is a FIFO', async () => {
      const folder = copyOf('qwen3');
      const path = join(folder, 'model.safetensors');
      rmSync(path);
      execFileSync('mkfifo', [path]);
      await held('FIFO', path, () => loadModel(folder), /it is not a regular file/u);
    });

    it('has any header', async () => {
      const number = fc.oneof(fc.nat(64), fc.maxSafeNat(), fc.double(), fc.constantFrom(-1, 2 ** 53, 1e308));
      const entry = fc.oneof(
        fc.record({
          dtype: fc.constantFrom('F32', 'F16', 'BF16', 'I64', 'x\n', null),
          shape: fc.oneof(fc.array(number, { maxLength: 10 }), fc.json()),
          data_offsets: fc.oneof(fc.tuple(number, number), fc.array(number)),
        }),
        fc.json().map((text): unknown => JSON.parse(text)),
      );
      const header = fc.dictionary(
        fc.oneof(fc.constantFrom('__metadata__', '__proto__', 'a', 'b'), fc.string()),
        entry,
        { maxKeys: 5 },
      );
      await fc.assert(
        fc.asyncProperty(header, fc.nat(64), (named, bytes) =>
          held(JSON.stringify(named), 'x.safetensors', () => readSafetensors(fileOf(named, bytes), 'x.safetensors')),
        ),
        { seed: seed(), numRuns: sizes.files },
      );
    });

    it('is any bytes, or a file of which some bytes changed', async () => {
      const whole = readFileSync(join(folderOf('qwen3'), 'model.safetensors')).subarray(0, 4_000);
      const changed = fc
        .array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
        .map((changes) => {
          const copy = Buffer.from(whole);
          for (const [at, byte] of changes) {
            copy[at] = byte;
          }
          return copy;
        });
      await fc.assert(
        fc.asyncProperty(fc.oneof(changed, fc.uint8Array({ maxLength: 200 })), (bytes) =>
          held('bytes', 'x.safetensors', () => readSafetensors(bytes, 'x.safetensors')),
        ),
        { seed: seed(), numRuns: sizes.files },
      );
    });
  });

  describe('a hostile adapter', () => {
    const settings = { peft_type: 'LORA', r: 2, lora_alpha: 4, target_modules: ['q_proj'] };
    const adapter = (config: unknown, weights: Buffer): string => {
      const folder = copyOf('qwen3');
      writeFileSync(join(folder, 'adapter_config.json'), typeof config === 'string' ? config : JSON.stringify(config));
      writeFileSync(join(folder, 'adapter_model.safetensors'), weights);
      return folder;
    };

    it('names a rank, a text or roles beyond all measure', async () => {
      const config = await loadConfig(folderOf('qwen3'));
      for (const [what, given, says] of [
        ['rank', { ...settings, r: 1e9 }, /adapter_config\.json: r: 1000000000 is more than the 8192/u],
        ['large rank', { ...settings, r: 8192 }, /tensor \S+ is missing/u],
        ['agent', { ...settings, c3_agent: [1] }, /adapter_config\.json: c3_agent: is not text/u],
        ['no JSON', '{\n'.repeat(1000), /this is not JSON/u],
      ] as const) {
        const folder = adapter(given, fileOf({}));
        await held(what, folder, () => loadAdapters(folder, config), says);
      }
      const roles = JSON.stringify(Array.from({ length: 1_000_000 }, (_, index) => String(index)));
      const path = join(
        adapter(settings, fileOf({ __metadata__: { c3_adapter: JSON.stringify(settings), c3_agents: roles } })),
        'adapter_model.safetensors',
      );
      await held('agents', path, () => loadAdapterFile(path, config), /the list of roles cannot be read/u);
    });

    it('has two gigabytes that belong to nothing', async () => {
      const folder = adapter(settings, fileOf({ x: { dtype: 'F16', shape: [2 ** 30], data_offsets: [0, 2 ** 31] } }));
      const path = join(folder, 'adapter_model.safetensors');
      truncateSync(path, 2 ** 31 + 1000);
      const config = await loadConfig(folderOf('qwen3'));
      await held('sparse', path, () => loadAdapters(folder, config), /tensor \S+ is missing/u);
    });

    it('has any settings', async () => {
      const config = await loadConfig(folderOf('qwen3'));
      const value = fc.oneof(
        fc.integer(),
        fc.double(),
        fc.json().map((text): unknown => JSON.parse(text)),
      );
      const keys = fc.constantFrom(
        'r',
        'lora_alpha',
        'target_modules',
        'peft_type',
        'bias',
        'c3_agent',
        'rank_pattern',
        '__proto__',
      );
      await fc.assert(
        fc.asyncProperty(fc.dictionary(keys, value, { maxKeys: 4 }), async (changed) => {
          const folder = join(temporary, 'adapter');
          cpSync(folderOf('qwen3'), folder, { recursive: true });
          writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify({ ...settings, ...changed }));
          writeFileSync(join(folder, 'adapter_model.safetensors'), fileOf({}));
          await held(JSON.stringify(changed), folder, () => loadAdapters(folder, config));
        }),
        { seed: seed(), numRuns: sizes.adapters },
      );
    });
  });

  describe('a file that the runtime takes', () => {
    it('is still read', async () => {
      for (const family of ['llama', 'qwen2', 'qwen3']) {
        const facts = await inspectModel(folderOf(family)).catch((error: unknown) =>
          assert.fail(toErrorMessage(error)),
        );
        assert.equal(facts.family, family);
      }
    });
  });
}
