import assert from 'node:assert/strict';
import { it } from 'node:test';
import { requireShort } from '../../../../src/engine/serve/answering.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';

/** One token for each four characters; counts the characters that it was given. */
class Counting {
  read = 0;

  encode(text: string): Int32Array {
    this.read += text.length;
    return new Int32Array(Math.ceil(text.length / 4));
  }
}

it('a text of megabytes is refused after the beginning that is too long for the model', async () => {
  const tokenizer = new Counting();
  await assert.rejects(
    requireShort(tokenizer, 'x'.repeat(8_000_000), 4000, NEVER),
    (error) =>
      error instanceof C3Error && /more than 4000 tokens in its first 16384 of 8000000 characters/.test(error.message),
  );
  assert.equal(tokenizer.read, 16_384);
});

it('a long text of few tokens passes, a short one is not counted at all, and who leaves is not worked for', async () => {
  const tokenizer = new Counting();
  await requireShort({ encode: () => new Int32Array(1) }, ' '.repeat(100_000), 4000, NEVER);
  await requireShort(tokenizer, 'x'.repeat(32_000), 4000, NEVER);
  assert.equal(tokenizer.read, 0);
  await assert.rejects(requireShort(tokenizer, 'x'.repeat(99_999), 10, AbortSignal.abort()), CancelledError);
  assert.equal(tokenizer.read, 0);
});
