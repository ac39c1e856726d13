/** Archives of samples: one that is damaged costs itself alone. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib';
import { convertSamples } from '../../../../src/engine/exchange/zippedLog.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';

interface Member {
  readonly name: string;
  readonly text: string;
  /** 0 stored, 8 deflated, 93 Zstandard. */
  readonly method?: number;
  /** Damages what is stored of it. */
  readonly damage?: (bytes: Buffer) => Buffer;
}

/** An archive as programs write it: each member behind its own header, and all of them in a directory at the end. */
function zip(members: readonly Member[]): Buffer {
  const [files, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const { name, text, method = 8, damage = (bytes: Buffer): Buffer => bytes } of members) {
    const plain = Buffer.from(text);
    const packed = damage(method === 8 ? deflateRawSync(plain) : method === 93 ? zstdCompressSync(plain) : plain);
    const about = Buffer.alloc(26);
    about.writeUInt16LE(20, 0);
    about.writeUInt16LE(method, 4);
    about.writeUInt32LE(crc32(plain), 10);
    about.writeUInt32LE(packed.length, 14);
    about.writeUInt32LE(plain.length, 18);
    about.writeUInt16LE(name.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), about, Buffer.from(name), packed]);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), about, rest, Buffer.from(name));
    files.push(file);
    at += file.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, listed, end]);
}

interface Unpacked {
  readonly text: string;
  readonly leftOut: readonly (readonly [string, number])[];
}

function filesOf(t: TestContext, bytes: Buffer): { readonly path: string; readonly out: string } {
  const folder = mkdtempSync(join(tmpdir(), 'c3-zipped-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'log.eval');
  writeFileSync(path, bytes);
  return { path, out: join(folder, 'out') };
}
async function unpacked(t: TestContext, bytes: Buffer): Promise<Unpacked> {
  const { path, out } = filesOf(t, bytes);
  const leftOut = await convertSamples(path, out, NEVER);
  return { text: readFileSync(out, 'utf8'), leftOut };
}

const sample = (index: number, more: Partial<Member> = {}): Member => ({
  name: `samples/${index}_epoch_1.json`,
  text: JSON.stringify({ id: index, text: 'x'.repeat(100) }),
  ...more,
});
const textOf = (members: readonly Member[]): string => members.map(({ text }) => `${text}\n`).join('');
const flipped = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte, index) => (index === 20 ? byte ^ 0xff : byte)));

describe('an archive of samples', () => {
  it('is read whole, however many it has, without a warning', async (t) => {
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    t.after(() => process.off('warning', warned));
    const members = Array.from({ length: 60 }, (_, index) => sample(index, { method: [0, 8, 93][index % 3] ?? 0 }));
    assert.deepEqual(await unpacked(t, zip([{ name: 'header.json', text: '{}' }, ...members])), {
      text: textOf(members),
      leftOut: [],
    });
    // Warnings come on the next turn.
    await new Promise(setImmediate);
    assert.deepEqual(warnings, []);
  });

  it('loses a sample that is damaged, or compressed in another way, and nothing else', async (t) => {
    const good = [0, 4, 5].map((index) => sample(index));
    const members = [
      good[0],
      sample(1, { damage: flipped }),
      sample(2, { method: 0, damage: flipped }),
      sample(3, { method: 14 }),
      sample(6, { method: 93, damage: flipped }),
      ...good.slice(1),
    ];
    const { text, leftOut } = await unpacked(t, zip(members.filter((one) => one !== undefined)));
    assert.equal(text, textOf(good));
    assert.deepEqual(
      leftOut.map(([reason, count]) => [reason.replace(/: .*/u, ''), count]),
      [1, 2, 3, 6].map((index) => [`sample samples/${index}_epoch_1.json, which cannot be read`, 1]),
    );
    assert.match(leftOut[2]?.[0] ?? '', /: compression method 14 is not read$/u);
  });

  it('names the first samples that are damaged, and counts the others together', async (t) => {
    const members = Array.from({ length: 30 }, (_, index) => sample(index, { damage: flipped }));
    const { leftOut } = await unpacked(t, zip([...members, sample(30)]));
    assert.deepEqual([leftOut.length, leftOut.at(-1)], [21, ['further samples that cannot be read', 10]]);
  });

  it('is refused where it has no directory, or not one sample can be read, and read no further once cancelled', async (t) => {
    const whole = zip([sample(0), sample(1)]);
    for (const bytes of [whole.subarray(0, -30), zip([sample(0, { damage: flipped })])]) {
      await assert.rejects(unpacked(t, bytes), {
        kind: 'input',
        message: /as an Inspect log: .*; give a whole \.eval/u,
      });
    }
    const { path, out } = filesOf(t, whole);
    await assert.rejects(convertSamples(path, out, AbortSignal.abort()), CancelledError);
    const { path: long, out: short } = filesOf(t, whole);
    await assert.rejects(convertSamples(long, short, NEVER, 200), {
      kind: 'input',
      message: /^The samples of .* together are more than 200 B; split the log\.$/u,
    });
  });
});
