/** Converts text to token ids and back, with a Hugging Face tokenizer.json. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { readModelFile } from '../runtime/files/modelFile.ts';
import { C3Error, toErrorMessage } from '../shared/errors.ts';
import { groupTokens, type TokenSpans } from '../shared/transcript/contextTokens.ts';

export const TOKENIZER_FILE = 'tokenizer.json';
export const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json';

export const GENERATION_FILE = 'generation_config.json';

/** A special token by its text, or in the form of older versions of Transformers. */
const specialSchema = z.union([
  z.string().min(1),
  z.looseObject({ content: z.string().min(1) }).transform(({ content }) => content),
]);
const configSchema = z.looseObject({ eos_token: specialSchema, bos_token: specialSchema.nullish() });
const tokenIds = z.union([z.int(), z.array(z.int())]);
const addedSchema = z.looseObject({
  added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string().min(1), special: z.boolean().nullish() })),
});
const generationSchema = z.looseObject({ eos_token_id: tokenIds.nullish() });

/** The properties of a tokenizer that are known without running it. */
export interface TokenizerFacts {
  /** The token that ends a message. */
  readonly endToken: number;
  /** Tokens that also end generation, from generation_config.json. */
  readonly otherEndTokens: readonly number[];
  /**
   * Texts that `encode` turns into control tokens at any place: the special tokens, and the tokens
   * that begin a text or end a message.
   */
  readonly controls: readonly string[];
  readonly vocabularySize: number;
}

/**
 * A tokenizer. It answers synchronously, or asynchronously if it runs in a process of its own.
 * @throws C3Error('model') if that process had to be ended; CancelledError
 */
export interface Tokenizer extends TokenizerFacts {
  /** Returns the ids of a text without adding special tokens. */
  encode(text: string): Int32Array | Promise<Int32Array>;
  /**
   * Returns the ids of a text as a whole model input, with the special tokens of the model family
   * (Llama 3: a first token).
   */
  encodeWhole(text: string): Int32Array | Promise<Int32Array>;
  /** Returns the text of ids without special tokens. */
  decode(ids: Int32Array): string | Promise<string>;
  /** Returns the text of ids with special tokens. */
  decodeWhole(ids: Int32Array): string | Promise<string>;
  /** Returns the text of each single token, for display. */
  pieces(ids: Int32Array): readonly string[] | Promise<readonly string[]>;
  /** Groups ids so that their texts join to the given text, for display. */
  spans(ids: Int32Array, text: string): TokenSpans | Promise<TokenSpans>;
}

/** A tokenizer in this thread, which its files may block: for folders of our own. */
export interface LoadedTokenizer extends Tokenizer {
  encode(text: string): Int32Array;
  encodeWhole(text: string): Int32Array;
  decode(ids: Int32Array): string;
  decodeWhole(ids: Int32Array): string;
  pieces(ids: Int32Array): string[];
  spans(ids: Int32Array, text: string): TokenSpans;
  readonly facts: TokenizerFacts;
}

/** The unparsed files of a tokenizer. */
export interface TokenizerFiles {
  readonly folder: string;
  readonly tokenizer: Uint8Array;
  readonly config: Uint8Array;
  /** Null if the folder has no such file. */
  readonly generation: Uint8Array | null;
}

/** The largest published tokenizer.json has 33 MB. Other files of a tokenizer have some kilobytes. */
export const MAX_TOKENIZER_BYTES = 72 * 1024 * 1024;
export const MAX_TOKENIZER_CONFIG_BYTES = 16 * 1024 * 1024;
/** The most control tokens, and characters of one. Published tokenizers have up to some thousand. */
const MAX_CONTROLS = 16_384;
const MAX_CONTROL = 1024;

/**
 * Reads the files of a tokenizer.
 * @throws C3Error('model') that names the file
 */
export async function readTokenizerFiles(folder: string): Promise<TokenizerFiles> {
  const advice = `choose a folder with ${TOKENIZER_FILE}`;
  const generation = join(folder, GENERATION_FILE);
  return {
    folder,
    tokenizer: await readModelFile(join(folder, TOKENIZER_FILE), MAX_TOKENIZER_BYTES, advice),
    config: await readModelFile(join(folder, TOKENIZER_CONFIG_FILE), MAX_TOKENIZER_CONFIG_BYTES, advice),
    generation: existsSync(generation) ? await readModelFile(generation, MAX_TOKENIZER_CONFIG_BYTES, advice) : null,
  };
}

/**
 * Loads the tokenizer of a folder into this thread.
 * @throws C3Error('model') that names the file
 */
export const loadTokenizer = async (folder: string): Promise<LoadedTokenizer> =>
  createTokenizer(await readTokenizerFiles(folder));

/**
 * Makes a tokenizer from its files.
 * @throws C3Error('model') that names the file
 */
export function createTokenizer({ folder, ...files }: TokenizerFiles): LoadedTokenizer {
  const tokenizerJson = parseJson(files.tokenizer, join(folder, TOKENIZER_FILE));
  const configPath = join(folder, TOKENIZER_CONFIG_FILE);
  const config = configSchema.safeParse(parseJson(files.config, configPath));
  if (!config.success) {
    throw new C3Error('model', `${configPath} names no eos_token; add the token that ends a message.`);
  }
  const unreadable = (why: string, cause?: unknown): C3Error =>
    new C3Error('model', `${join(folder, TOKENIZER_FILE)} is not a tokenizer that can be read: ${why}.`, { cause });
  let tokenizer: HuggingFaceTokenizer;
  try {
    tokenizer = new HuggingFaceTokenizer(tokenizerJson, config.data);
  } catch (error) {
    throw unreadable(oneLine(error), error);
  }
  const added = addedSchema.safeParse(tokenizerJson);
  if (!added.success) {
    throw unreadable('added_tokens is not a list of tokens with id and content');
  }
  const endToken = tokenizer.token_to_id(config.data.eos_token);
  for (const special of [config.data.eos_token, config.data.bos_token]) {
    if (typeof special === 'string' && tokenizer.token_to_id(special) === undefined) {
      throw makeMissingTokenError(folder, special);
    }
  }
  if (endToken === undefined) {
    throw makeMissingTokenError(folder, config.data.eos_token);
  }
  const otherEndTokens = readEndTokens(files.generation, join(folder, GENERATION_FILE)).filter(
    (token) => token !== endToken,
  );
  const controls = findControls(added.data.added_tokens, [endToken, ...otherEndTokens], config.data.bos_token);
  if (controls.length > MAX_CONTROLS) {
    throw unreadable(
      `added_tokens names ${controls.length} control tokens, more than the ${MAX_CONTROLS} that are supported`,
    );
  }
  if (controls.some((control) => control.length > MAX_CONTROL)) {
    throw unreadable(`added_tokens names a control token of more than ${MAX_CONTROL} characters`);
  }
  const encode = (text: string, whole: boolean): Int32Array =>
    Int32Array.from(tokenizer.encode(text, { add_special_tokens: whole }).ids);
  const facts = { endToken, otherEndTokens, controls, vocabularySize: tokenizer.get_vocab(true).size };
  const decode = (ids: readonly number[], special: boolean): string =>
    ids.length === 0
      ? ''
      : tokenizer.decode(ids, { skip_special_tokens: !special, clean_up_tokenization_spaces: false });
  return {
    encode: (text) => encode(text, false),
    encodeWhole: (text) => encode(text, true),
    decode: (ids) => decode([...ids], false),
    decodeWhole: (ids) => decode([...ids], true),
    pieces: (ids) => Array.from(ids, (id) => decode([id], true)),
    spans: (ids, text) => groupTokens([...ids], text, (some) => decode(some, true)),
    facts,
    ...facts,
  };
}

/** Returns a parser's message on one line of limited length, because it may quote the text. */
const oneLine = (error: unknown): string => toErrorMessage(error).replace(/\s+/g, ' ').slice(0, 300);

const makeMissingTokenError = (folder: string, token: string): C3Error =>
  new C3Error(
    'model',
    `${join(folder, TOKENIZER_FILE)} lacks the special token ${JSON.stringify(token).slice(1, -1).slice(0, 80)}, which ${TOKENIZER_CONFIG_FILE} names; copy both files again from their source.`,
  );

type AddedToken = z.output<typeof addedSchema>['added_tokens'][number];

/**
 * Returns the control tokens among the added tokens. Added tokens are matched before anything else
 * in a text. The others are words that any text may use.
 */
function findControls(
  added: readonly AddedToken[],
  endTokens: readonly number[],
  first: string | null | undefined,
): string[] {
  return added
    .filter(({ id, content, special }) => special === true || content === first || endTokens.includes(id))
    .map(({ content }) => content);
}

/** Returns the ids of generation_config.json, or none if the folder has no such file. */
function readEndTokens(bytes: Uint8Array | null, path: string): number[] {
  if (bytes === null) {
    return [];
  }
  const parsed = generationSchema.safeParse(parseJson(bytes, path));
  if (!parsed.success) {
    throw new C3Error('model', `${path}: eos_token_id is neither a token id nor a list of token ids.`);
  }
  return [parsed.data.eos_token_id ?? []].flat();
}

function parseJson(bytes: Uint8Array, path: string): object {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw new C3Error('model', `Cannot read ${path}: ${oneLine(error)}; choose a folder with ${TOKENIZER_FILE}.`, {
      cause: error,
    });
  }
  if (typeof json !== 'object' || json === null) {
    throw new C3Error('model', `${path} is not a JSON object.`);
  }
  return json;
}
