/**
 * Hostile chat templates and tokenizers: whatever they do, a cancel is answered, a limit of time and memory ends them,
 * and the engine continues as before.
 */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { readModelFacts } from '../../src/engine/models/modelFacts.ts';
import { testModel } from '../../src/engine/models/modelTest.ts';
import { withTexts } from '../../src/engine/models/texts.ts';
import { TEXT_PLACES } from '../../src/engine/places.ts';
import { loadChatTemplate, readRequiredTemplate, type ChatMessage } from '../../src/policy/chatTemplate.ts';
import { TextProcess } from '../../src/policy/textProcess.ts';
import type { TextLimits } from '../../src/policy/textRequests.ts';
import { loadTokenizer } from '../../src/policy/tokenizer.ts';
import { C3Error, CancelledError } from '../../src/shared/errors.ts';
import { FAMILIES, folderOf, readExpected } from '../unit/golden.ts';
import { seed, tally } from './harness.ts';

const texts = tally('model texts');

/** A cancel is answered within 200 ms on a quiet machine; tests share one. */
const CANCELLED_WITHIN = 1_000;
const LIMITS: TextLimits = { seconds: 1, megabytes: 128 };
const NEVER = new AbortController().signal;
const CHAT = [
  { role: 'system', content: 'Answer.' },
  { role: 'user', content: 'What is 12 + 7?' },
] as const;
/** What a hostile expression is matched against. */
const SUBJECT = `${'a'.repeat(60)}!`;

let temporary = '';

let copies = 0;
function copyOf(family: string): string {
  const folder = join(temporary, String(++copies));
  cpSync(folderOf(family), folder, { recursive: true });
  return folder;
}

function withTemplate(template: string): string {
  const folder = copyOf('qwen3');
  writeFileSync(join(folder, 'chat_template.jinja'), template);
  return folder;
}

function withTokenizer(change: (json: Record<string, unknown>) => void): string {
  const folder = copyOf('qwen3');
  const path = join(folder, 'tokenizer.json');
  const json = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  change(json);
  writeFileSync(path, JSON.stringify(json));
  return folder;
}

async function using<Result>(folder: string, work: (process: TextProcess) => Promise<Result>): Promise<Result> {
  const process = new TextProcess(TEXT_PLACES, folder, LIMITS);
  try {
    return await work(process);
  } finally {
    process.close();
  }
}

type Hostile = readonly [
  what: string,
  folder: () => string,
  ask: (process: TextProcess, signal: AbortSignal) => Promise<unknown>,
];

const render: Hostile[2] = async (process, signal) =>
  (await process.chat(await readRequiredTemplate(process.folder), signal))(CHAT);
const encode: Hostile[2] = async (process, signal) => (await process.tokenizer(signal)).encodeWhole(SUBJECT);
const repeated = (filter: string, times: number): string =>
  `{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(${times}) %}{% set ns.s = ${filter} %}{% endfor %}{{ ns.s }}`;
const split = (pattern: string): string =>
  withTokenizer((json) => {
    json['pre_tokenizer'] = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false };
  });

const ENDLESS: readonly Hostile[] = [
  [
    'loops in loops',
    () => withTemplate('{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}'),
    render,
  ],
  [
    'a list that doubles, as JSON',
    () =>
      withTemplate(
        '{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson }}',
      ),
    render,
  ],
  [
    'a macro that calls itself twice',
    () =>
      withTemplate('{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}'),
    render,
  ],
  ['a pre-tokenizer (a+)+$', () => split('(a+)+$'), encode],
  ['a pre-tokenizer (a|a)*$', () => split('(?:a|a)*$'), encode],
  [
    'a normalizer (a*)*b',
    () =>
      withTokenizer((json) => {
        json['normalizer'] = { type: 'Replace', pattern: { Regex: '(a*)*b' }, content: 'x' };
      }),
    encode,
  ],
];

const GREEDY: readonly Hostile[] = [
  ['range(1e8)|join', () => withTemplate('{{ range(100000000)|join }}'), render],
  ['range(3e8)', () => withTemplate('{{ range(300000000)|length }}'), render],
  [
    'a list that doubles',
    () =>
      withTemplate(
        '{% set ns = namespace(s=[1, 2]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}',
      ),
    render,
  ],
  ['a text that grows by replacing', () => withTemplate(repeated("ns.s|replace('a', 'aaaaaaaaaaaaaaaa')", 60)), render],
  ['a text that doubles', () => withTemplate(repeated('ns.s ~ ns.s', 26)), render],
  ['a text that doubles for ever', () => withTemplate(repeated('ns.s ~ ns.s', 60)), render],
  [
    'a normalizer that makes one letter many',
    () =>
      withTokenizer((json) => {
        json['normalizer'] = {
          type: 'Sequence',
          normalizers: Array.from({ length: 12 }, () => ({
            type: 'Replace',
            pattern: { String: 'a' },
            content: 'a'.repeat(20),
          })),
        };
      }),
    encode,
  ],
  [
    'a post-processor that repeats',
    () =>
      withTokenizer((json) => {
        json['post_processor'] = {
          type: 'TemplateProcessing',
          single: Array.from({ length: 400_000 }, () => ({ Sequence: { id: 'A', type_id: 0 } })),
          pair: [],
          special_tokens: {},
        };
      }),
    encode,
  ],
];

/** One line that names a file of the folder. */
function assertSentence(error: unknown, folder: string): void {
  assert.ok(error instanceof C3Error && error.kind === 'model', `no sentence: ${String(error)}`);
  assert.ok(
    error.message.includes(folder) && error.message.length < 2_000 && !/[\r\n]/u.test(error.message),
    error.message.slice(0, 300),
  );
}

/** How much is tried. */
export interface ModelTextsSizes {
  /** Of those that never end, and are cancelled. */
  readonly cancelled: number;
  /** Of those that never end, and are ended by their limits. */
  readonly endless: number;
  /** Of those that take memory. */
  readonly greedy: number;
  /** Templates that are drawn. */
  readonly templates: number;
  /** Tokenizers that are drawn. */
  readonly tokenizers: number;
}

/** Attacks with templates and tokenizers, as many as the sizes say. */
export function modelTextsAttacks(sizes: ModelTextsSizes): void {
  before(() => {
    temporary = mkdtempSync(join(tmpdir(), 'c3-attack-texts-'));
  });
  after(() => rmSync(temporary, { recursive: true, force: true }));

  describe('a hostile template or tokenizer', () => {
    for (const [what, folder, ask] of ENDLESS.slice(0, sizes.cancelled)) {
      it(`is ended by a cancel: ${what}`, async () => {
        await texts.attempt(what, () =>
          using(folder(), async (process) => {
            const controller = new AbortController();
            const asked = ask(process, controller.signal).then(
              () => null,
              (error: unknown) => error,
            );
            // It has begun, and this thread hears everything meanwhile.
            const began = performance.now();
            await Promise.race([asked, setTimeout(400)]);
            assert.ok(performance.now() - began < 400 + CANCELLED_WITHIN, 'this thread was blocked');
            controller.abort();
            const at = performance.now();
            assert.ok((await asked) instanceof CancelledError, 'it ended otherwise');
            const took = performance.now() - at;
            assert.ok(took < CANCELLED_WITHIN, `it took ${took.toFixed(0)} ms`);
            console.log(`cancelled after ${took.toFixed(0)} ms: ${what}`);
          }),
        );
      });
    }

    for (const [what, folder, ask] of [...ENDLESS.slice(0, sizes.endless), ...GREEDY.slice(0, sizes.greedy)]) {
      it(`is ended by its limits: ${what}`, async () => {
        await texts.attempt(what, async () => {
          const place = folder();
          await using(place, async (process) => {
            const began = performance.now();
            const ended = await ask(process, NEVER).then(
              () => null,
              (error: unknown) => ({ error }),
            );
            // Whatever it came to, the engine holds little of it.
            if (ended !== null) {
              assertSentence(ended.error, place);
            }
            assert.ok(performance.now() - began < 20_000, `it took ${performance.now() - began} ms`);
          });
        });
      });
    }

    it('ends nothing that others asked of the same folder', async () => {
      await texts.attempt('others', () =>
        using(
          withTemplate(
            "{% if 'loop' in messages[1].content %}{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}{% elif 'grow' in messages[1].content %}{{ range(100000000)|join }}{% endif %}{{ messages[1].content }}",
          ),
          async (process) => {
            const controller = new AbortController();
            const source = await readRequiredTemplate(process.folder);
            const [one, other] = [await process.chat(source, controller.signal), await process.chat(source, NEVER)];
            const say = (content: string): ChatMessage[] => [CHAT[0], { role: 'user', content }];
            const looping = one(say('loop')).then(
              () => null,
              (error: unknown) => error,
            );
            const good = ['1', '2', '3'].map((content) => other(say(content)));
            const growing = other(say('grow')).then(
              () => null,
              (error: unknown) => error,
            );
            const later = other(say('4'));
            controller.abort();
            assert.ok((await looping) instanceof CancelledError);
            assert.deepEqual(await Promise.all(good), ['1', '2', '3']);
            assertSentence(await growing, process.folder);
            assert.equal(await later, '4');
          },
        ),
      );
    });

    it('is refused by the facts of its folder, or by the self-test, which a cancel ends', async () => {
      const folder = withTemplate('{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}');
      await texts.attempt('self-test', async () => {
        let at = 0;
        const controller = new AbortController();
        const control = {
          signal: controller.signal,
          onProgress: ({ kind }: { kind: string }) => {
            if (kind === 'step') {
              setTimeout(300).then(() => {
                at ||= performance.now();
                controller.abort();
              }, assert.ifError);
            }
          },
        };
        await assert.rejects(testModel(folder, 'cpu', control), CancelledError);
        assert.ok(performance.now() - at < CANCELLED_WITHIN, `it took ${performance.now() - at} ms`);
      });
      await texts.attempt('facts', () =>
        withTexts(withTemplate(`{% if ${'('.repeat(50_000)}`), (process) =>
          assert.rejects(readModelFacts(process, NEVER), (error) => {
            assertSentence(error, process.folder);
            return true;
          }),
        ),
      );
    });
  });

  describe('any template', () => {
    const PARTS = [
      '{{',
      '}}',
      '{%',
      '%}',
      ' for ',
      ' in ',
      'range(',
      '99999999',
      ')',
      'if ',
      'endfor',
      'endif',
      'messages',
      '[0]',
      '.content',
      '|join',
      '|tojson',
      '|replace("", "aa")',
      '|indent(9999)',
      'set x = ',
      'x ~ x',
      'macro f() ',
      'endmacro',
      'f()',
      '~',
      '(',
      '[',
      '"',
      "'",
      '\\',
      '__proto__',
      'constructor',
      '.__class__',
      'namespace(',
      ' is ',
      'loop',
      '|upper',
      '*',
      '//',
      '\n',
      '{#',
      '#}',
      '\u0000',
      '😀',
    ];

    it('renders, or is refused in one sentence', async () => {
      const template = fc.array(fc.constantFrom(...PARTS), { maxLength: 30 }).map((parts) => parts.join(''));
      const process = new TextProcess(TEXT_PLACES, folderOf('qwen3'), { seconds: 3, megabytes: 512 });
      try {
        const property = fc.asyncProperty(template, (text) =>
          texts.attempt(JSON.stringify(text), async () => {
            const path = join(folderOf('qwen3'), 'chat_template.jinja');
            const ended = await process
              .chat({ path, text, variables: {} }, NEVER)
              .then((chat) => chat(CHAT))
              .then(
                () => null,
                (error: unknown) => ({ error }),
              );
            if (ended !== null) {
              assertSentence(ended.error, path);
            }
          }),
        );
        await fc.assert(property, { seed: seed(), numRuns: sizes.templates });
      } finally {
        process.close();
      }
    });
  });

  describe('any tokenizer.json', () => {
    it('loads and encodes, or is refused in one sentence', async () => {
      const value = fc.oneof(
        fc.json().map((text): unknown => JSON.parse(text)),
        fc.constantFrom<unknown>(
          null,
          [],
          {},
          -1,
          1e9,
          '',
          { type: 'ByteLevel' },
          { type: 'Split', pattern: { Regex: '(a+)+$' }, behavior: 'Removed', invert: true },
          { type: 'Sequence', normalizers: [], pretokenizers: [], decoders: [] },
          { type: 'BPE', vocab: {}, merges: [] },
          { type: 'BPE', vocab: { a: 1e9, b: -1 }, merges: ['a b', 'a', ''] },
          { type: 'Unigram', vocab: [['a', NaN]], unk_id: 5 },
          { type: 'WordPiece', vocab: { a: 0 } },
          [
            { id: 0, content: '<|im_end|>' },
            { id: 1e9, content: 'a' },
          ],
        ),
      );
      const keys = fc.constantFrom(
        'normalizer',
        'pre_tokenizer',
        'post_processor',
        'decoder',
        'model',
        'added_tokens',
        'truncation',
        '__proto__',
      );
      await fc.assert(
        fc.asyncProperty(fc.dictionary(keys, value, { minKeys: 1, maxKeys: 3 }), (changed) =>
          texts.attempt(JSON.stringify(changed), async () => {
            const folder = withTokenizer((json) => Object.assign(json, changed));
            await using(folder, async (process) => {
              const ended = await process
                .tokenizer(NEVER)
                .then(async (tokenizer) => tokenizer.decode(await tokenizer.encode(SUBJECT)))
                .then(
                  () => null,
                  (error: unknown) => ({ error }),
                );
              if (ended !== null) {
                assertSentence(ended.error, folder);
              }
            });
            rmSync(folder, { recursive: true });
          }),
        ),
        { seed: seed(), numRuns: sizes.tokenizers },
      );
    });
  });

  describe('the process for texts', () => {
    it('gives the same tokens and texts as this thread, bit for bit', async () => {
      for (const family of FAMILIES) {
        const folder = folderOf(family);
        const [local, chat, { prompts }] = [
          await loadTokenizer(folder),
          await loadChatTemplate(folder),
          await readExpected(family),
        ];
        await withTexts(folder, async (process) => {
          const tokenizer = await process.tokenizer(NEVER);
          const { endToken, otherEndTokens, controls, vocabularySize } = local;
          assert.deepEqual(
            [tokenizer.endToken, tokenizer.otherEndTokens, tokenizer.controls, tokenizer.vocabularySize],
            [endToken, otherEndTokens, controls, vocabularySize],
          );
          for (const { text, ids } of prompts) {
            const encoded = await tokenizer.encodeWhole(text);
            assert.deepEqual([...encoded], ids);
            assert.deepEqual(encoded, local.encodeWhole(text));
            assert.deepEqual(await tokenizer.encode(text), local.encode(text));
            assert.equal(await tokenizer.decode(encoded), local.decode(encoded));
            assert.equal(await tokenizer.decodeWhole(encoded), local.decodeWhole(encoded));
            assert.deepEqual(await tokenizer.pieces(encoded), local.pieces(encoded));
            assert.deepEqual(await tokenizer.spans(encoded, text), local.spans(encoded, text));
          }
          const render = await process.chat(await readRequiredTemplate(folder), NEVER);
          assert.equal(await render(CHAT), chat.render(CHAT));
          assert.equal(await render(CHAT, { generationPrompt: false }), chat.render(CHAT, { generationPrompt: false }));
        });
      }
    });
  });
}
