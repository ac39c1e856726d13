/** Turns messages into the text that a chat model expects, with the Jinja template of its folder. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { z } from 'zod';
import { readModelFile } from '../runtime/files/modelFile.ts';
import { C3Error, toErrorMessage } from '../shared/errors.ts';
import { MAX_TOKENIZER_CONFIG_BYTES, TOKENIZER_CONFIG_FILE } from './tokenizer.ts';

export const TEMPLATE_FILE = 'chat_template.jinja';

/** Published templates have a few thousand characters. */
const MAX_TEMPLATE = 256 * 1024;

const specialSchema = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish();
const configSchema = z.looseObject({
  bos_token: specialSchema,
  eos_token: specialSchema,
  pad_token: specialSchema,
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))]).nullish(),
});

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

export interface ChatOptions {
  /** Ends with the opening of the assistant's turn. Default: true. */
  readonly generationPrompt?: boolean;
  /** Lets a model that can reason in tags do so (`enable_thinking` of its template). Default: false. */
  readonly thinking?: boolean;
}

/** A compiled template. It blocks this thread while it renders: for folders of our own. */
export interface ChatTemplate {
  /**
   * Returns the text of a conversation exactly as the template writes it. Some templates add a
   * system prompt of their own if the first message is none, so give one. The text depends only on
   * messages and options: a template that asks for the date finds none.
   * @throws C3Error('model') with the template's own message if it refuses the messages
   */
  render(messages: readonly ChatMessage[], options?: ChatOptions): string;
}

/** Makes `strftime_now` undefined. The line break is removed with the block. */
const NO_DATE = '{%- set strftime_now = c3_nothing %}\n';

/** The template of a folder as plain data. */
export interface TemplateSource {
  /** The file that holds it, for messages. */
  readonly path: string;
  readonly text: string;
  /** Variables that it may use besides messages, such as `bos_token`. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Reads the template of a model folder from chat_template.jinja, or else from
 * tokenizer_config.json. If that holds several, the default is read.
 * @returns null if there is none
 * @throws C3Error('model') that names the file
 */
export async function readTemplate(folder: string): Promise<TemplateSource | null> {
  const configPath = join(folder, TOKENIZER_CONFIG_FILE);
  const config = await readConfig(configPath);
  const own = join(folder, TEMPLATE_FILE);
  const [path, text] = existsSync(own) ? [own, await readText(own)] : [configPath, findDefaultTemplate(config)];
  if (text === undefined) {
    return null;
  }
  if (text.length > MAX_TEMPLATE) {
    throw new C3Error('model', `${path}: the chat template is longer than ${MAX_TEMPLATE} characters.`);
  }
  const { bos_token: first, eos_token: end, pad_token: padding } = config;
  return {
    path,
    text,
    variables: {
      ...(first && { bos_token: first }),
      ...(end && { eos_token: end }),
      ...(padding && { pad_token: padding }),
    },
  };
}

/**
 * Compiles a template.
 * @throws C3Error('model') that names the file, if it is not a template
 */
export function compileTemplate({ path, text, variables }: TemplateSource): ChatTemplate {
  let template: Template;
  try {
    template = new Template(NO_DATE + text);
  } catch (error) {
    throw new C3Error('model', `${path}: the chat template cannot be understood: ${formatTemplateError(error)}.`, {
      cause: error,
    });
  }
  return {
    render: (messages, { generationPrompt = true, thinking = false } = {}) => {
      try {
        const copies = messages.map(({ role, content }) => ({ role, content }));
        return template.render({
          ...variables,
          messages: copies,
          add_generation_prompt: generationPrompt,
          enable_thinking: thinking,
        });
      } catch (error) {
        throw new C3Error(
          'model',
          `${path}: the chat template refuses these messages: ${formatTemplateError(error)}.`,
          { cause: error },
        );
      }
    },
  };
}

/**
 * Loads the template of a model folder for use in this thread.
 * @throws C3Error('model') that names the file, if it has no template or an invalid one
 */
export const loadChatTemplate = async (folder: string): Promise<ChatTemplate> =>
  compileTemplate(await readRequiredTemplate(folder));

/**
 * Reads the template that a model folder must have.
 * @throws C3Error('model') that names the file, if there is none
 */
export async function readRequiredTemplate(folder: string): Promise<TemplateSource> {
  const source = await readTemplate(folder);
  if (source === null) {
    throw new C3Error(
      'model',
      `${join(folder, TOKENIZER_CONFIG_FILE)} has no chat_template, and there is no ${TEMPLATE_FILE} beside it; choose a model that was made for chat.`,
    );
  }
  return source;
}

/** Returns a template's own message on one line of limited length. */
const formatTemplateError = (error: unknown): string =>
  toErrorMessage(error).replace(/\s+/g, ' ').trim().replace(/\.$/, '').slice(0, 300);

function findDefaultTemplate({ chat_template: given }: z.output<typeof configSchema>): string | undefined {
  if (typeof given === 'string') {
    return given;
  }
  return given?.find(({ name }) => name === 'default')?.template;
}

async function readConfig(path: string): Promise<z.output<typeof configSchema>> {
  const text = await readText(path);
  try {
    return configSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new C3Error('model', `${path} is not a tokenizer configuration: ${formatTemplateError(error)}.`, {
      cause: error,
    });
  }
}

async function readText(path: string): Promise<string> {
  return (await readModelFile(path, MAX_TOKENIZER_CONFIG_BYTES, 'choose a folder with a tokenizer')).toString('utf8');
}
