/**
 * Chat templates and tokenizers of the families. Beside the golden models: small tokenizers with the rules of Qwen and
 * Llama 3 (splitting, normal form, special tokens, first token) and templates in their manner; what is expected was
 * made with the Rust library tokenizers 0.23.2 and Jinja2 3.1.6.
 */

import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { loadChatTemplate, type ChatTemplate } from '../../../src/policy/chatTemplate.ts';
import { loadTokenizer } from '../../../src/policy/tokenizer.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { FAMILIES, folderOf, readExpected } from '../golden.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures/tokenizers');
const ids = z.array(z.int());
const schema = z.object({
  texts: z.array(z.object({ text: z.string(), ids, whole: ids, decoded: z.string() })).length(15),
  chats: z.array(
    z.object({
      template: z.string(),
      messages: z.array(z.object({ role: z.string(), content: z.string() })),
      thinking: z.boolean(),
      generation: z.boolean(),
      text: z.string(),
    }),
  ),
});
const readFixture = async (name: string): Promise<z.infer<typeof schema>> =>
  schema.parse(JSON.parse(await readFile(join(FIXTURES, name, 'expected.json'), 'utf8')));

let temporary: string;
before(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'c3-chat-'));
});
after(() => rm(temporary, { recursive: true, force: true }));

/** A copy of a folder with another template. */
async function withTemplate(name: string, template: string): Promise<string> {
  const folder = await mkdtemp(join(temporary, 'copy-'));
  await cp(join(FIXTURES, name), folder, { recursive: true });
  await writeFile(join(folder, 'chat_template.jinja'), template);
  return folder;
}

for (const family of FAMILIES) {
  it(`the ${family} checkpoint: chats are rendered and encoded as by Transformers`, async () => {
    const [tokenizer, template, { chat, prompts }] = [
      await loadTokenizer(folderOf(family)),
      await loadChatTemplate(folderOf(family)),
      await readExpected(family),
    ];
    for (const { messages, text, ids: wanted } of chat) {
      assert.equal(template.render(messages), text);
      assert.deepEqual([...tokenizer.encode(text)], wanted);
    }
    for (const { text, ids: wanted } of prompts) {
      assert.deepEqual([...tokenizer.encodeWhole(text)], wanted, text);
    }
    assert.deepEqual([tokenizer.endToken, tokenizer.otherEndTokens], [2, []]);
  });
}

for (const name of ['qwen', 'llama3']) {
  describe(`a tokenizer as ${name} has it`, () => {
    it('gives the ids and texts that the Rust library gives', async () => {
      const [tokenizer, { texts }] = [await loadTokenizer(join(FIXTURES, name)), await readFixture(name)];
      for (const { text, ids: wanted, whole, decoded } of texts) {
        assert.deepEqual([...tokenizer.encode(text)], wanted, JSON.stringify(text));
        assert.deepEqual([...tokenizer.encodeWhole(text)], whole, JSON.stringify(text));
        assert.equal(tokenizer.decode(Int32Array.from(wanted)), decoded);
      }
    });

    it('renders chats as Jinja2 does', async () => {
      const { chats } = await readFixture(name);
      assert.ok(chats.length >= 6);
      for (const { template: file, messages, thinking, generation, text } of chats) {
        const folder =
          file === 'default'
            ? join(FIXTURES, name)
            : await withTemplate(name, await readFile(join(FIXTURES, name, `${file}.jinja`), 'utf8'));
        assert.equal(
          (await loadChatTemplate(folder)).render(messages, { thinking, generationPrompt: generation }),
          text,
        );
      }
    });
  });
}

it('generation ends at every token that generation_config.json names', async () => {
  const llama = await loadTokenizer(join(FIXTURES, 'llama3'));
  assert.deepEqual(
    [llama.endToken, ...llama.otherEndTokens].map((token) => llama.pieces(Int32Array.of(token))[0]).sort(),
    ['<|end_of_text|>', '<|eom_id|>', '<|eot_id|>'],
  );
});

describe('a chat template', () => {
  const messages = [{ role: 'user', content: 'hi' }];
  const load = async (template: string): Promise<ChatTemplate> =>
    loadChatTemplate(await withTemplate('qwen', template));
  const refuses = async (work: Promise<unknown>, says: RegExp): Promise<void> =>
    assert.rejects(
      work,
      (error) =>
        error instanceof C3Error &&
        error.kind === 'model' &&
        says.test(error.message) &&
        /^[^\n]+\.$/.test(error.message),
    );

  it('reasons only when asked', async () => {
    const template = await load(await readFile(join(FIXTURES, 'qwen', 'qwen3.jinja'), 'utf8'));
    assert.equal(
      template.render(messages),
      '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n',
    );
    assert.equal(
      template.render(messages, { thinking: true }),
      '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  it('never learns the date', async () =>
    assert.equal((await load("{{ 'dated' if strftime_now is defined else 'undated' }}")).render(messages), 'undated'));

  it('keeps the white space of its first line as Jinja2 does', async () => {
    assert.equal((await load('  {% if true %}\n  a{% endif %}\n')).render(messages), '  a');
    assert.equal((await load(' {{ 1 }}')).render(messages), ' 1');
  });

  it('does not read the messages as a template', async () => {
    assert.equal(
      (await load('{{ messages[0].content }}')).render([{ role: 'user', content: '{{ 7 * 6 }}{% raise %}' }]),
      '{{ 7 * 6 }}{% raise %}',
    );
  });

  it('that raises, fails or is none is refused in one sentence that names the file', async () => {
    const render = async (template: string): Promise<string> => (await load(template)).render(messages);
    await refuses(
      render("{{ raise_exception('Roles must\nalternate.') }}"),
      /chat_template\.jinja: the chat template refuses these messages: Roles must alternate\.$/,
    );
    await refuses(
      render('{{ messages | nothing }}'),
      /chat_template\.jinja: the chat template refuses these messages: /,
    );
    await refuses(render('{% if %}'), /chat_template\.jinja: the chat template cannot be understood: /);
    await refuses(render('{{ messages'), /chat_template\.jinja: the chat template cannot be understood: /);
    await refuses(render('x'.repeat(300_000)), /longer than 262144 characters/);
    const folder = await mkdtemp(join(temporary, 'none-'));
    await refuses(loadChatTemplate(folder), /Cannot read .*tokenizer_config\.json/);
    await writeFile(join(folder, 'tokenizer_config.json'), '{"eos_token": "x"}');
    await refuses(
      loadChatTemplate(folder),
      /tokenizer_config\.json has no chat_template, and there is no chat_template\.jinja/,
    );
    await writeFile(join(folder, 'tokenizer_config.json'), '{"chat_template": 3}');
    await refuses(loadChatTemplate(folder), /tokenizer_config\.json is not a tokenizer configuration/);
  });
});

it('a tokenizer without a special token that its configuration names is refused by that token', async () => {
  const folder = await withTemplate('qwen', '');
  const path = join(folder, 'tokenizer_config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as object;
  for (const key of ['eos_token', 'bos_token']) {
    await writeFile(path, JSON.stringify({ ...config, [key]: '<|nowhere|>' }));
    await assert.rejects(
      loadTokenizer(folder),
      (error) =>
        error instanceof C3Error &&
        /tokenizer\.json lacks the special token <\|nowhere\|>, which tokenizer_config\.json names/.test(error.message),
    );
  }
});
