import assert from 'node:assert/strict';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bytePieces,
  floatToHalf,
  halfToFloat,
  readSafetensors,
  writeSafetensors,
} from '../../../../src/runtime/files/safetensors.ts';
import { SafetensorsFile } from '../../../../src/runtime/files/safetensorsFile.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { noise, present, range } from '../nd.ts';

/** A file by the format's description: length, header, data. */
function fileOf(header: unknown, data: readonly number[]): Uint8Array {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, Uint8Array.from(data)]);
}

const entry = (dtype: string, shape: unknown, start: number, end: number): object => ({
  dtype,
  shape,
  data_offsets: [start, end],
});
/** A written file as a whole. */
const written = (...[tensors, dtype, metadata]: Parameters<typeof writeSafetensors>): Buffer =>
  Buffer.concat([...writeSafetensors(tensors, dtype, metadata)]);
const read = (file: Uint8Array, name: string): number[] => [
  ...present(readSafetensors(file, 'weights').tensors.get(name)).data,
];

describe('readSafetensors', () => {
  it('reads a file written byte by byte: F32, F16 and BF16', () => {
    // 1.0 and -2.5 as float32; 1.5 and -0 as half; 3.0 as bfloat16.
    const bytes = [0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x20, 0xc0, 0x00, 0x3e, 0x00, 0x80, 0x40, 0x40];
    const header = {
      __metadata__: { format: 'pt', made: 'by hand' },
      full: entry('F32', [2, 1], 0, 8),
      half: entry('F16', [2], 8, 12),
      brain: entry('BF16', [], 12, 14),
    };
    const { tensors, metadata } = readSafetensors(fileOf(header, bytes), 'weights');
    assert.deepEqual(metadata, { format: 'pt', made: 'by hand' });
    assert.deepEqual([...tensors.keys()], ['full', 'half', 'brain']);
    assert.deepEqual(tensors.get('full'), { name: 'full', shape: [2, 1], data: Float32Array.of(1, -2.5) });
    assert.deepEqual(tensors.get('half'), { name: 'half', shape: [2], data: Float32Array.of(1.5, -0) });
    assert.deepEqual(tensors.get('brain'), { name: 'brain', shape: [], data: Float32Array.of(3) });
  });

  it('reads a view that does not start at an aligned address', () => {
    const file = fileOf({ a: entry('F32', [1], 0, 4) }, [0x00, 0x00, 0x80, 0x3f]);
    const shifted = new Uint8Array(file.length + 3);
    shifted.set(file, 3);
    assert.deepEqual(read(shifted.subarray(3), 'a'), [1]);
  });

  const DAMAGED: readonly (readonly [what: string, file: Uint8Array, message: RegExp])[] = [
    ['an empty file', new Uint8Array(0), /too short/],
    ['half a length', new Uint8Array(7), /too short/],
    ['a header that is cut', fileOf({ a: entry('F32', [1], 0, 4) }, []).subarray(0, 20), /header is truncated/],
    ['a length beyond any file', Uint8Array.from([255, 255, 255, 255, 255, 255, 255, 255, 123]), /header is truncated/],
    ['a header that is no JSON', fileOf('{"a":', []), /header is not JSON/],
    [
      'a header that is no UTF-8',
      Buffer.concat([fileOf('', []).fill(2, 0, 1), Uint8Array.from([0xc3, 0x28])]),
      /header is not JSON/,
    ],
    ['a header that is a list', fileOf([], []), /header is not an object/],
    ['metadata that is nothing', fileOf({ __metadata__: null }, []), /metadata is not an object/],
    ['an entry that is nothing', fileOf({ a: null }, []), /tensor a has the unsupported type undefined/],
    ['an unsupported type', fileOf({ a: entry('I64', [1], 0, 8) }, range(8)), /tensor a has the unsupported type I64/],
    ['a negative length', fileOf({ a: entry('F32', [-1], 0, 4) }, range(4)), /tensor a has no valid shape/],
    ['a shape that is no list', fileOf({ a: entry('F32', 1, 0, 4) }, range(4)), /tensor a has no valid shape/],
    [
      'one offset',
      fileOf({ a: { dtype: 'F32', shape: [1], data_offsets: [0] } }, range(4)),
      /tensor a has no valid offsets/,
    ],
    ['offsets the wrong way round', fileOf({ a: entry('F32', [1], 4, 0) }, range(4)), /tensor a has no valid offsets/],
    ['data that ends early', fileOf({ a: entry('F32', [2], 0, 8) }, range(6)), /tensor a is truncated/],
    [
      'tensors that share bytes',
      fileOf({ b: entry('F32', [1], 2, 6), a: entry('F32', [1], 0, 4) }, range(8)),
      /tensor b overlaps the tensor before it/,
    ],
    ['data that starts after the end', fileOf({ a: entry('F32', [1], 100, 104) }, range(4)), /tensor a is truncated/],
    [
      'a name and a type that would break the line',
      fileOf({ ['a\n'.repeat(200)]: entry('F\n32', [1], 0, 4) }, range(4)),
      /tensor (a\\n){33}a has the unsupported type F\\n32;/,
    ],
    [
      'a shape of another size',
      fileOf({ a: entry('F32', [3], 0, 8) }, range(8)),
      /tensor a has 8 bytes where its shape needs 12/,
    ],
  ];
  for (const [what, file, message] of DAMAGED) {
    it(`refuses ${what}`, () => {
      assert.throws(
        () => readSafetensors(file, '/models/x.safetensors'),
        (error) =>
          error instanceof C3Error &&
          error.kind === 'model' &&
          message.test(error.message) &&
          error.message.startsWith('/models/x.safetensors: ') &&
          !error.message.includes('\n'),
      );
    });
  }
});

describe('writeSafetensors', () => {
  const tensors = [
    { name: 'b', shape: [2, 3], data: Float32Array.from(noise('b', [6], -100, 100).data) },
    { name: 'a ü', shape: [], data: Float32Array.of(0.1) },
    { name: 'empty', shape: [0, 4], data: new Float32Array(0) },
  ];

  it('gives back every float32 bit', () => {
    const special = {
      name: 'special',
      shape: [5],
      data: Float32Array.of(-0, 1e-45, -3.4028234663852886e38, Infinity, NaN),
    };
    const { tensors: read, metadata } = readSafetensors(
      written([...tensors, special], 'F32', { format: 'pt' }),
      'copy',
    );
    assert.deepEqual([...read.values()], [...tensors, special]);
    assert.deepEqual(metadata, { format: 'pt' });
  });

  it('rounds to half precision', () => {
    const { tensors: copies } = readSafetensors(written(tensors, 'F16'), 'copy');
    for (const { name, data } of tensors) {
      const copy = present(copies.get(name)).data;
      data.forEach((value, index) => assert.ok(Math.abs(value - present(copy[index])) <= Math.abs(value) * 2 ** -11));
    }
  });

  it('starts the data at a multiple of eight and leaves no gap', () => {
    const file = written(tensors, 'F32');
    const length = Number(file.readBigUInt64LE(0));
    assert.equal(length % 8, 0);
    const header: unknown = JSON.parse(file.toString('utf8', 8, 8 + length));
    assert.deepEqual(header, {
      __metadata__: {},
      b: entry('F32', [2, 3], 0, 24),
      'a ü': entry('F32', [], 24, 28),
      empty: entry('F32', [0, 4], 28, 28),
    });
    assert.equal(file.length, 8 + length + 28);
  });
});

describe('files longer than any buffer', () => {
  const tensors = [5, 0, 1, 12].map((length, index) => ({
    name: `t${index}`,
    shape: [length],
    data: Float32Array.from({ length }, (_, place) => 100 * index + place / 8),
  }));

  for (const dtype of ['F32', 'F16'] as const) {
    it(`are written in pieces, which say the same whatever their size (${dtype})`, () => {
      const whole = written(tensors, dtype);
      for (const size of [4, 7, 16, 1000]) {
        const pieces = [...writeSafetensors(tensors, dtype, {}, size)];
        assert.deepEqual(Buffer.concat(pieces), whole);
        assert.ok(
          pieces.slice(1).every(({ length }) => length > 0 && length <= size),
          `${size}`,
        );
      }
    });
  }

  it('are not copied for it', () => {
    const data = Float32Array.of(0, 1, 2, 3).subarray(1);
    const [, first, second] = [...writeSafetensors([{ name: 'a', shape: [3], data }], 'F32', {}, 8)];
    assert.deepEqual(
      [first, second].map((piece) => [piece?.buffer === data.buffer, piece?.byteOffset, piece?.length]),
      [
        [true, 4, 8],
        [true, 12, 4],
      ],
    );
    assert.deepEqual(
      [...bytePieces(data, 8)].map((piece) => [piece.buffer === data.buffer, piece.byteOffset, piece.length]),
      [
        [true, 4, 8],
        [true, 12, 4],
      ],
    );
  });

  it('are read at places beyond 4 GB', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'c3-sparse-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const path = join(folder, 'sparse.safetensors');
    const far = 5 * 2 ** 30;
    const header = fileOf(
      { __metadata__: { kept: 'yes' }, hole: entry('F32', [far / 4], 0, far), last: entry('F32', [2], far, far + 8) },
      [],
    );
    const file = await open(path, 'w');
    await file.write(header);
    // Nothing is stored for the hole.
    await file.write(Uint8Array.from([0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x20, 0xc0]), 0, 8, header.length + far);
    await file.close();
    const into = new Float32Array(2);
    await SafetensorsFile.reading(path, async (opened) => {
      assert.deepEqual(opened.metadata, { kept: 'yes' });
      await opened.read({ name: 'last', shape: [2], into });
    });
    assert.deepEqual([...into], [1, -2.5]);
  });
});

describe('half precision', () => {
  it('has the published values', () => {
    // IEEE 754-2019 binary16: extremes, subnormals, one and its neighbour, a third.
    const values: readonly (readonly [number, number])[] = [
      [0x0000, 0],
      [0x0001, 5.960464477539063e-8],
      [0x03ff, 6.097555160522461e-5],
      [0x0400, 6.103515625e-5],
      [0x3555, 0.333251953125],
      [0x3bff, 0.99951171875],
      [0x3c00, 1],
      [0x3c01, 1.0009765625],
      [0x7bff, 65504],
      [0x7c00, Infinity],
      [0x8000, -0],
      [0xc000, -2],
      [0xfc00, -Infinity],
    ];
    for (const [bits, value] of values) {
      assert.equal(halfToFloat(bits), value);
      assert.equal(floatToHalf(value), bits);
    }
  });

  it('all 65536 halves come back', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = halfToFloat(bits);
      if (Number.isNaN(value)) {
        assert.ok((bits & 0x7c00) === 0x7c00 && (bits & 0x3ff) !== 0 && Number.isNaN(halfToFloat(floatToHalf(value))));
      } else {
        assert.equal(floatToHalf(value), bits);
      }
    }
  });

  it('rounds to the nearest, ties to the even one', () => {
    for (let bits = 0; bits < 0x7bff; bits++) {
      const [low, high] = [halfToFloat(bits), halfToFloat(bits + 1)];
      const middle = (low + high) / 2;
      assert.equal(floatToHalf(middle), bits % 2 === 0 ? bits : bits + 1);
      assert.equal(floatToHalf(middle - (high - low) / 1024), bits);
      assert.equal(floatToHalf(-middle - (high - low) / 1024), 0x8000 | (bits + 1));
    }
    assert.equal(floatToHalf(65519.99), 0x7bff);
    assert.equal(floatToHalf(65520), 0x7c00);
    assert.equal(floatToHalf(-1e-8), 0x8000);
  });
});
