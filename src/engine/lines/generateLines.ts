/** `c3 generate`: JSONL in, JSONL out. */

import { z } from 'zod';
import { readRequiredTemplate } from '../../policy/chatTemplate.ts';
import type { ChatRenderer } from '../../policy/textProcess.ts';
import { checkRequest, type GenerationRequest } from '../../runtime/generate/generate.ts';
import { streamKey } from '../../runtime/random.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { answerLines, readLine, type LineModel } from './lineModel.ts';

export interface GenerateSettings {
  /** True to take the most likely token each time; otherwise tokens are sampled at temperature 1. */
  readonly greedy: boolean;
  /** Maximum new tokens; null for DEFAULT_NEW, or less if the model has fewer positions left. */
  readonly maxNew: number | null;
  /** Seed of the samples. With equal seeds and ids, sampled answers are equal. */
  readonly seed: number;
  /** Lets a chat model reason in tags first. */
  readonly thinking: boolean;
}

const DEFAULT_NEW = 256;

const FORM =
  '{"id": ..., and one of "text": "...", "ids": [token ids], "messages": [{"role": "...", "content": "..."}]}';
const lineSchema = z
  .object({
    id: z.union([z.string(), z.number()]),
    text: z.string().optional(),
    ids: z.array(z.int32()).optional(),
    messages: z
      .array(z.object({ role: z.string(), content: z.string() }))
      .min(1)
      .optional(),
    /** The role whose adapter answers, if roles have adapters of their own. */
    agent: z.string().optional(),
  })
  .refine(
    ({ text, ids, messages }) => [text, ids, messages].filter((given) => given !== undefined).length === 1,
    'exactly one of text, ids and messages is needed',
  );

type Line = z.output<typeof lineSchema>;

/**
 * Yields one output line `{id, ids, text, finish}` for each input line: the new tokens with the end
 * token, and their text without special tokens.
 * @throws C3Error('input') naming the line; C3Error('model') if the model's chat template refuses a
 *   line; CancelledError
 */
export async function* generateLines(
  input: NodeJS.ReadableStream,
  model: LineModel,
  settings: GenerateSettings,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const { folder, texts, tokenizer, runtime, info, snapshot } = model;
  let template: Promise<ChatRenderer> | undefined;
  const promptOf = async ({ text, ids, messages }: Line, place: string): Promise<Int32Array> => {
    if (ids !== undefined) {
      return Int32Array.from(ids);
    }
    if (messages === undefined) {
      return tokenizer.encodeWhole(text ?? '');
    }
    template ??= readRequiredTemplate(folder).then((source) => texts.chat(source, signal));
    const chat = await template;
    try {
      return await tokenizer.encode(await chat(messages, { thinking: settings.thinking }));
    } catch (error) {
      throw error instanceof C3Error
        ? new C3Error(error.kind, `${place}: ${toErrorMessage(error)}`, { cause: error })
        : error;
    }
  };
  const understand = async (
    line: string,
    place: string,
  ): Promise<{ id: string | number; request: GenerationRequest }> => {
    const read = readLine(lineSchema, line, place, FORM);
    const prompt = await promptOf(read, place);
    const maxNewTokens =
      settings.maxNew ?? Math.max(1, Math.min(DEFAULT_NEW, info.config.maxPositions - prompt.length));
    checkRequest(info.config, { prompt, maxNewTokens }, place);
    const key = streamKey({
      seed: settings.seed,
      scope: 'generate',
      uidSha: JSON.stringify(read.id),
      role: '',
      turn: 0,
      sibling: 0,
    });
    const { endToken, otherEndTokens } = tokenizer;
    return {
      id: read.id,
      request: {
        ...(read.agent !== undefined && { role: read.agent }),
        prompt,
        maxNewTokens,
        endToken,
        otherEndTokens,
        temperature: settings.greedy ? 0 : 1,
        topP: 1,
        topK: 0,
        streamKey: key,
      },
    };
  };
  yield* answerLines(input, understand, async (lines) => {
    const completions = await runtime.generate(
      snapshot,
      lines.map(({ request }) => request),
      { signal },
    );
    return Promise.all(
      completions.map(async ({ tokens, finish }, index) =>
        JSON.stringify({ id: lines[index]?.id, ids: [...tokens], text: await tokenizer.decode(tokens), finish }),
      ),
    );
  });
}
