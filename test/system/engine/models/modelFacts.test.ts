/** What a folder's files say of a model, and the sentences for those that cannot be used: all from headers. */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { inspectModel } from '../../../../src/engine/models/modelFacts.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { c3, errorOf, parseLine } from '../../../unit/engine/workspace.ts';
import { FAMILIES, folderOf } from '../../../unit/golden.ts';

const WEIGHTS = 'model.safetensors';
const EMBEDDING = 'model.embed_tokens.weight';

let temporary = '';
before(() => {
  temporary = mkdtempSync(join(tmpdir(), 'c3-facts-'));
});
after(() => rmSync(temporary, { recursive: true, force: true }));

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** A copy of the Qwen2 checkpoint with its header changed; the data stays. */
function copyWith(
  name: string,
  change: (entries: Record<string, Entry>, data: Buffer) => void = () => undefined,
): string {
  const folder = join(temporary, name);
  cpSync(folderOf('qwen2'), folder, { recursive: true });
  const path = join(folder, WEIGHTS);
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  const entries = JSON.parse(bytes.toString('utf8', 8, 8 + length)) as Record<string, Entry>;
  const data = bytes.subarray(8 + length);
  change(entries, data);
  const header = Buffer.from(JSON.stringify(entries));
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(path, Buffer.concat([start, header, data]));
  return folder;
}

/** Cuts the weights into two files that share the data; each header names its own tensors. */
function sharded(name: string): string {
  const folder = copyWith(name);
  const bytes = readFileSync(join(folder, WEIGHTS));
  const length = Number(bytes.readBigUInt64LE(0));
  const entries = Object.entries(JSON.parse(bytes.toString('utf8', 8, 8 + length)) as Record<string, Entry>).filter(
    ([tensor]) => tensor !== '__metadata__',
  );
  const map: Record<string, string> = {};
  for (const part of [0, 1]) {
    const file = `model-0000${part + 1}-of-00002.safetensors`;
    const own = entries.filter((_, index) => index % 2 === part);
    for (const [tensor] of own) {
      map[tensor] = file;
    }
    const header = Buffer.from(JSON.stringify(Object.fromEntries(own)));
    const start = Buffer.alloc(8);
    start.writeBigUInt64LE(BigInt(header.length));
    writeFileSync(join(folder, file), Buffer.concat([start, header, bytes.subarray(8 + length)]));
  }
  rmSync(join(folder, WEIGHTS));
  writeFileSync(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }));
  return folder;
}

for (const family of FAMILIES) {
  it(`${family}: facts are those of config.json and of the file`, async () => {
    const folder = folderOf(family);
    const json = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as Record<string, unknown>;
    const bytes = readFileSync(join(folder, WEIGHTS));
    const header = JSON.parse(bytes.toString('utf8', 8, 8 + Number(bytes.readBigUInt64LE(0)))) as Record<string, Entry>;
    const stored = Object.entries(header).filter(
      ([name]) => name !== '__metadata__' && !(name === 'lm_head.weight' && json['tie_word_embeddings'] === true),
    );
    const facts = await inspectModel(folder);
    const parameters = stored.reduce(
      (total, [, { shape }]) => total + shape.reduce((product, dim) => product * dim, 1),
      0,
    );
    assert.deepEqual(
      { ...facts, endTokens: null },
      {
        folder,
        family: json['model_type'],
        parameters,
        precisions: [{ dtype: 'F32', parameters }],
        files: 1,
        bytes: statSync(join(folder, WEIGHTS)).size,
        layers: json['num_hidden_layers'],
        hiddenSize: json['hidden_size'],
        heads: json['num_attention_heads'],
        keyValueHeads: json['num_key_value_heads'],
        vocabularySize: json['vocab_size'],
        maxPositions: json['max_position_embeddings'],
        tiedEmbeddings: json['tie_word_embeddings'],
        ropeScaling: null,
        chatTemplate: 'chat_template.jinja',
        reasons: false,
        endTokens: null,
      },
    );
    assert.deepEqual(facts.endTokens, ['<|im_end|>']);
  });
}

describe('other folders', () => {
  it('precisions are counted by parameters, the most frequent first, and no weight is read', async () => {
    const folder = copyWith('precisions', (entries, data) => {
      // No number at all: loading would refuse it, looking at headers does not see it.
      data.fill(0xff);
      const norm = entries['model.norm.weight'];
      if (norm === undefined) {
        throw new Error('The checkpoint has a final norm.');
      }
      norm.dtype = 'BF16';
      norm.data_offsets[1] = norm.data_offsets[0] + 96;
    });
    const { precisions, parameters } = await inspectModel(folder);
    assert.deepEqual(precisions, [
      { dtype: 'F32', parameters: parameters - 48 },
      { dtype: 'BF16', parameters: 48 },
    ]);
  });

  it('several files are counted together', async () => {
    const folder = sharded('sharded');
    const { files, bytes, parameters } = await inspectModel(folder);
    const sizes = [1, 2].map((part) => statSync(join(folder, `model-0000${part}-of-00002.safetensors`)).size);
    assert.deepEqual(
      { files, bytes, parameters },
      {
        files: 2,
        bytes: (sizes[0] ?? 0) + (sizes[1] ?? 0),
        parameters: (await inspectModel(folderOf('qwen2'))).parameters,
      },
    );
  });

  it('a template in tokenizer_config.json that asks for thinking, and no template at all', async () => {
    const folder = copyWith('template');
    rmSync(join(folder, 'chat_template.jinja'));
    assert.equal((await inspectModel(folder)).chatTemplate, null);
    const path = join(folder, 'tokenizer_config.json');
    const config = JSON.parse(readFileSync(path, 'utf8')) as object;
    writeFileSync(
      path,
      JSON.stringify({
        ...config,
        chat_template: '{% if enable_thinking %}<think>{% endif %}{{ messages[0].content }}',
      }),
    );
    const { chatTemplate, reasons } = await inspectModel(folder);
    assert.deepEqual({ chatTemplate, reasons }, { chatTemplate: 'tokenizer_config.json', reasons: true });
  });
});

describe('a folder that could not be loaded is refused in one sentence naming file and tensor', () => {
  const cases: readonly (readonly [what: string, folder: () => string, file: string, tensor: string])[] = [
    [
      'a truncated file',
      () => {
        const folder = copyWith('truncated');
        truncateSync(join(folder, WEIGHTS), 200_000);
        return folder;
      },
      WEIGHTS,
      'model.',
    ],
    ['a wrong shape', () => copyWith('shape', (entries) => entries[EMBEDDING]?.shape.reverse()), WEIGHTS, EMBEDDING],
    [
      'a missing tensor',
      () => copyWith('missing', (entries) => Reflect.deleteProperty(entries, EMBEDDING)),
      WEIGHTS,
      EMBEDDING,
    ],
    [
      'a tensor too many',
      () =>
        copyWith('surplus', (entries) => {
          entries['model.extra'] = { dtype: 'F32', shape: [0], data_offsets: [0, 0] };
        }),
      WEIGHTS,
      'model.extra',
    ],
    [
      'a missing shard',
      () => {
        const folder = sharded('shard');
        rmSync(join(folder, 'model-00002-of-00002.safetensors'));
        return folder;
      },
      'model-00002-of-00002.safetensors',
      'model.',
    ],
    [
      'a wrong shape in the second shard',
      () => {
        const folder = sharded('second');
        const path = join(folder, 'model-00002-of-00002.safetensors');
        const bytes = readFileSync(path);
        const text = bytes.toString('latin1').replace('"shape":[48]', '"shape":[84]');
        writeFileSync(path, Buffer.from(text, 'latin1'));
        return folder;
      },
      'model-00002-of-00002.safetensors',
      'model.layers.',
    ],
    [
      'another architecture',
      () => {
        const folder = copyWith('architecture');
        const path = join(folder, 'config.json');
        writeFileSync(path, readFileSync(path, 'utf8').replace('"qwen2"', '"gemma3"'));
        return folder;
      },
      'config.json',
      'gemma3',
    ],
    [
      'a template that is none',
      () => {
        const folder = copyWith('broken');
        writeFileSync(join(folder, 'chat_template.jinja'), '{% if %}');
        return folder;
      },
      'chat_template.jinja',
      '',
    ],
  ];
  for (const [what, folder, file, tensor] of cases) {
    it(what, async () => {
      await assert.rejects(inspectModel(folder()), (error) => {
        assert.ok(error instanceof C3Error && error.kind === 'model', String(error));
        assert.ok(
          error.message.includes(file) && error.message.includes(tensor) && !error.message.includes('\n'),
          error.message,
        );
        return true;
      });
    });
  }
});

describe('c3 model', () => {
  it('prints facts and steps, as a table or as one document', async () => {
    const folder = folderOf('qwen3');
    const table = await c3(temporary, ['model', folder]);
    assert.match(table.stdout, /family\s+qwen3\n\s+parameters\s+129 thousand \(F32\)/);
    const document = parseLine((await c3(temporary, ['model', folder, '--test', '--json'])).stdout);
    assert.equal(document['family'], 'qwen3');
    assert.ok(Array.isArray(document['selfTest']) && document['selfTest'].length === 6);
  });

  it('a folder that cannot be used is the work that failed; no folder is wrong input', async () => {
    const broken = copyWith('cli');
    truncateSync(join(broken, WEIGHTS), 100_000);
    const failed = await c3(temporary, ['model', broken]);
    assert.equal(failed.code, 1);
    assert.match(errorOf(failed), /model\.safetensors: tensor model\.\S+ is truncated/);
    assert.equal((await c3(temporary, ['model'])).code, 2);
  });
});
