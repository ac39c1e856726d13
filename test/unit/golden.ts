/**
 * The golden models: random checkpoints, and what Transformers 5.18 computed with them (logits rounded to five digits).
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

export const FAMILIES = ['llama', 'qwen2', 'qwen3'] as const;

export const folderOf = (family: string): string => join(import.meta.dirname, '../fixtures/golden', family);

const ids = z.array(z.int());
const expectedSchema = z.object({
  prompts: z
    .array(
      z.object({
        text: z.string(),
        ids,
        decoded: z.string(),
        logits: z.array(z.array(z.number())).nullable(),
        last_logits: z.array(z.number()),
        greedy: ids,
      }),
    )
    .length(6),
  chat: z
    .array(z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })), text: z.string(), ids }))
    .length(2),
  logprob: z.object({ prompt: ids, completion: ids, per_token: z.array(z.number()) }),
});
export type Expected = z.infer<typeof expectedSchema>;

export const readExpected = async (family: string): Promise<Expected> =>
  expectedSchema.parse(JSON.parse(await readFile(join(folderOf(family), 'expected.json'), 'utf8')));
