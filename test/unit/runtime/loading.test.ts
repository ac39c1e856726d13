/**
 * Loading weights: numbers of every stored type, random checkpoints, progress in bytes of files, and a cancel that
 * leaves nothing.
 */

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { convertToFloats } from '../../../src/runtime/files/safetensorsFile.ts';
import { ModelHost } from '../../../src/runtime/host.ts';
import { loadModel, parameterCount, parameterViews, saveModel, snapshotId } from '../../../src/runtime/model/model.ts';
import { storedBytes, writeRandomModel } from '../../../src/runtime/model/randomModel.ts';
import type { TransformerConfig } from '../../../src/runtime/model/transformer.ts';
import { startRuntime } from '../../../src/runtime/remote.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { DEVICE, QWEN2, request, RUNNING, testParameters, TINY } from './models.ts';
import { range } from './nd.ts';

const ENTRY = new URL('../../../src/engine/worker.ts', import.meta.url);
/** Its embeddings are read in several pieces, and fill a shard of their own. */
const WIDE: TransformerConfig = { ...QWEN2, vocabularySize: 40_000, hiddenSize: 32, headDim: 8 };
const SHARD = 6000;

let folder: string;
const inFolder = (name: string): string => join(folder, name);
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-loading-'));
  await writeRandomModel(inFolder('whole'), WIDE, { seed: 1 });
  await writeRandomModel(inFolder('shards'), WIDE, { seed: 1, shardBytes: SHARD });
});
after(() => rm(folder, { recursive: true, force: true }));

const weightsFiles = async (name: string): Promise<string[]> =>
  (await readdir(inFolder(name))).filter((file) => file.endsWith('.safetensors')).sort();

describe('stored numbers', () => {
  const bytes = Uint8Array.from(range(2 * 1999), (index) => (index * 89 + (index >> 3) * 31) & 0xff);
  const view = new DataView(bytes.buffer);
  const finiteExponent = (index: number, mask: number): boolean => (view.getUint16(2 * index, true) & mask) !== mask;

  it('bfloat16 are the upper halves of float32, odd counts too', () => {
    for (const count of [1, 2, 7, 1999]) {
      const into = new Float32Array(count);
      const expected = new DataView(new ArrayBuffer(4));
      assert.equal(
        convertToFloats(bytes, 'BF16', into),
        range(count).every((index) => finiteExponent(index, 0x7f80)),
      );
      into.forEach((value, index) => {
        expected.setUint16(2, view.getUint16(2 * index, true), true);
        assert.ok(Object.is(value, expected.getFloat32(0, true)));
      });
    }
  });

  it('binary16 and float32 are read as DataView reads them', () => {
    const halves = new Float32Array(1999);
    assert.equal(
      convertToFloats(bytes, 'F16', halves),
      range(1999).every((index) => finiteExponent(index, 0x7c00)),
    );
    halves.forEach((value, index) => {
      const bits = view.getUint16(2 * index, true);
      const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
      const size =
        exponent === 31
          ? fraction === 0
            ? Infinity
            : NaN
          : exponent === 0
            ? fraction / 2 ** 24
            : (1 + fraction / 1024) * 2 ** (exponent - 15);
      assert.ok(Object.is(value, Number.isNaN(size) ? NaN : bits >> 15 === 1 ? -size : size), String(index));
    });
    const words = new Float32Array(999);
    convertToFloats(bytes, 'F32', words);
    words.forEach((value, index) => assert.ok(Object.is(value, view.getFloat32(4 * index, true))));
  });

  it('that are no finite number are seen wherever they are', () => {
    for (const [dtype, width, ones, largest] of [
      ['BF16', 2, 0x7f80, 0x7f7f],
      ['F16', 2, 0x7c00, 0x7bff],
      ['F32', 4, 0x7f800000, 0x7f7fffff],
    ] as const) {
      for (const count of [1, 4, 5]) {
        for (const place of range(count)) {
          for (const sign of [0, 2 ** (8 * width - 1)]) {
            const stored = (number: number): boolean => {
              const one = new DataView(new ArrayBuffer(4 * Math.ceil((count * width) / 4)));
              if (width === 2) {
                one.setUint16(place * width, number + sign, true);
              } else {
                one.setUint32(place * width, number + sign, true);
              }
              return convertToFloats(new Uint8Array(one.buffer), dtype, new Float32Array(count));
            };
            assert.deepEqual(
              [stored(ones), stored(ones + 1), stored(largest)],
              [false, false, true],
              `${dtype}, ${place} of ${count}`,
            );
          }
        }
      }
    }
  });
});

describe('a random checkpoint', () => {
  it('is the same whatever the shards, and another for another seed', async () => {
    const [whole, sharded] = [await loadModel(inFolder('whole')), await loadModel(inFolder('shards'))];
    assert.deepEqual(whole.config, WIDE);
    assert.ok(Buffer.from(whole.parameters.buffer).equals(Buffer.from(sharded.parameters.buffer)));
    assert.equal(whole.snapshot, sharded.snapshot);
    assert.equal(whole.snapshot, snapshotId(WIDE, whole.parameters));
    await writeRandomModel(inFolder('other'), WIDE, { seed: 2 });
    assert.notEqual((await loadModel(inFolder('other'))).snapshot, whole.snapshot);
  });

  it('has weights of mean 0 and deviation 0.02 that do not repeat, norms 1 and biases 0', async () => {
    const { parameters } = await loadModel(inFolder('whole'));
    const drawn: number[] = [];
    const add = (value: number): number => drawn.push(value);
    for (const { name, offset, length } of parameterViews(WIDE)) {
      const values = parameters.subarray(offset, offset + length);
      if (name.endsWith('norm.weight')) {
        assert.ok(
          values.every((value) => value === 1),
          name,
        );
      } else if (name.endsWith('.bias')) {
        assert.ok(
          values.every((value) => value === 0),
          name,
        );
      } else {
        values.forEach(add);
      }
    }
    const mean = drawn.reduce((sum, value) => sum + value, 0) / drawn.length;
    const variance = drawn.reduce((sum, value) => sum + (value - mean) ** 2, 0) / drawn.length;
    // Five standard errors of a uniform distribution.
    assert.ok(Math.abs(mean) < (5 * 0.02) / Math.sqrt(drawn.length), String(mean));
    assert.ok(Math.abs(Math.sqrt(variance) - 0.02) < 0.0002, String(variance));
    // Neighbours, and the two numbers of one draw, are independent.
    for (const lag of [1, 2, 3, 2 ** 20]) {
      const products = drawn.slice(lag).map((value, index) => (value * (drawn[index] ?? 0)) / variance);
      const correlation = products.reduce((sum, value) => sum + value, 0) / products.length;
      assert.ok(Math.abs(correlation) < 5 / Math.sqrt(products.length), `${lag}: ${correlation}`);
    }
  });

  it('fills its shards up to the limit, and an index says what is where', async () => {
    assert.deepEqual(await weightsFiles('whole'), ['model.safetensors']);
    const files = await weightsFiles('shards');
    assert.ok(files.length > 2);
    assert.deepEqual(
      files,
      range(files.length).map(
        (index) =>
          `model-${String(index + 1).padStart(5, '0')}-of-${String(files.length).padStart(5, '0')}.safetensors`,
      ),
    );
    const index = JSON.parse(await readFile(join(inFolder('shards'), 'model.safetensors.index.json'), 'utf8')) as {
      metadata: { total_size: number };
      weight_map: Record<string, string>;
    };
    assert.deepEqual(
      Object.keys(index.weight_map),
      parameterViews(WIDE).map(({ name }) => name),
    );
    assert.equal(index.metadata.total_size, 2 * parameterCount(WIDE));
    assert.equal(index.metadata.total_size, storedBytes(WIDE));
    // Only the embeddings, alone in the first, are larger than the limit.
    for (const [number, file] of files.entries()) {
      const header = Number((await readFile(join(inFolder('shards'), file))).readBigUInt64LE());
      assert.equal(header % 8, 0);
      const bytes = (await stat(join(inFolder('shards'), file))).size - 8 - header;
      assert.ok(number === 0 ? bytes === 2 * 40_000 * 32 : bytes <= SHARD, file);
    }
  });
});

describe('progress of loading', () => {
  for (const name of ['whole', 'shards']) {
    it(`never falls and ends at the bytes of all files: ${name}`, async (t) => {
      const sizes = await Promise.all(
        (await weightsFiles(name)).map(async (file) => (await stat(join(inFolder(name), file))).size),
      );
      const total = sizes.reduce((sum, size) => sum + size, 0);
      const runtime = await startRuntime(ENTRY, DEVICE);
      t.after(() => runtime.close());
      for (const one of [runtime, new ModelHost(DEVICE)]) {
        const told: (readonly [number, number])[] = [];
        await one.load(inFolder(name), (done, all) => told.push([done, all]));
        assert.ok(told.length >= 2);
        assert.ok(told.every(([done, all], index) => all === total && done > 0 && done >= (told[index - 1]?.[0] ?? 0)));
        assert.equal(told.at(-1)?.[0], total);
      }
    });
  }
});

describe('a cancelled load', () => {
  it('leaves nothing half-loaded, and what was loaded before as it was', async (t) => {
    const small = inFolder('small');
    await saveModel(small, { config: TINY, parameters: testParameters(TINY) }, 'F32');
    const runtime = await startRuntime(ENTRY, DEVICE);
    t.after(() => runtime.close());
    for (const one of [runtime, new ModelHost(DEVICE)]) {
      await assert.rejects(one.load(inFolder('whole'), undefined, AbortSignal.abort()), CancelledError);
      assert.deepEqual(await one.snapshots(), []);
      const { snapshot } = await one.load(small);
      let asked = 0;
      await assert.rejects(
        one.load(
          inFolder('whole'),
          undefined,
          one === runtime ? AbortSignal.abort() : makeSignalAbortedWhen(() => ++asked > 2),
        ),
        CancelledError,
      );
      assert.deepEqual(await one.snapshots(), [snapshot]);
      assert.equal((await one.generate(snapshot, [request('after', 4, 3)], RUNNING)).length, 1);
      // The next attempt loads everything.
      assert.equal((await one.load(inFolder('whole'))).parameters, parameterCount(WIDE));
    }
  });

  it('is distinguished from a failure', async () => {
    await assert.rejects(
      loadModel(inFolder('nowhere'), { signal: AbortSignal.abort() }),
      (error) => error instanceof C3Error && error.kind === 'model',
    );
  });
});
