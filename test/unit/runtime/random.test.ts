import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { philox, Stream, streamKey, type StreamName, type Words4 } from '../../../src/runtime/random.ts';
import { item, range, total } from './nd.ts';

const hex = (words: Words4): string[] => words.map((word) => word.toString(16).padStart(8, '0'));

/** Philox4x32-10 by BigInt, from the round function in section 3.3 of Salmon et al. */
function philoxByBigInt(counter: Words4, key: readonly [number, number]): Words4 {
  const mask = 0xffffffffn;
  let [c0, c1, c2, c3] = counter.map(BigInt) as [bigint, bigint, bigint, bigint];
  let [k0, k1] = key.map(BigInt) as [bigint, bigint];
  for (let round = 0; round < 10; round++) {
    const [p0, p1] = [0xd2511f53n * c0, 0xcd9e8d57n * c2];
    [c0, c1, c2, c3] = [(p1 >> 32n) ^ c1 ^ k0, p1 & mask, (p0 >> 32n) ^ c3 ^ k1, p0 & mask];
    [k0, k1] = [(k0 + 0x9e3779b9n) & mask, (k1 + 0xbb67ae85n) & mask];
  }
  return [Number(c0), Number(c1), Number(c2), Number(c3)];
}

describe('philox', () => {
  it('gives the known answers of Random123', () => {
    const ones = 0xffffffff;
    assert.deepEqual(hex(philox([0, 0, 0, 0], [0, 0])), ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']);
    assert.deepEqual(hex(philox([ones, ones, ones, ones], [ones, ones])), [
      '408f276d',
      '41c83b0e',
      'a20bc7c6',
      '6d5451fd',
    ]);
    assert.deepEqual(hex(philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0])), [
      'd16cfe09',
      '94fdcceb',
      '5001e420',
      '24126ea1',
    ]);
  });

  it('equals a BigInt version on words of every size', () => {
    let words: Words4 = [1, 0xffff, 0x10000, 0x80000000];
    for (const round of range(500)) {
      const key = [words[1], (words[3] ^ round) >>> 0] as const;
      const next = philox(words, key);
      assert.deepEqual(next, philoxByBigInt(words, key));
      words = next;
    }
  });
});

const NAME: StreamName = {
  seed: 11,
  scope: 'iteration:3',
  uidSha: 'ab'.repeat(32),
  role: 'reasoner',
  turn: 1,
  sibling: 2,
};

describe('streamKey', () => {
  it('is half of SHA-256 over the canonical JSON of the name', () => {
    const canonical = `[11,"iteration:3","${'ab'.repeat(32)}","reasoner",1,2]`;
    assert.equal(streamKey(NAME), createHash('sha256').update(canonical).digest('hex').slice(0, 32));
    assert.equal(
      streamKey({ sibling: 2, turn: 1, role: 'reasoner', uidSha: NAME.uidSha, scope: 'iteration:3', seed: 11 }),
      streamKey(NAME),
    );
  });

  it('changes with every field, and no field runs into the next', () => {
    const others: Partial<StreamName>[] = [
      { seed: 12 },
      { scope: 'iteration:4' },
      { uidSha: 'cd'.repeat(32) },
      { role: 'actor' },
      { turn: 2 },
      { sibling: 3 },
      { turn: 12, sibling: 2 },
      { turn: 1, sibling: 22 },
    ];
    const keys = [
      NAME,
      ...others.map((other) => ({ ...NAME, ...other })),
      { ...NAME, scope: 'iteration:3","', uidSha: '' },
    ].map(streamKey);
    assert.equal(new Set(keys).size, keys.length);
  });
});

describe('Stream', () => {
  it('depends on the position only, not on the order of calls', () => {
    const positions = [5, 0, 2 ** 32, 3, 2 ** 32 + 5, 1];
    const [first, second] = [new Stream(streamKey(NAME)), new Stream(streamKey(NAME))];
    const forwards = positions.map((position) => first.uniform(position));
    const backwards = [...positions].reverse().map((position) => second.uniform(position));
    assert.deepEqual(backwards.reverse(), forwards);
    assert.equal(new Set(forwards).size, positions.length);
  });

  it('takes its 53 bits from the first two words of the block', () => {
    const key = '0123456789abcdeffedcba9876543210';
    const [a, b] = philox([7, 1, 0xfedcba98, 0x76543210], [0x01234567, 0x89abcdef]);
    assert.equal(new Stream(key).uniform(2 ** 32 + 7), Number((BigInt(a >>> 5) << 26n) | BigInt(b >>> 6)) / 2 ** 53);
  });

  it('is uniform on [0, 1): chi-square over 64 cells, and every value is in range', () => {
    const stream = new Stream(streamKey(NAME));
    const counts = new Float64Array(64);
    for (let position = 0; position < 64_000; position++) {
      const value = stream.uniform(position);
      assert.ok(value >= 0 && value < 1);
      const cell = Math.floor(value * 64);
      counts[cell] = item(counts, cell) + 1;
    }
    const statistic = total([...counts].map((count) => (count - 1000) ** 2 / 1000));
    // 63 degrees of freedom: the 0.1 % and 99.9 % quantiles.
    assert.ok(statistic > 32.5 && statistic < 103.5, String(statistic));
  });

  it('siblings share no numbers', () => {
    const values = range(8).flatMap((sibling) => {
      const stream = new Stream(streamKey({ ...NAME, sibling }));
      return range(500).map((position) => stream.uniform(position));
    });
    assert.equal(new Set(values).size, values.length);
  });

  it('normal numbers are Box-Muller over their own two uniforms, with the moments of N(0, 1)', () => {
    const stream = new Stream(streamKey(NAME));
    const values = range(20_000).map((position) => stream.normal(position));
    assert.equal(
      values[9],
      Math.sqrt(-2 * Math.log(1 - stream.uniform(18))) * Math.cos(2 * Math.PI * stream.uniform(19)),
    );
    const moment = (power: number): number => total(values.map((value) => value ** power)) / values.length;
    // Standard errors: 0.007, 0.01, 0.07.
    assert.ok(Math.abs(moment(1)) < 0.03 && Math.abs(moment(2) - 1) < 0.04 && Math.abs(moment(4) - 3) < 0.3);
  });

  it('refuses a key that is not 32 hex digits', () => {
    for (const key of ['', 'ab', 'g'.repeat(32), 'A'.repeat(32), '0'.repeat(33)]) {
      assert.throws(() => new Stream(key), /32 hex digits/);
    }
  });
});
