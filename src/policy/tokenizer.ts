/** Text to token ids and back, by a Hugging Face tokenizer.json. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { C3Error, messageOf } from '../shared/errors.ts';

export const TOKENIZER_FILE = 'tokenizer.json';
export const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json';

const configSchema = z.looseObject({ eos_token: z.string().min(1) });

export interface Tokenizer {
  /** Ids of a text, no special tokens added. */
  encode(text: string): Int32Array;
  /** Text of ids, special tokens left out. */
  decode(ids: Int32Array): string;
  /** The text of each single token, for display. */
  pieces(ids: Int32Array): string[];
  /** The token that ends a message. */
  readonly endToken: number;
  readonly vocabularySize: number;
}

/** Loads tokenizer.json and tokenizer_config.json of a model folder. @throws C3Error('model') naming the file */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  const tokenizerJson = await readJson(join(folder, TOKENIZER_FILE));
  const configPath = join(folder, TOKENIZER_CONFIG_FILE);
  const config = configSchema.safeParse(await readJson(configPath));
  if (!config.success) throw new C3Error('model', `${configPath} names no eos_token; add the token that ends a message.`);
  let tokenizer: HuggingFaceTokenizer;
  try {
    tokenizer = new HuggingFaceTokenizer(tokenizerJson, config.data);
  } catch (error) {
    throw new C3Error('model', `${join(folder, TOKENIZER_FILE)} is not a tokenizer that can be read: ${messageOf(error)}.`, { cause: error });
  }
  const endToken = tokenizer.token_to_id(config.data.eos_token);
  if (endToken === undefined) throw new C3Error('model', `${join(folder, TOKENIZER_FILE)} lacks the special token ${config.data.eos_token}.`);
  return {
    encode: (text) => Int32Array.from(tokenizer.encode(text, { add_special_tokens: false }).ids),
    decode: (ids) => (ids.length === 0 ? '' : tokenizer.decode([...ids], { skip_special_tokens: true, clean_up_tokenization_spaces: false })),
    pieces: (ids) => Array.from(ids, (id) => tokenizer.decode([id], { skip_special_tokens: false, clean_up_tokenization_spaces: false })),
    endToken,
    vocabularySize: tokenizer.get_vocab(true).size,
  };
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
