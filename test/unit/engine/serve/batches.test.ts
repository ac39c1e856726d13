import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Batches } from '../../../../src/engine/serve/batches.ts';
import { ServeError } from '../../../../src/engine/serve/serveError.ts';
import type { Completion, GenerationRequest } from '../../../../src/runtime/generate/generate.ts';
import type { RuntimeControl } from '../../../../src/runtime/modelRuntime.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';

const request = (id: number): GenerationRequest => ({
  prompt: Int32Array.of(id),
  maxNewTokens: 1,
  endToken: 0,
  temperature: 0,
  topP: 1,
  topK: 0,
  streamKey: '',
});

/** A runtime that answers each request with its own prompt, once it is let. */
class Held {
  readonly sizes: number[] = [];
  readonly signals: AbortSignal[] = [];
  release: () => void = () => undefined;

  async generate(_: string, requests: readonly GenerationRequest[], control: RuntimeControl): Promise<Completion[]> {
    this.sizes.push(requests.length);
    this.signals.push(control.signal);
    await new Promise<void>((resolve, reject) => {
      this.release = resolve;
      control.signal.addEventListener('abort', () => reject(new CancelledError()));
    });
    return requests.map(({ prompt }, index) => {
      const completion = {
        tokens: prompt,
        logprobs: new Float32Array(1),
        finish: 'end',
        promptTokens: 1,
        reusedTokens: 0,
      };
      control.onCompletion?.(index, completion as Completion);
      return completion as Completion;
    });
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

it('what arrives together, or waits for the same batch, is answered together, each with its own', async () => {
  const runtime = new Held();
  const batches = new Batches(runtime, 's');
  const first = [0, 1, 2].map((id) => batches.answer(request(id), NEVER));
  await turn();
  const later = Array.from({ length: 70 }, (_, id) => batches.answer(request(10 + id), NEVER));
  runtime.release();
  assert.deepEqual(
    (await Promise.all(first)).map(({ tokens }) => tokens[0]),
    [0, 1, 2],
  );
  await turn();
  runtime.release();
  await Promise.all(later.slice(0, 64));
  await turn();
  runtime.release();
  assert.deepEqual(
    (await Promise.all(later)).map(({ tokens }) => tokens[0]),
    later.map((_, id) => 10 + id),
  );
  assert.deepEqual(runtime.sizes, [3, 64, 6]);
});

it('a batch is stopped when all who waited for it have left, and not before', async () => {
  const runtime = new Held();
  const batches = new Batches(runtime, 's');
  const leaving = [new AbortController(), new AbortController()];
  const answers = leaving.map(({ signal }, id) => batches.answer(request(id), signal));
  await turn();
  leaving[0]?.abort();
  await assert.rejects(answers[0] ?? Promise.resolve(), CancelledError);
  assert.equal(runtime.signals[0]?.aborted, false);
  leaving[1]?.abort();
  await assert.rejects(answers[1] ?? Promise.resolve(), CancelledError);
  assert.equal(runtime.signals[0].aborted, true);
});

it('more than can wait are refused with a time', async () => {
  const runtime = new Held();
  const batches = new Batches(runtime, 's');
  const leaving = new AbortController();
  const waiting = Array.from({ length: 2048 }, (_, id) => batches.answer(request(id), leaving.signal));
  assert.throws(
    () => batches.checkRoom(1),
    (error) => error instanceof ServeError && error.status === 429 && error.retryAfter === 1,
  );
  leaving.abort();
  await Promise.allSettled(waiting);
});
