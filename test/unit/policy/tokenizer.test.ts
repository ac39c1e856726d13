import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import {
  loadTokenizer,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  type LoadedTokenizer,
} from '../../../src/policy/tokenizer.ts';
import { END_OF_MESSAGE, trainBpe } from '../../../src/policy/trainBpe.ts';
import { Stream, streamKey } from '../../../src/runtime/random.ts';
import { C3Error } from '../../../src/shared/errors.ts';

const TEXTS = ['Tom has 12 apples and 7 pears.', 'Tom gives 5 apples to Ann, so Tom has 7 apples.', '12-5=7#7'];
const SIZE = 280;

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-tokenizer-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** A folder with the two files, each an object or a text. */
async function written(name: string, tokenizer: object | string, config: object | string): Promise<string> {
  const place = join(folder, name);
  await mkdir(place);
  const text = (content: object | string): string => (typeof content === 'string' ? content : JSON.stringify(content));
  await writeFile(join(place, TOKENIZER_FILE), text(tokenizer));
  await writeFile(join(place, TOKENIZER_CONFIG_FILE), text(config));
  return place;
}

describe('a trained tokenizer', () => {
  let tokenizer: LoadedTokenizer;
  before(async () => {
    const { tokenizer: json, config } = trainBpe([...TEXTS, ...TEXTS], SIZE);
    tokenizer = await loadTokenizer(await written('trained', json, config));
  });
  const encoded = (text: string): string[] => tokenizer.pieces(tokenizer.encode(text));

  it('knows its size and its end token', () => {
    assert.deepEqual([tokenizer.vocabularySize, tokenizer.endToken], [SIZE, 0]);
    assert.deepEqual(tokenizer.pieces(Int32Array.of(0)), [END_OF_MESSAGE]);
  });

  it('gives every text back', () => {
    const stream = new Stream(streamKey({ seed: 1, scope: 'texts', uidSha: '', role: '', turn: 0, sibling: 0 }));
    // Code points of every length in UTF-8, white space and controls among them; no lone surrogates, which no UTF-8
    // has.
    const ranges = [
      [0, 0x7f],
      [0x80, 0x7ff],
      [0x800, 0xd7ff],
      [0xe000, 0xffff],
      [0x10000, 0x10ffff],
      [0x20, 0x7e],
      [0x09, 0x0d],
    ] as const;
    let position = 0;
    const draw = (low: number, high: number): number => low + Math.floor((high - low + 1) * stream.uniform(position++));
    const random = Array.from({ length: 300 }, () =>
      Array.from({ length: draw(0, 12) }, () => {
        const [low, high] = ranges[draw(0, ranges.length - 1)] ?? [0, 0];
        return String.fromCodePoint(draw(low, high));
      }).join(''),
    );
    for (const text of [
      ...TEXTS,
      '',
      ' ',
      '  a  12  ',
      '\r\n\t\0',
      '你好，世界 😀 café',
      'e\u0301',
      '\ufeffx',
      'Ġ Ċ Ã',
      'x'.repeat(3000),
      ...random,
    ]) {
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text, JSON.stringify(text));
    }
  });

  it('adds no special tokens and applies the merges in order', () => {
    assert.deepEqual(encoded('Tom has 12 apples'), ['Tom', ' has ', '1', '2', ' apples']);
    assert.deepEqual(tokenizer.encode('').length, 0);
  });

  it('keeps digits alone', () => {
    assert.deepEqual(encoded('2024+7'), ['2', '0', '2', '4', '+', '7']);
    // Other scripts' digits too, as bytes.
    assert.ok(encoded('٣٤').every((piece) => piece !== '٣٤'));
  });

  it('leaves the end token out of the text', () => {
    const ids = Int32Array.from([...tokenizer.encode('Tom'), tokenizer.endToken]);
    assert.equal(tokenizer.decode(ids), 'Tom');
    assert.equal(tokenizer.decode(Int32Array.of(tokenizer.endToken)), '');
    assert.equal(tokenizer.decode(new Int32Array()), '');
  });

  it('shows bytes that are no text as a replacement, and never throws', () => {
    const every = Int32Array.from({ length: SIZE }, (_, id) => SIZE - 1 - id);
    assert.equal(tokenizer.pieces(every).length, SIZE);
    assert.ok(tokenizer.decode(every).includes('\ufffd'));
  });
});

describe('a tokenizer of Hugging Face', () => {
  const schema = z.object({
    prompts: z.array(z.object({ text: z.string(), ids: z.array(z.int()), decoded: z.string() })),
    chat: z.array(z.object({ text: z.string(), ids: z.array(z.int()) })),
  });
  it('gives the ids and texts that Transformers gives', async () => {
    const place = join(import.meta.dirname, '../../fixtures/golden/llama');
    const { prompts, chat } = schema.parse(JSON.parse(await readFile(join(place, 'expected.json'), 'utf8')));
    const tokenizer = await loadTokenizer(place);
    assert.deepEqual([prompts.length, chat.length, tokenizer.endToken], [6, 2, 2]);
    for (const { text, ids } of [...prompts, ...chat]) {
      assert.deepEqual([...tokenizer.encode(text)], ids, JSON.stringify(text));
    }
    const plain = prompts.filter(({ text }) => !text.includes('<|'));
    for (const { ids, decoded } of plain) {
      assert.equal(tokenizer.decode(Int32Array.from(ids)), decoded);
    }
  });
});

describe('a folder without a usable tokenizer', () => {
  const { tokenizer, config } = trainBpe(TEXTS, SIZE);
  const refuses = async (place: string, pattern: RegExp): Promise<void> =>
    assert.rejects(
      loadTokenizer(place),
      (error) =>
        error instanceof C3Error &&
        error.kind === 'model' &&
        pattern.test(error.message) &&
        error.message.includes(place),
    );

  it('is refused by file and reason', async () => {
    await refuses(join(folder, 'nowhere'), /Cannot read .*tokenizer\.json: .*choose a folder/);
    await refuses(await written('no json', '{"model":', config), /Cannot read .*tokenizer\.json/);
    await refuses(await written('a number', '7', config), /tokenizer\.json is not a JSON object/);
    await refuses(await written('a list', '[]', config), /tokenizer\.json is not a tokenizer that can be read/);
    await refuses(await written('nothing', 'null', config), /tokenizer\.json is not a JSON object/);
    await refuses(await written('empty', '{}', config), /tokenizer\.json is not a tokenizer that can be read/);
    await refuses(
      await written('unknown model', { ...tokenizer, model: { type: 'Unheard' } }, config),
      /tokenizer\.json is not a tokenizer that can be read/,
    );
    await refuses(await written('no end', tokenizer, {}), /tokenizer_config\.json names no eos_token/);
    await refuses(
      await written('another end', tokenizer, { ...config, eos_token: '</s>' }),
      /tokenizer\.json lacks the special token <\/s>/,
    );
  });

  it('is refused for a control token of more than 1,024 characters, not for one of 1,024', async () => {
    const holding = (length: number): object => {
      const { added_tokens: added } = z.looseObject({ added_tokens: z.array(z.looseObject({})) }).parse(tokenizer);
      return { ...tokenizer, added_tokens: [...added, { ...added[0], id: SIZE, content: 'x'.repeat(length) }] };
    };
    const { controls } = await loadTokenizer(await written('long', holding(1024), config));
    assert.deepEqual(
      controls.map(({ length }) => length),
      [END_OF_MESSAGE.length, 1024],
    );
    await refuses(await written('too long', holding(1025), config), /control token of more than 1024 characters/);
  });
});
