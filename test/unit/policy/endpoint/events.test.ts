import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readEventStream } from '../../../../src/policy/endpoint/events.ts';

/** A text in pieces of some bytes. */
async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) {
    await Promise.resolve();
    yield bytes.subarray(start, start + size);
  }
}
async function read(text: string, size: number, most = 1000): Promise<string[]> {
  const found: string[] = [];
  for await (const event of readEventStream(pieces(text, size), most)) {
    found.push(event);
  }
  return found;
}

it('events come whole however their bytes are cut, with any line end', async () => {
  const text = ': hello\r\ndata: é1\r\n\r\nevent: x\ndata:two\ndata: lines\n\ndata: last\r\rdata: unfinished';
  for (let size = 1; size < 20; size++) {
    assert.deepEqual(await read(text, size), ['é1', 'two\nlines', 'last'], String(size));
  }
});

it('an event without end is refused', async () => {
  await assert.rejects(read(`data: ${'a'.repeat(5000)}`, 100), RangeError);
  await assert.rejects(read('data: aaaaaaaaaaaa\n'.repeat(500), 100), RangeError);
});

it('an event of many pieces is read in a time that grows with its length', async () => {
  const long = 'a'.repeat(2_000_000);
  const begun = performance.now();
  assert.deepEqual(await read(`data: ${long}\r\n\r\n`, 20, 2 ** 22), [long]);
  assert.ok(performance.now() - begun < 20_000);
});
