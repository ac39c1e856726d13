/** Exact replay: many replays come out the same in any batch and order, in another process, with one thread and two. */

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { Generator, type GenerationRequest } from '../../../../src/runtime/generate/generate.ts';
import { saveModel } from '../../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { reexecute, reexecuteElsewhere, writeRecording } from '../../../determinism/replays.ts';
import { request, RUNNING, testParameters, TINY } from '../../../unit/runtime/models.ts';
import { present, range, testKey } from '../../../unit/runtime/nd.ts';

const CONFIG: TransformerConfig = { ...TINY, maxPositions: 80 };
const SIBLINGS = 40;
/**
 * Forty replays of each context, contexts of 1 to 67 tokens, messages of at most 3 to 10, some of which end earlier;
 * some truncate or cool.
 */
const requestsOf = (contexts: number): GenerationRequest[] =>
  range(contexts).flatMap((context) =>
    range(SIBLINGS).map((sibling) =>
      request(`context ${context}`, 1 + (context % 67), 3 + (context % 8), {
        streamKey: testKey(`context ${context}`, sibling),
        temperature: context % 5 === 0 ? 0.75 : 1,
        topK: context % 7 === 0 ? 6 : 0,
        topP: context % 11 === 0 ? 0.9 : 1,
      }),
    ),
  );

/** What a test changes in a recording. */
const writtenSchema = z.looseObject({
  replays: z.array(z.looseObject({ tokens: z.array(z.int()), logprobs: z.array(z.number()) })),
});

/**
 * @param contexts with forty replays each
 * @param largest batch; those of every size from 1 together have as many rows as there are replays, or more
 */
export function manyReplays(contexts: number, largest: number): void {
  const requests = requestsOf(contexts);
  /** 1 + 2 + ... to the largest: every batch size once. */
  const executions = (largest * (largest + 1)) / 2;
  let folder = '';
  let recording = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'c3-replays-'));
    recording = join(folder, 'replays.json');
    const parameters = testParameters(CONFIG);
    await saveModel(folder, { config: CONFIG, parameters }, 'F32');
    const generator = await Generator.create(CONFIG, { threads: 1 });
    const completions = await generator.generate(parameters, requests, RUNNING);
    await generator.release();
    assert.ok(new Set(completions.map(({ tokens }) => tokens.join())).size > (contexts * SIBLINGS) / 2);
    assert.ok(new Set(completions.map(({ finish }) => finish)).size === 2);
    await writeRecording(
      recording,
      folder,
      requests.map((one, index) => ({ request: one, completion: present(completions[index]) })),
    );
  });
  after(() => rm(folder, { recursive: true }));

  describe('replays of many contexts', () => {
    for (const threads of [1, 2]) {
      it(`re-executed in another process with ${threads} thread(s): nothing differs`, async () => {
        const { tokens, ...tally } = await reexecuteElsewhere(recording, threads, largest);
        assert.deepEqual(tally, {
          replays: executions,
          distinct: contexts * SIBLINGS,
          batches: largest,
          smallest: 1,
          largest: largest,
          differingTokens: 0,
          differingLogprobs: 0,
        });
        assert.ok(tokens > 2 * executions);
      });
    }

    it('a recording in which one token and one log-probability were changed is found out', async () => {
      const written = writtenSchema.parse(JSON.parse(await readFile(recording, 'utf8')));
      const replays = written.replays.slice(0, 300);
      const [first, second] = [present(replays[0]), present(replays[1])];
      first.tokens[0] = (present(first.tokens[0]) + 1) % CONFIG.vocabularySize;
      // The neighbouring float32.
      second.logprobs[0] = Math.fround(present(second.logprobs[0]) * (1 + 2 ** -23));
      const path = join(folder, 'tampered.json');
      await writeFile(path, JSON.stringify({ ...written, replays }));
      const { replays: executed, differingTokens, differingLogprobs } = await reexecute(path, 1, largest);
      // Every replay is in the tally as often as it was re-executed.
      assert.equal(executed, executions);
      for (const differing of [differingTokens, differingLogprobs]) {
        assert.ok(
          differing >= Math.floor(executions / 300) && differing <= Math.ceil(executions / 300),
          String(differing),
        );
      }
    });
  });
}
