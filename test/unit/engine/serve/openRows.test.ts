import assert from 'node:assert/strict';
import { it } from 'node:test';
import { OpenRows } from '../../../../src/engine/serve/answering.ts';
import { ServeError } from '../../../../src/engine/serve/serveError.ts';

it('more rows than can wait are refused with a time, until others are answered or fail', async () => {
  const open = new OpenRows();
  const held = Promise.withResolvers<string>();
  const first = open.hold(2047, () => held.promise);
  const refused = (error: unknown): boolean =>
    error instanceof ServeError && error.status === 429 && error.retryAfter === 1;
  await assert.rejects(
    open.hold(2, () => Promise.resolve('')),
    refused,
  );
  assert.equal(await open.hold(1, () => Promise.resolve('one')), 'one');
  held.reject(new Error('gone'));
  await assert.rejects(first, /gone/u);
  assert.equal(await open.hold(2048, () => Promise.resolve('all')), 'all');
});
