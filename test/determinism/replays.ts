/**
 * Replays as they were made the first time, and their re-execution: other batches, another order, another process,
 * other threads.
 */

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { Generator, type Completion, type GenerationRequest } from '../../src/runtime/generate/generate.ts';
import { loadModel } from '../../src/runtime/model/model.ts';
import { Stream, streamKey } from '../../src/runtime/random.ts';

/** What was asked and what came. */
export interface RecordedReplay {
  readonly request: GenerationRequest;
  readonly completion: Pick<Completion, 'tokens' | 'logprobs'>;
}

/** What re-execution found; `smallest` and `largest` are the batches' sizes. */
const tallySchema = z.object({
  replays: z.int(),
  distinct: z.int(),
  tokens: z.int(),
  batches: z.int(),
  smallest: z.int(),
  largest: z.int(),
  differingTokens: z.int(),
  differingLogprobs: z.int(),
});
export type Tally = z.infer<typeof tallySchema>;

const numbers = z.array(z.number());
const recordingSchema = z.object({
  folder: z.string(),
  prompts: z.array(numbers),
  replays: z.array(
    z.object({
      prompt: z.int(),
      maxNewTokens: z.int(),
      endToken: z.int(),
      temperature: z.number(),
      topP: z.number(),
      topK: z.int(),
      streamKey: z.string(),
      tokens: numbers,
      logprobs: numbers,
    }),
  ),
});

/** Writes replays of the model in a folder. A float32 survives as a decimal number: reading it gives the same bits. */
export async function writeRecording(path: string, folder: string, replays: readonly RecordedReplay[]): Promise<void> {
  const places = new Map<string, number>();
  const prompts: number[][] = [];
  const rows = replays.map(({ request: { prompt, ...request }, completion: { tokens, logprobs } }) => {
    const key = prompt.join();
    const place = places.get(key) ?? prompts.push([...prompt]) - 1;
    places.set(key, place);
    return { ...request, prompt: place, tokens: [...tokens], logprobs: [...logprobs] };
  });
  await writeFile(path, JSON.stringify({ folder, prompts, replays: rows }));
}

/**
 * Re-executes every recorded replay at least once, in shuffled order, in batches of every size from 1 to the largest,
 * and compares tokens and log-probabilities.
 * @param threads those of this re-execution
 * @param largest of the batches
 */
export async function reexecute(path: string, threads: number, largest: number): Promise<Tally> {
  const { folder, prompts, replays } = recordingSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  const { config, parameters } = await loadModel(folder);
  const generator = await Generator.create(config, { threads });
  const tally: Tally = {
    replays: 0,
    distinct: 0,
    tokens: 0,
    batches: 0,
    smallest: Infinity,
    largest: 0,
    differingTokens: 0,
    differingLogprobs: 0,
  };
  const sizes = shuffled(largest, `sizes ${threads}`);
  const seen = new Set<number>();
  let order: number[] = [];
  for (let batch = 0; batch < sizes.length || seen.size < replays.length; batch++) {
    const size = 1 + (sizes[batch % sizes.length] ?? 0);
    while (order.length < size) {
      order = [...order, ...shuffled(replays.length, `order ${threads} ${batch} ${order.length}`)];
    }
    const members = order.splice(0, size);
    const expected = members.flatMap((member) => replays[member] ?? []);
    const completions = await generator.generate(
      parameters,
      expected.map(({ prompt, ...request }) => ({ ...request, prompt: Int32Array.from(prompts[prompt] ?? []) })),
      { signal: new AbortController().signal },
    );
    for (const member of members) {
      seen.add(member);
    }
    tally.replays += members.length;
    tally.batches++;
    tally.smallest = Math.min(tally.smallest, size);
    tally.largest = Math.max(tally.largest, size);
    expected.forEach(({ tokens, logprobs }, index) => {
      tally.tokens += tokens.length;
      tally.differingTokens += differing(tokens, completions[index]?.tokens ?? []);
      tally.differingLogprobs += differing(logprobs, completions[index]?.logprobs ?? []);
    });
  }
  await generator.release();
  return { ...tally, distinct: seen.size };
}

/** Re-executes in a process of its own. */
export async function reexecuteElsewhere(path: string, threads: number, largest: number): Promise<Tally> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'reexecute.ts'),
    path,
    String(threads),
    String(largest),
  ]);
  return tallySchema.parse(JSON.parse(stdout));
}

/** Places at which two lists are not the same, those included that only one of them has. */
function differing(expected: readonly number[], got: ArrayLike<number>): number {
  let count = Math.abs(expected.length - got.length);
  for (let index = 0; index < Math.min(expected.length, got.length); index++) {
    if (!Object.is(expected[index], got[index])) {
      count++;
    }
  }
  return count;
}

/** 0 to count - 1 in an order that a name decides (Fisher-Yates). */
export function shuffled(count: number, name: string): number[] {
  const stream = new Stream(streamKey({ seed: 0, scope: name, uidSha: '', role: '', turn: 0, sibling: 0 }));
  const order = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor((last + 1) * stream.uniform(last));
    [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
  }
  return order;
}
