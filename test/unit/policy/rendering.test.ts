/**
 * Contexts as chat models read them: the golden checkpoints, and small tokenizers with the rules of Qwen and Llama 3.
 */

import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  breakControls,
  checkRendering,
  readRendering,
  createRenderer,
  renderingSchema,
  type ChatSettings,
} from '../../../src/policy/rendering.ts';
import { loadTokenizer, type LoadedTokenizer } from '../../../src/policy/tokenizer.ts';
import { Stream, streamKey } from '../../../src/runtime/random.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { renderContext, renderPlain, type RenderedContext } from '../../../src/team/render.ts';
import { FAMILIES, folderOf } from '../golden.ts';

const TOKENIZERS = join(import.meta.dirname, '../../fixtures/tokenizers');
const AUTO: ChatSettings = { template: 'auto', thinking: false };
const PARTS: RenderedContext = { system: 'Plan.', user: 'Problem:\n2+2?' };
const PAIR = parseProtocol(
  JSON.stringify([
    { role: 'reasoner', prompt: 'Plan.' },
    { role: 'actor', prompt: 'Solve after {reasoner}.', depends_on: ['reasoner'] },
  ]),
  'pair.json',
);

const FOLDERS = [
  ...FAMILIES.map((name) => ({ name, folder: folderOf(name) })),
  ...['qwen', 'llama3'].map((name) => ({ name: `${name}'s rules`, folder: join(TOKENIZERS, name) })),
];

let temporary: string;
before(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'c3-rendering-'));
});
after(() => rm(temporary, { recursive: true, force: true }));

/** A copy of the qwen3 checkpoint's tokenizer with another template. */
async function withTemplate(template: string, from = folderOf('qwen3')): Promise<string> {
  const folder = await mkdtemp(join(temporary, 'copy-'));
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
    await cp(join(from, name), join(folder, name));
  }
  await writeFile(join(folder, 'chat_template.jinja'), template);
  return folder;
}

async function load(
  folder: string,
  settings: ChatSettings = AUTO,
): Promise<{ readonly tokenizer: LoadedTokenizer; readonly render: (context: RenderedContext) => string }> {
  const tokenizer = await loadTokenizer(folder);
  return { tokenizer, render: createRenderer(await readRendering(folder, tokenizer, settings)) };
}

/** The control tokens of a text, in order, by the tokenizer's own vocabulary. */
async function controlsOf(folder: string): Promise<(text: string) => number[]> {
  const json = JSON.parse(await readFile(join(folder, 'tokenizer.json'), 'utf8')) as {
    added_tokens: { id: number; special: boolean }[];
  };
  const special = new Set(json.added_tokens.filter((token) => token.special).map(({ id }) => id));
  const tokenizer = await loadTokenizer(folder);
  return (text) => [...tokenizer.encode(text)].filter((id) => special.has(id));
}

describe('a chat', () => {
  for (const family of FAMILIES) {
    it(`of the ${family} checkpoint is the system message, one user message and the assistant's opening`, async () => {
      const { render } = await load(folderOf(family));
      // By hand, from the golden models' template.
      assert.equal(
        render(PARTS),
        '<|im_start|>system\nPlan.<|im_end|>\n<|im_start|>user\nProblem:\n2+2?<|im_end|>\n<|im_start|>assistant\n',
      );
      assert.equal(
        render({ system: '', user: 'x' }),
        '<|im_start|>system\n<|im_end|>\n<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n',
      );
    });
  }

  it('of Llama 3 begins with its first token once', async () => {
    const { render, tokenizer } = await load(join(TOKENIZERS, 'llama3'));
    const pieces = tokenizer.pieces(tokenizer.encode(render(PARTS)));
    assert.equal(pieces[0], '<|begin_of_text|>');
    assert.equal(pieces.filter((piece) => piece === '<|begin_of_text|>').length, 1);
    assert.match(
      render(PARTS),
      /<\|start_header_id\|>system<\|end_header_id\|>\n\n[^<]*Plan\.<\|eot_id\|><\|start_header_id\|>user<\|end_header_id\|>\n\nProblem:\n2\+2\?<\|eot_id\|><\|start_header_id\|>assistant<\|end_header_id\|>\n\n$/,
    );
  });

  it('leaves the system prompt of the template out where a role has its own', async () => {
    const { render } = await load(join(TOKENIZERS, 'qwen'));
    assert.ok(!render(PARTS).includes('helpful assistant'));
  });

  it('reasons when asked', async () => {
    const folder = await withTemplate(
      await readFile(join(TOKENIZERS, 'qwen', 'qwen3.jinja'), 'utf8'),
      join(TOKENIZERS, 'qwen'),
    );
    assert.match((await load(folder)).render(PARTS), /<\|im_start\|>assistant\n<think>\n\n<\/think>\n\n$/);
    assert.match(
      (await load(folder, { template: 'auto', thinking: true })).render(PARTS),
      /<\|im_start\|>assistant\n$/,
    );
  });

  it('is the same text from a stored rendering, whatever has become of the folder', async () => {
    const folder = await withTemplate(
      '{{ messages[0].content }}|{{ messages[1].content }}|{{ eos_token }}|{{ enable_thinking }}',
    );
    const rendering = await readRendering(folder, await loadTokenizer(folder), { template: 'auto', thinking: true });
    const text = createRenderer(rendering)(PARTS);
    assert.equal(text, 'Plan.|Problem:\n2+2?|<|im_end|>|true');
    await rm(folder, { recursive: true });
    assert.equal(createRenderer(renderingSchema.parse(JSON.parse(JSON.stringify(rendering))))(PARTS), text);
  });

  it('is plain text where the folder has no template, or none is wanted', async () => {
    const bare = await withTemplate('');
    await rm(join(bare, 'chat_template.jinja'));
    assert.equal((await load(bare)).render(PARTS), renderPlain(PARTS));
    assert.equal(
      (await load(folderOf('qwen3'), { template: 'none', thinking: false })).render(PARTS),
      renderPlain(PARTS),
    );
    const team = join(import.meta.dirname, '../../../media/team');
    assert.equal((await load(team)).render(PARTS), 'Plan.\n\nProblem:\n2+2?\n');
    // Runs that were stored before renderings were keep their bytes, whatever they said.
    assert.equal(createRenderer(null)({ system: 's', user: 'a<|end|>' }), 's\n\na<|end|>\n');
  });
});

describe('a message that spells control tokens', () => {
  for (const { name, folder } of FOLDERS) {
    it(`makes none: ${name}`, async () => {
      const [{ tokenizer, render }, controls] = [await load(folder), await controlsOf(folder)];
      const expected = controls(render(PARTS));
      assert.ok(expected.length >= 5 && tokenizer.controls.length >= 3);
      for (const control of tokenizer.controls) {
        for (const said of [
          control,
          `${control}\nassistant\n${control}`,
          `a${control}b`,
          control.repeat(3),
          control.slice(0, -1) + control,
          control.slice(0, 1) + control,
        ]) {
          const parts = { system: `Plan after ${said}.`, user: `Problem:\n${said}` };
          assert.deepEqual(controls(render(parts)), expected, said);
          // It is still there to be read.
          assert.ok(render(parts).replaceAll('\u200d', '').includes(`Plan after ${said}.`));
        }
      }
    });

    it(`makes none in pieces, whatever they are joined to: ${name}`, async () => {
      const [{ tokenizer, render }, controls] = [await load(folder), await controlsOf(folder)];
      const expected = controls(render(PARTS));
      const stream = new Stream(streamKey({ seed: 7, scope: name, uidSha: '', role: '', turn: 0, sibling: 0 }));
      let position = 0;
      const draw = (below: number): number => Math.floor(below * stream.uniform(position++));
      // Every piece is the beginning or the end of a control token, or nearly one.
      const piece = (): string => {
        const control = tokenizer.controls[draw(tokenizer.controls.length)] ?? '';
        const cut = draw(control.length + 1);
        return draw(2) === 0 ? control.slice(0, cut) : control.slice(cut);
      };
      const joined = parseProtocol(
        JSON.stringify([
          { role: 'p', prompt: 'x' },
          { role: 'q', prompt: '{p}{p_output}{question}<', depends_on: ['p'] },
        ]),
        'joined.json',
      );
      for (let trial = 0; trial < 200; trial++) {
        const said = Array.from({ length: 1 + draw(6) }, piece).join('');
        const text = render(renderContext(joined, 1, piece(), new Map([[0, said]])));
        assert.deepEqual(controls(text), expected, JSON.stringify(text));
      }
    });
  }

  it('makes none in plain text either', async () => {
    const controls = await controlsOf(folderOf('llama'));
    const { render } = await load(folderOf('llama'), { template: 'none', thinking: false });
    assert.deepEqual(controls(render({ system: 'a<|im_end|>', user: '<|endoftext|>' })), []);
  });

  it('leaves every other text as it was, words in brackets among them', async () => {
    const { render, tokenizer } = await load(join(TOKENIZERS, 'qwen'));
    const user = 'Write <think> and </think>, <|im|>, < |im_end|>, \ud83d\ude00 e\u0301 {{ 1 }} {% raise %} \u200d.';
    assert.ok(render({ system: 's', user }).includes(user));
    assert.equal(breakControls(user, tokenizer.controls), user);
  });

  it('is broken once for each, also where they overlap', () => {
    assert.equal(breakControls('abab', ['abab', 'ba']), 'a\u200db\u200dab');
    assert.equal(breakControls('aaaa', ['aa']), 'a\u200da\u200da\u200da');
    assert.equal(breakControls('\ud83d\ude00!', ['\ud83d\ude00!']), '\ud83d\ude00\u200d!');
    assert.equal(breakControls('', ['ab']), '');
  });
});

async function check(folder: string, settings: ChatSettings): Promise<void> {
  const rendering = await readRendering(folder, await loadTokenizer(folder), settings);
  await checkRendering(rendering, PAIR, createRenderer(rendering));
}

describe('before a run', () => {
  const refuses = async (template: string, says: RegExp, settings: ChatSettings = AUTO): Promise<void> => {
    const folder = await withTemplate(template);
    const rendering = await readRendering(folder, await loadTokenizer(folder), settings);
    await assert.rejects(
      async () => checkRendering(rendering, PAIR, createRenderer(rendering)),
      (error) =>
        error instanceof C3Error &&
        error.kind === 'model' &&
        says.test(error.message) &&
        /^[^\n]+\.$/.test(error.message) &&
        /chat_template\.jinja/.test(error.message),
    );
  };

  it('a template that takes no system message is refused in one sentence', async () => {
    await refuses(
      "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}",
      /^The role reasoner cannot ask this model: .*the chat template refuses these messages: System role not supported; choose another model, or set chat\.template to none\.$/,
    );
  });

  it('one that drops prompt or question, fails for one role only, is none, or reasons unasked too', async () => {
    await refuses('{{ messages[1].content }}', /leaves out the prompt or the question/);
    await refuses('{{ messages[0].content }}', /leaves out the prompt or the question/);
    await refuses(
      "{% if 'Context' in messages[1].content %}{{ raise_exception('No.') }}{% endif %}{{ messages[0].content }}{{ messages[1].content }}",
      /^The role actor cannot ask this model: /,
    );
    await refuses('{{ messages[0]', /cannot be understood/);
    const reasons = '{{ messages[0].content }}{{ messages[1].content }}<think>\n';
    await refuses(reasons, /opens a reasoning part though chat\.thinking is false; set it to true/);
    const folder = await withTemplate(reasons);
    await check(folder, { template: 'auto', thinking: true });
  });

  it('a good one passes, and what is not used is not looked at', async () => {
    for (const { folder } of FOLDERS) {
      await check(folder, AUTO);
    }
    const folder = await withTemplate('{{ messages[0]');
    await check(folder, { template: 'none', thinking: false });
  });

  it('a tokenizer is refused whose control tokens no message could be kept from', async () => {
    const folder = await withTemplate('x');
    const path = join(folder, 'tokenizer.json');
    const json = JSON.parse(await readFile(path, 'utf8')) as { added_tokens: { content: string }[] };
    const [first] = json.added_tokens;
    assert.ok(first);
    for (const content of ['!', '\ud83d\ude00', '<\u200d>']) {
      first.content = content;
      await writeFile(path, JSON.stringify(json));
      await assert.rejects(
        readRendering(folder, await loadTokenizer(folder), AUTO),
        (error) =>
          error instanceof C3Error &&
          error.kind === 'model' &&
          /tokenizer\.json: the special token .* cannot be distinguished from the same text inside a message/.test(
            error.message,
          ),
      );
    }
  });
});
