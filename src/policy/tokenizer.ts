/** Text to token ids and back, by a Hugging Face tokenizer.json. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { C3Error, messageOf } from '../shared/errors.ts';

export const TOKENIZER_FILE = 'tokenizer.json';
export const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json';

export const GENERATION_FILE = 'generation_config.json';

/** A special token by its text, or as older versions of Transformers write it. */
const specialSchema = z.union([z.string().min(1), z.looseObject({ content: z.string().min(1) }).transform(({ content }) => content)]);
const configSchema = z.looseObject({ eos_token: specialSchema, bos_token: specialSchema.nullish() });
const tokenIds = z.union([z.int(), z.array(z.int())]);
const addedSchema = z.looseObject({ added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string().min(1), special: z.boolean().nullish() })) });
const generationSchema = z.looseObject({ eos_token_id: tokenIds.nullish() });

export interface Tokenizer {
  /** Ids of a text, no special tokens added. */
  encode(text: string): Int32Array;
  /** Ids of a text as a whole model input, with the special tokens that the family puts around one (Llama 3: a first token). */
  encodeWhole(text: string): Int32Array;
  /** Text of ids, special tokens left out. */
  decode(ids: Int32Array): string;
  /** Text of ids with the special tokens among them. */
  decodeWhole(ids: Int32Array): string;
  /** The text of each single token, for display. */
  pieces(ids: Int32Array): string[];
  /** The token that ends a message. */
  readonly endToken: number;
  /** Tokens that also end generation, as generation_config.json says. */
  readonly otherEndTokens: readonly number[];
  /** Texts that `encode` turns into control tokens wherever they stand: the special tokens, and whatever token begins a text or ends a message. */
  readonly controls: readonly string[];
  readonly vocabularySize: number;
}

/** Loads tokenizer.json, tokenizer_config.json and, where there is one, generation_config.json of a model folder. @throws C3Error('model') naming the file */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const tokenizerJson = await readJson(join(folder, TOKENIZER_FILE));
  const configPath = join(folder, TOKENIZER_CONFIG_FILE);
  const config = configSchema.safeParse(await readJson(configPath));
  if (!config.success) throw new C3Error('model', `${configPath} names no eos_token; add the token that ends a message.`);
  const unreadable = (why: string, cause?: unknown): C3Error => new C3Error('model', `${join(folder, TOKENIZER_FILE)} is not a tokenizer that can be read: ${why}.`, { cause });
  let tokenizer: HuggingFaceTokenizer;
  try {
    tokenizer = new HuggingFaceTokenizer(tokenizerJson, config.data);
  } catch (error) {
    throw unreadable(messageOf(error), error);
  }
  const added = addedSchema.safeParse(tokenizerJson);
  if (!added.success) throw unreadable('added_tokens is no list of tokens with id and content');
  const endToken = tokenizer.token_to_id(config.data.eos_token);
  for (const special of [config.data.eos_token, config.data.bos_token]) {
    if (typeof special === 'string' && tokenizer.token_to_id(special) === undefined) throw lacks(folder, special);
  }
  if (endToken === undefined) throw lacks(folder, config.data.eos_token);
  const otherEndTokens = (await endTokensOf(folder)).filter((token) => token !== endToken);
  const encode = (text: string, whole: boolean): Int32Array => Int32Array.from(tokenizer.encode(text, { add_special_tokens: whole }).ids);
  return {
    encode: (text) => encode(text, false),
    encodeWhole: (text) => encode(text, true),
    decode: (ids) => (ids.length === 0 ? '' : tokenizer.decode([...ids], { skip_special_tokens: true, clean_up_tokenization_spaces: false })),
    decodeWhole: (ids) => (ids.length === 0 ? '' : tokenizer.decode([...ids], { skip_special_tokens: false, clean_up_tokenization_spaces: false })),
    pieces: (ids) => Array.from(ids, (id) => tokenizer.decode([id], { skip_special_tokens: false, clean_up_tokenization_spaces: false })),
    endToken,
    otherEndTokens,
    controls: controlsIn(added.data.added_tokens, [endToken, ...otherEndTokens], config.data.bos_token),
    vocabularySize: tokenizer.get_vocab(true).size,
  };
}

const lacks = (folder: string, token: string): C3Error => new C3Error('model', `${join(folder, TOKENIZER_FILE)} lacks the special token ${JSON.stringify(token).slice(1, -1).slice(0, 80)}, which ${TOKENIZER_CONFIG_FILE} names; copy both files again from their source.`);

type AddedToken = z.output<typeof addedSchema>['added_tokens'][number];

/** Added tokens are found in a text before anything else is; those that are no control tokens are words that any text may use. */
function controlsIn(added: readonly AddedToken[], endTokens: readonly number[], first: string | null | undefined): string[] {
  return added.filter(({ id, content, special }) => special === true || content === first || endTokens.includes(id)).map(({ content }) => content);
}

/** The ids of generation_config.json; none where the folder has no such file. */
async function endTokensOf(folder: string): Promise<number[]> {
  const path = join(folder, GENERATION_FILE);
  if (!existsSync(path)) return [];
  const parsed = generationSchema.safeParse(await readJson(path));
  if (!parsed.success) throw new C3Error('model', `${path}: eos_token_id is no token id and no list of them.`);
  return [parsed.data.eos_token_id ?? []].flat();
}

async function readJson(path: string): Promise<object> {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new C3Error('model', `Cannot read ${path}: ${messageOf(error)}; choose a folder with ${TOKENIZER_FILE}.`, { cause: error });
  }
  if (typeof json !== 'object' || json === null) throw new C3Error('model', `${path} is not a JSON object.`);
  return json;
}
