/**
 * Model folders that cannot be used, at both doors of the command line: one sentence naming file and tensor, and
 * nothing half-loaded or half-stored.
 */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { c3, contentsOf, errorOf, withStore } from '../../../../unit/engine/workspace.ts';
import { folderOf } from '../../../../unit/golden.ts';
import { jsonl, PAIR_TEXT, sums } from '../../../../unit/training/tinyTeam.ts';

const WEIGHTS = 'model.safetensors';
const NORM = 'model.norm.weight';
const LAST = 'model.layers.2.self_attn.v_proj.weight';
const CONFIG =
  'model: model\nprotocol: pair.json\ntask: {train_file: train.jsonl}\nsteps: 1\ninstances_per_step: 1\nfanout: [1, 2]\nsampling: {max_new_tokens: 2}\nevaluation: {instances: 0}\ndevice: {threads: 1}\n';
const LINE = '{"id": 1, "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]}\n';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-broken-'));
  writeFileSync(join(folder, 'pair.json'), PAIR_TEXT);
  writeFileSync(join(folder, 'chat.c3.yaml'), CONFIG);
  writeFileSync(join(folder, 'train.jsonl'), jsonl(sums(1)));
});
after(() => rmSync(folder, { recursive: true, force: true }));

interface Header {
  readonly entries: Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;
  readonly data: Buffer;
}

function readTensors(path: string): Header {
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  return {
    entries: JSON.parse(bytes.toString('utf8', 8, 8 + length)) as Header['entries'],
    data: bytes.subarray(8 + length),
  };
}

function writeTensors(path: string, { entries, data }: Header): void {
  const header = Buffer.from(JSON.stringify(entries));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(path, Buffer.concat([length, header, data]));
}

/** Changes the weights file of a folder. */
function withWeights(model: string, change: (weights: Header) => void): void {
  const path = join(model, WEIGHTS);
  const weights = readTensors(path);
  change(weights);
  writeTensors(path, weights);
}

/** Splits the weights into two files with an index; the first tensors go into the first. */
function shard(model: string): readonly string[] {
  const { entries, data } = readTensors(join(model, WEIGHTS));
  const tensors = Object.entries(entries)
    .filter(([name]) => name !== '__metadata__')
    .toSorted(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
  const half = Math.ceil(tensors.length / 2);
  const names = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  const places: Record<string, string> = {};
  for (const [index, members] of [tensors.slice(0, half), tensors.slice(half)].entries()) {
    const start = members[0]?.[1].data_offsets[0] ?? 0;
    const end = members.at(-1)?.[1].data_offsets[1] ?? 0;
    writeTensors(join(model, names[index] ?? ''), {
      entries: Object.fromEntries(
        members.map(([name, entry]) => [
          name,
          { ...entry, data_offsets: [entry.data_offsets[0] - start, entry.data_offsets[1] - start] },
        ]),
      ),
      data: data.subarray(start, end),
    });
    for (const [name] of members) {
      places[name] = names[index] ?? '';
    }
  }
  writeFileSync(join(model, 'model.safetensors.index.json'), JSON.stringify({ metadata: {}, weight_map: places }));
  rmSync(join(model, WEIGHTS));
  return names;
}

function change(path: string, edit: (json: Record<string, unknown>) => void): void {
  const json = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  edit(json);
  writeFileSync(path, JSON.stringify(json));
}

interface Breakage {
  readonly name: string;
  readonly says: RegExp;
  readonly breaking: (model: string) => void;
}

const BREAKAGES: readonly Breakage[] = [
  {
    name: 'weights are truncated',
    says: /model\.safetensors: tensor model\.\S+ is truncated; copy the weights again/,
    breaking: (model) => truncateSync(join(model, WEIGHTS), 100_000),
  },
  {
    name: 'the header of the weights is corrupt',
    says: /model\.safetensors: [^\n]*header/,
    breaking: (model) => {
      const bytes = readFileSync(join(model, WEIGHTS));
      bytes.fill('}', 8, 20);
      writeFileSync(join(model, WEIGHTS), bytes);
    },
  },
  {
    name: 'the header gives a tensor too few bytes',
    says: new RegExp(
      `model\\.safetensors: tensor ${NORM.replaceAll('.', '\\.')} has 188 bytes where its shape needs 192`,
    ),
    breaking: (model) => {
      withWeights(model, ({ entries }) => {
        const norm = entries[NORM] ?? assert.fail();
        norm.data_offsets = [norm.data_offsets[0] + 4, norm.data_offsets[1]];
      });
    },
  },
  {
    name: 'a weight is no number',
    says: new RegExp(
      `model\\.safetensors: tensor ${NORM.replaceAll('.', '\\.')} holds a value that is not a finite number`,
    ),
    breaking: (model) => {
      withWeights(model, ({ entries, data }) => data.writeFloatLE(NaN, entries[NORM]?.data_offsets[0] ?? 0));
    },
  },
  {
    name: 'a tensor has the wrong shape',
    says: new RegExp(
      `model\\.safetensors: tensor ${LAST.replaceAll('.', '\\.')} has shape \\[48, 32\\] where config\\.json needs \\[32, 48\\]`,
    ),
    breaking: (model) => {
      withWeights(model, ({ entries }) => (entries[LAST] ?? assert.fail()).shape.reverse());
    },
  },
  {
    name: 'a tensor is missing',
    says: new RegExp(`model\\.safetensors: tensor ${NORM.replaceAll('.', '\\.')} is missing`),
    breaking: (model) => {
      withWeights(model, ({ entries }) => {
        entries['model.extra.weight'] = entries[NORM] ?? assert.fail();
        Reflect.deleteProperty(entries, NORM);
      });
    },
  },
  {
    name: 'a shard is missing',
    says: /model-00002-of-00002\.safetensors is missing, where model\.safetensors\.index\.json places tensor model\.\S+; copy the weights again/,
    breaking: (model) => rmSync(join(model, shard(model)[1] ?? '')),
  },
  {
    name: 'a shard is truncated',
    says: /model-00002-of-00002\.safetensors: tensor \S+ is truncated/,
    breaking: (model) => truncateSync(join(model, shard(model)[1] ?? ''), 60_000),
  },
  {
    name: 'the architecture is unknown',
    says: /config\.json: model_type: \S*mamba\S* is not supported; choose a model of llama, qwen2, qwen3/,
    breaking: (model) => {
      change(join(model, 'config.json'), (json) => {
        json['model_type'] = 'mamba';
      });
    },
  },
  {
    name: 'the tokenizer lacks a special token',
    says: /tokenizer\.json lacks the special token <\|eot_id\|>, which tokenizer_config\.json names/,
    breaking: (model) => {
      change(join(model, 'tokenizer_config.json'), (json) => {
        json['eos_token'] = '<|eot_id|>';
      });
    },
  },
  {
    name: 'the template raises',
    says: /chat_template\.jinja: the chat template refuses these messages: Not today[.;]/,
    breaking: (model) => writeFileSync(join(model, 'chat_template.jinja'), "{{ raise_exception('Not today') }}"),
  },
  {
    name: 'the template is none',
    says: /chat_template\.jinja: the chat template cannot be understood: /,
    breaking: (model) => writeFileSync(join(model, 'chat_template.jinja'), '{% for m in %}'),
  },
];

const generate = (): ReturnType<typeof c3> =>
  c3(folder, ['generate', '--model', 'model', '--greedy', '--max-new', '2'], { stdin: LINE });
const run = (): ReturnType<typeof c3> => c3(folder, ['run', 'chat.c3.yaml', '--json']);

describe('a model folder is refused by c3 generate and c3 run', () => {
  for (const { name, says, breaking } of BREAKAGES) {
    it(`where ${name}`, async () => {
      const model = join(folder, 'model');
      cpSync(folderOf('qwen3'), model, { recursive: true });
      try {
        breaking(model);
        const before = contentsOf(folder);
        for (const door of [generate, run]) {
          const result = await door();
          assert.deepEqual([result.code, result.stdout], [1, ''], result.stderr);
          assert.match(errorOf(result), says);
          assert.deepEqual(contentsOf(folder), before);
        }
      } finally {
        rmSync(model, { recursive: true, force: true });
      }
    });
  }

  it('and a whole or a sharded one is not', async () => {
    const model = join(folder, 'model');
    cpSync(folderOf('qwen3'), model, { recursive: true });
    const said: string[] = [];
    for (const prepare of [() => undefined, () => shard(model)]) {
      prepare();
      const answer = await generate();
      assert.deepEqual([answer.code, answer.stderr], [0, '']);
      said.push(answer.stdout);
      const { code, stderr } = await run();
      assert.equal(code, 0, stderr);
    }
    assert.equal(said[0], said[1]);
    // With a store there it stays as it was.
    const before = contentsOf(join(folder, '.c3'));
    truncateSync(join(model, 'model-00001-of-00002.safetensors'), 60_000);
    const refused = await run();
    assert.equal(refused.code, 1);
    assert.match(errorOf(refused), /model-00001-of-00002\.safetensors: tensor \S+ is truncated/);
    assert.deepEqual(contentsOf(join(folder, '.c3')), before);
    const snapshots = withStore(folder, (store) =>
      store.runs(0, 10).map(({ id }) => store.snapshotsOfRun(id).map((snapshot) => snapshot.id)),
    );
    assert.equal(snapshots.length, 2);
    assert.deepEqual(snapshots[0], snapshots[1]);
    rmSync(join(folder, '.c3'), { recursive: true });
  });
});
