/** `c3 score`: JSONL in, JSONL out. */

import { z } from 'zod';
import { checkTokens } from '../../runtime/model/transformer.ts';
import { checkMessage, type TrainingContext } from '../../runtime/train/graph/pack.ts';
import { answerLines, readLine, type LineModel } from './lineModel.ts';

const FORM = '{"id": ..., "prompt": [token ids], "completion": [token ids]}';
const lineSchema = z.object({
  id: z.union([z.string(), z.number()]),
  prompt: z.array(z.int32()),
  completion: z.array(z.int32()),
  agent: z.string().optional(),
});

/**
 * Yields one output line `{id, logprobs, sum}` for each input line: the log-probability of each token
 * of the completion at temperature 1, and their sum.
 * @throws C3Error('input') naming the line; CancelledError
 */
export async function* scoreLines(
  input: NodeJS.ReadableStream,
  { runtime, info, snapshot }: LineModel,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const understand = (line: string, place: string): { id: string | number; context: TrainingContext } => {
    const { id, prompt: promptIds, completion, agent: role } = readLine(lineSchema, line, place, FORM);
    const [prompt, tokens] = [Int32Array.from(promptIds), Int32Array.from(completion)];
    checkTokens(info.config, prompt, place);
    checkMessage(info.config, prompt, tokens, place);
    const unused = new Float32Array(tokens.length);
    return {
      id,
      context: {
        ...(role !== undefined && { role }),
        prompt,
        messages: [{ tokens, behaviour: unused, reference: unused, advantages: unused }],
      },
    };
  };
  yield* answerLines(input, understand, async (lines) => {
    const scored = await runtime.score(
      snapshot,
      lines.map(({ context }) => context),
      1,
      signal,
    );
    return lines.map(({ id }, index) => {
      const logprobs = [...(scored[index]?.[0] ?? [])];
      return JSON.stringify({ id, logprobs, sum: logprobs.reduce((total, value) => total + value, 0) });
    });
  });
}
