/** What unpacks logs is bounded, and leaves nothing behind. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { decompressed } from '../../../../src/engine/exchange/compressedLog.ts';
import { framesAsJson, isFramed } from '../../../../src/engine/exchange/protobufLog.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';

function filesOf(t: TestContext): { readonly path: string; readonly out: string } {
  const folder = mkdtempSync(join(tmpdir(), 'c3-unpack-'));
  t.after(() => {
    rmSync(folder, { recursive: true, force: true });
  });
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
        decompressed(path, out, NEVER, bytes.subarray(0, 16), 10_000_000),
        isInput(/^What .* holds is more than 10 MB; split the log\.$/u),
      );
      assert.ok(readFileSync(out).length <= 10_000_000);
    }
  });

  it('is read no further once that is cancelled', async (t) => {
    const { path, out } = filesOf(t);
    const bytes = gzipSync(BOMB);
    writeFileSync(path, bytes);
    await assert.rejects(decompressed(path, out, AbortSignal.abort(), bytes.subarray(0, 16)), CancelledError);
  });
});

describe('messages behind their lengths', () => {
  it('are lines of JSON, one for each', async (t) => {
    const { path, out } = filesOf(t);
    const messages = [{ resourceSpans: [] }, { resourceSpans: [{ scopeSpans: [] }] }];
    writeFileSync(path, Buffer.concat(messages.map((one) => frame(Buffer.from(JSON.stringify(one))))));
    await framesAsJson(path, out, NEVER);
    assert.equal(readFileSync(out, 'utf8'), messages.map((one) => `${JSON.stringify(one)}\n`).join(''));
  });

  it('that hold more than is read are refused, one alone and all together', async (t) => {
    const alone = filesOf(t);
    writeFileSync(alone.path, frame(zstdCompressSync(BOMB)));
    await assert.rejects(framesAsJson(alone.path, alone.out, NEVER), isInput(/^Cannot decompress message 1 of /u));
    const together = filesOf(t);
    const message = frame(zstdCompressSync(Buffer.from(`{"resourceSpans":[]${' '.repeat(1000)}}`)));
    writeFileSync(together.path, Buffer.concat(Array.from({ length: 20 }, () => message)));
    await assert.rejects(
      framesAsJson(together.path, together.out, NEVER, undefined, 10_000),
      isInput(/^The messages of .* together are more than 10 kB; split the log\.$/u),
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
