/** What unpacks logs is bounded, and leaves nothing behind. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { decompressLog } from '../../../../src/engine/exchange/compressedLog.ts';
import { openLog, convertUtf16 } from '../../../../src/engine/exchange/openLog.ts';
import { convertFramedMessages, isFramed } from '../../../../src/engine/exchange/protobufLog.ts';
import type { LeftOutCounts } from '../../../../src/logs/episode.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';

function filesOf(t: TestContext): { readonly path: string; readonly out: string } {
  const folder = mkdtempSync(join(tmpdir(), 'c3-unpack-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return { path: join(folder, 'log'), out: join(folder, 'out') };
}
const isInput = (words: RegExp) => (error: unknown) =>
  error instanceof C3Error && error.kind === 'input' && words.test(error.message);
const frame = (message: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  return Buffer.concat([length, message]);
};
/** A few kilobytes that come to many megabytes. */
const BOMB = Buffer.alloc(80_000_000, '{');

describe('a compressed log', () => {
  it('that holds more than is read is refused, however short it is', async (t) => {
    for (const compress of [gzipSync, zstdCompressSync]) {
      const { path, out } = filesOf(t);
      const bytes = compress(BOMB);
      writeFileSync(path, bytes);
      await assert.rejects(
        decompressLog(path, out, NEVER, bytes.subarray(0, 16), 10_000_000),
        isInput(/^The content of .* is more than 10 MB; split the log\.$/u),
      );
      assert.ok(readFileSync(out).length <= 10_000_000);
    }
  });

  it('is read no further once that is cancelled', async (t) => {
    const { path, out } = filesOf(t);
    const bytes = gzipSync(BOMB);
    writeFileSync(path, bytes);
    await assert.rejects(decompressLog(path, out, AbortSignal.abort(), bytes.subarray(0, 16)), CancelledError);
  });
});

describe('a compressed log in several parts', () => {
  /** Lines that do not compress well, so that there are many blocks. */
  const TEXT = Array.from({ length: 20_000 }, (_, index) => `${JSON.stringify({ index, of: Math.sin(index) })}\n`).join(
    '',
  );
  const HALF = Math.ceil(TEXT.length / 2);
  const skipped = Buffer.concat([Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0]), Buffer.from('any')]);

  async function read(t: TestContext, bytes: Buffer): Promise<{ text: string; leftOut: LeftOutCounts }> {
    const { path, out } = filesOf(t);
    writeFileSync(path, bytes);
    const leftOut = await decompressLog(path, out, NEVER, bytes.subarray(0, 16));
    return { text: readFileSync(out, 'latin1'), leftOut };
  }

  it('is read to its end', async (t) => {
    for (const parts of [
      [gzipSync(TEXT.slice(0, HALF)), gzipSync(TEXT.slice(HALF))],
      [zstdCompressSync(TEXT.slice(0, HALF)), skipped, zstdCompressSync(TEXT.slice(HALF)), zstdCompressSync('')],
      [skipped, zstdCompressSync(TEXT, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })].toReversed(),
    ]) {
      assert.deepEqual(await read(t, Buffer.concat(parts)), { text: TEXT, leftOut: [] });
    }
  });

  it('is read as far as it is not damaged or cut, to the end of a line, and the rest is counted once', async (t) => {
    for (const [compress, lost] of [
      [gzipSync, 1000],
      // A block of 128 kB is there as a whole or not.
      [zstdCompressSync, 140_000],
    ] as const) {
      const whole = compress(TEXT);
      const flipped = Buffer.from(whole.map((byte, index) => (index === whole.length - 2000 ? byte ^ 0xff : byte)));
      for (const [bytes, least] of [
        [whole.subarray(0, -4), TEXT.length - lost],
        [whole.subarray(0, whole.length / 2), HALF - lost - 30_000],
        [flipped, TEXT.length - 30_000 - lost],
        [Buffer.concat([whole, whole.subarray(0, 6)]), TEXT.length],
        [Buffer.concat([whole, Buffer.from('other')]), TEXT.length],
      ] as const) {
        const { text, leftOut } = await read(t, bytes);
        assert.ok(text.length >= least, `${text.length} of ${TEXT.length}, not ${least}`);
        assert.ok(bytes === flipped || TEXT.startsWith(text));
        assert.ok(text.endsWith('\n'));
        assert.match(
          leftOut[0]?.[0] ?? '',
          /^rest of the file after a place where its compression is damaged or cut \(/u,
        );
        assert.deepEqual([leftOut.length, leftOut[0]?.[1]], [1, 1]);
      }
    }
  });

  it('of which nothing can be unpacked is refused', async (t) => {
    for (const bytes of [
      gzipSync(TEXT).subarray(0, 8),
      zstdCompressSync(TEXT).subarray(0, 5),
      Buffer.from([0x1f, 0x8b, 9]),
    ]) {
      await assert.rejects(read(t, bytes), isInput(/^Cannot decompress .*; give a whole file\.$/u));
    }
  });
});

describe('a log in another encoding', () => {
  // An umlaut, a character of three bytes and one of two halves.
  const TEXT = `{"messages":[{"role":"user","content":"Wie hei\u00df? \u2713 \u{1f321}"}]}\n`;
  const little = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
  const big = (text: string): Buffer => little(text).swap16();

  async function contentOf(t: TestContext, bytes: Buffer): Promise<string> {
    const { path } = filesOf(t);
    writeFileSync(path, bytes);
    const { source, leftOut, close } = await openLog(path, NEVER);
    try {
      assert.deepEqual([leftOut, source.name], [[], path]);
      return Buffer.from(source.read(0, source.size)).toString('utf8');
    } finally {
      close();
    }
  }

  it('is read as UTF-8, wherever the pieces end that it is read in', async (t) => {
    // An odd number of characters first, then more than one piece of two-part ones.
    const long = `"x${'\u{1f321}'.repeat(50_000)}"`;
    for (const encode of [little, big]) {
      assert.equal(await contentOf(t, encode(TEXT)), TEXT);
      assert.equal(await contentOf(t, encode(long)), long);
      assert.equal(await contentOf(t, gzipSync(encode(TEXT))), TEXT);
      assert.equal(await contentOf(t, encode('')), '');
    }
  });

  it('has U+FFFD in the place of a half that is alone', async (t) => {
    for (const encode of [little, big]) {
      assert.equal(await contentOf(t, encode('"a\ud83cb\udf21c"')), '"a\ufffdb\ufffdc"');
      assert.equal(await contentOf(t, encode('"a\ud83c')), '"a\ufffd');
      assert.equal(await contentOf(t, Buffer.concat([encode('"a"'), Buffer.from([0x20])])), '"a"\ufffd');
    }
  });

  it('that comes to more than is read is refused, and read no further once that is cancelled', async (t) => {
    const { path, out } = filesOf(t);
    const bytes = little('\u2713'.repeat(1000));
    writeFileSync(path, bytes);
    await assert.rejects(convertUtf16(path, out, NEVER, bytes, 2000), isInput(/ is more than 2 kB; split the log\.$/u));
    await assert.rejects(convertUtf16(path, `${out}2`, AbortSignal.abort(), bytes), CancelledError);
  });
});

describe('messages behind their lengths', () => {
  it('are lines of JSON, one for each', async (t) => {
    const { path, out } = filesOf(t);
    const messages = [{ resourceSpans: [] }, { resourceSpans: [{ scopeSpans: [] }] }];
    writeFileSync(path, Buffer.concat(messages.map((one) => frame(Buffer.from(JSON.stringify(one))))));
    await convertFramedMessages(path, out, NEVER);
    assert.equal(readFileSync(out, 'utf8'), messages.map((one) => `${JSON.stringify(one)}\n`).join(''));
  });

  it('that hold more than is read are refused, one alone and all together', async (t) => {
    const alone = filesOf(t);
    writeFileSync(alone.path, frame(zstdCompressSync(BOMB)));
    await assert.rejects(
      convertFramedMessages(alone.path, alone.out, NEVER),
      isInput(/^Cannot decompress message 1 of /u),
    );
    const together = filesOf(t);
    const message = frame(zstdCompressSync(Buffer.from(`{"resourceSpans":[]${' '.repeat(1000)}}`)));
    writeFileSync(together.path, Buffer.concat(Array.from({ length: 20 }, () => message)));
    await assert.rejects(
      convertFramedMessages(together.path, together.out, NEVER, undefined, 10_000),
      isInput(/^The messages of .* together are more than 10 kB; split the log\.$/u),
    );
  });

  it('that are damaged cost themselves alone, and are named by their number', async (t) => {
    const { path, out } = filesOf(t);
    const good = Buffer.from('{"resourceSpans":[]}');
    const bad = [
      zstdCompressSync(good).subarray(0, -6),
      Buffer.from('{"resourceSpans":['),
      Buffer.from([0x0a, 0x02, 0x10, 0x80]),
    ];
    const length = Buffer.from([0, 0, 1, 0]);
    writeFileSync(path, Buffer.concat([...[good, ...bad, good].map(frame), length, good]));
    const leftOut = await convertFramedMessages(path, out, NEVER);
    assert.equal(readFileSync(out, 'utf8'), `${good.toString()}\n`.repeat(2));
    assert.deepEqual(
      leftOut.map(([reason, count]) => [reason.replace(/: .*/u, ''), count]),
      [
        ['message 2, which cannot be read', 1],
        ['message 3, which cannot be read', 1],
        ['message 4, which cannot be read', 1],
        ['rest of the file from message 6 on, whose end is missing', 1],
      ],
    );
    const all = filesOf(t);
    writeFileSync(all.path, Buffer.concat(bad.slice(1).map(frame)));
    await assert.rejects(
      convertFramedMessages(all.path, all.out, NEVER),
      isInput(/^message 1 of .* is not valid JSON; give a whole file/u),
    );
  });

  it('are known from texts, and from lengths that no message has', () => {
    assert.ok(isFramed(frame(Buffer.from('{}'))));
    for (const text of ['{"a":1}', '[{}]', '\n{}', '# a', '']) {
      assert.ok(!isFramed(Buffer.from(text)), text);
    }
    assert.ok(!isFramed(Buffer.from([0x04, 0, 0, 1, 0x7b])));
  });
});
