import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Completion, GenerationRequest } from '../../../src/runtime/generate/generate.ts';
import { JoinedGenerations } from '../../../src/runtime/joinedGenerations.ts';
import type { RuntimeControl } from '../../../src/runtime/modelRuntime.ts';
import { NEVER } from '../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../src/shared/errors.ts';

const request = (id: number): GenerationRequest => ({
  prompt: Int32Array.of(id),
  maxNewTokens: 1,
  endToken: 0,
  temperature: 0,
  topP: 1,
  topK: 0,
  streamKey: '',
});

const numbered = (from: number, count: number): GenerationRequest[] =>
  Array.from({ length: count }, (_, index) => request(from + index));

/** A runtime that answers each request with its own prompt, once it is let. */
class Held {
  readonly batches: string[] = [];
  readonly signals: AbortSignal[] = [];
  /** Answers the row of the present batch that has this number in it. */
  answer: (row: number) => void = () => undefined;
  /** Answers the rest of the present batch. */
  release: () => void = () => undefined;

  async generate(
    snapshot: string,
    requests: readonly GenerationRequest[],
    control: RuntimeControl,
  ): Promise<Completion[]> {
    this.batches.push(`${snapshot} ${requests.map(({ prompt }) => prompt[0]).join(' ')}`);
    this.signals.push(control.signal);
    const completions: Completion[] = [];
    this.answer = (row) => {
      const { prompt } = requests[row] ?? assert.fail();
      const logprobs = new Float32Array(1);
      completions[row] = { tokens: prompt, logprobs, finish: 'end', promptTokens: 1, reusedTokens: 0 };
      control.onCompletion?.(row, completions[row]);
    };
    await new Promise<void>((resolve, reject) => {
      this.release = resolve;
      control.signal.addEventListener('abort', () => reject(new CancelledError()));
    });
    requests.forEach((_, row) => completions[row] ?? this.answer(row));
    return completions;
  }
}

const numbers = (completions: readonly Completion[]): (number | undefined)[] =>
  completions.map(({ tokens }) => tokens[0]);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

it('calls that arrive together, or wait, are answered together, each with its own completions in order', async () => {
  const runtime = new Held();
  const joined = new JoinedGenerations(runtime);
  const heard: string[] = [];
  const call = (snapshot: string, from: number, count: number): Promise<Completion[]> =>
    joined.generate(snapshot, numbered(from, count), {
      signal: NEVER,
      onCompletion: (index, { tokens }) => heard.push(`${from}: ${index} ${String(tokens[0])}`),
    });
  const first = [call('a', 0, 1), call('a', 10, 2)];
  await turn();
  const later = [call('b', 20, 2), call('a', 30, 1), call('b', 40, 1)];
  runtime.answer(2);
  runtime.release();
  assert.deepEqual((await Promise.all(first)).map(numbers), [[0], [10, 11]]);
  assert.deepEqual(heard, ['10: 1 11', '0: 0 0', '10: 0 10']);
  await turn();
  runtime.release();
  await turn();
  runtime.release();
  assert.deepEqual((await Promise.all(later)).map(numbers), [[20, 21], [30], [40]]);
  assert.deepEqual(runtime.batches, ['a 0 10 11', 'b 20 21 40', 'a 30']);
});

it('a batch has at most 64 rows, and a call with more has one of its own', async () => {
  const runtime = new Held();
  const joined = new JoinedGenerations(runtime);
  const sizes = [60, 4, 1, 70, 2];
  const calls = sizes.map((count, index) => joined.generate('a', numbered(100 * index, count), { signal: NEVER }));
  while (runtime.batches.length < 3) {
    await turn();
    runtime.release();
  }
  assert.deepEqual(
    (await Promise.all(calls)).map(({ length }) => length),
    sizes,
  );
  assert.deepEqual(
    runtime.batches.map((batch) => batch.split(' ').length - 1),
    [64, 3, 70],
  );
});

it('a call ends with its own last completion, not with its batch', async () => {
  const runtime = new Held();
  const joined = new JoinedGenerations(runtime);
  const [short, long] = [0, 1].map((id) => joined.generate('a', [request(id)], { signal: NEVER }));
  await turn();
  runtime.answer(0);
  assert.deepEqual(numbers((await short) ?? []), [0]);
  runtime.release();
  assert.deepEqual(numbers((await long) ?? []), [1]);
});

it('a batch is stopped when all who still wait for it have left, and one who left hears nothing more', async () => {
  const runtime = new Held();
  const joined = new JoinedGenerations(runtime);
  const leaving = [new AbortController(), new AbortController()];
  const heard: number[] = [];
  const calls = leaving.map(({ signal }, id) =>
    joined.generate('a', numbered(10 * id, 2), { signal, onCompletion: () => heard.push(id) }),
  );
  const answered = joined.generate('a', [request(20)], { signal: NEVER });
  await turn();
  runtime.answer(4);
  assert.deepEqual(numbers(await answered), [20]);
  leaving[0]?.abort();
  await assert.rejects(calls[0] ?? Promise.resolve(), CancelledError);
  assert.equal(runtime.signals[0]?.aborted, false);
  runtime.answer(0);
  runtime.answer(2);
  leaving[1]?.abort();
  await assert.rejects(calls[1] ?? Promise.resolve(), CancelledError);
  assert.equal(runtime.signals[0].aborted, true);
  assert.deepEqual(heard, [1]);
});

it('a call that leaves while it waits is not sent, and all calls of a batch get its error', async () => {
  const runtime = new Held();
  const joined = new JoinedGenerations(runtime);
  const broken = [0, 1].map((id) => joined.generate('a', [request(id)], { signal: NEVER }));
  const leaving = new AbortController();
  await turn();
  const left = joined.generate('a', [request(2)], { signal: leaving.signal });
  const kept = joined.generate('a', [request(3)], { signal: NEVER });
  leaving.abort();
  await assert.rejects(left, CancelledError);
  runtime.answer = () => {
    throw new Error('no memory');
  };
  runtime.release();
  assert.deepEqual(
    (await Promise.allSettled(broken)).map((one) => one.status === 'rejected' && String(one.reason)),
    ['Error: no memory', 'Error: no memory'],
  );
  await turn();
  runtime.release();
  assert.deepEqual(numbers(await kept), [3]);
  assert.deepEqual(runtime.batches, ['a 0 1', 'a 3']);
  assert.deepEqual(await joined.generate('a', [], { signal: NEVER }), []);
});
