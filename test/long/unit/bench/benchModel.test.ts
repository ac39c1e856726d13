/**
 * `c3 bench model` on a tiny shape: real files, real shards, every figure; refusals before anything is written, and
 * nothing left behind.
 */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ModelBenchOptions } from '../../../../src/bench/report.ts';
import {
  benchModelWithin,
  countWeightBytes,
  type ModelBenchLimits,
  checkRoom,
  readShape,
} from '../../../../src/bench/speed/model.ts';
import { runSuite } from '../../../../src/bench/suites.ts';
import { parameterCount } from '../../../../src/runtime/model/model.ts';
import { C3Error, CancelledError, type ErrorKind } from '../../../../src/shared/errors.ts';
import { leftBehind } from '../../../support/leftBehind.ts';
import { makeSignalAbortedWhen } from '../../../support/signals.ts';
import { c3 } from '../../../unit/engine/workspace.ts';

/** A published layout, only smaller: grouped heads, biases, tied embeddings. */
const CONFIG = {
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  hidden_act: 'silu',
  vocab_size: 260,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  max_position_embeddings: 128,
  tie_word_embeddings: true,
};
/**
 * Weights of its matrices: embeddings (the tied head), then query, key, value, output and the gated unit of each layer.
 */
const MATRICES = 260 * 16 + 2 * (16 * 16 + 2 * 8 * 16 + 16 * 16 + 3 * 24 * 16);
/** And norms and biases. */
const PARAMETERS = MATRICES + 2 * (2 * 16 + 16 + 8 + 8) + 16;
const SHARD = 3000;
const AMPLE: ModelBenchLimits = { room: { memory: 1e12, disk: 1e12 }, shardBytes: SHARD };

/** A temporary folder of this file's own: others measure at the same time. */
const temporary = mkdtempSync(join(tmpdir(), 'c3-own-'));
for (const name of ['TMPDIR', 'TMP', 'TEMP']) {
  process.env[name] = temporary;
}
const config = join(temporary, 'config.json');
before(() => writeFileSync(config, JSON.stringify(CONFIG)));
after(() => rmSync(temporary, { recursive: true, force: true }));

const options = (changes: Partial<ModelBenchOptions> = {}): ModelBenchOptions => ({
  quick: true,
  config,
  folder: temporary,
  signal: new AbortController().signal,
  note: () => undefined,
  ...changes,
});
/** Names and sizes of the files that a measurement has at the moment, or left. */
const files = (): (readonly [string, number])[] =>
  folders().flatMap((name) =>
    readdirSync(join(temporary, name)).map((file) => [file, statSync(join(temporary, name, file)).size] as const),
  );
const folders = (): string[] => leftBehind(temporary).filter((name) => name.includes('bench-'));
const refused = (work: Promise<unknown>, kind: ErrorKind, says: RegExp): Promise<void> =>
  assert.rejects(
    work,
    (error) =>
      error instanceof C3Error && error.kind === kind && says.test(error.message) && !error.message.includes('\n'),
  );

describe('the suite model', () => {
  it('writes shards, loads them, and measures loading, prefill, decoding and memory', async () => {
    const seen: (readonly [string, number])[][] = [];
    const notes: string[] = [];
    const report = await benchModelWithin(
      options({
        note: (line) => {
          notes.push(line);
          seen.push(files());
        },
      }),
      AMPLE,
    );
    const names = (seen[0] ?? []).map(([name]) => name);
    const shards = names.filter((name) => /^model-0000\d-of-0000\d\.safetensors$/.test(name));
    assert.ok(
      shards.length > 3 &&
        names.includes('config.json') &&
        names.includes('model.safetensors.index.json') &&
        names.length === shards.length + 2,
      names.join(),
    );
    // The files are gone as soon as the model is loaded.
    assert.deepEqual([seen.at(-1), folders()], [[], []]);
    assert.equal(notes[1], `${PARAMETERS} parameters loaded`);
    assert.deepEqual([report.suite, report.peer], ['model', undefined]);
    assert.match(report.hardware, /cpu provider, 2 threads, random weights shaped as .*config\.json$/);
    assert.deepEqual(
      report.figures.map(({ name, unit }) => `${name}: ${unit}`),
      [
        'loading, weights named by their hash: s',
        'loading, bytes of the files (ceiling: reading them alone): GB/s',
        'graphs compiled: s',
        'memory bandwidth, weights read by one-row products: GB/s',
        ...[1, 8, 32].flatMap((batch) => [
          `batch ${batch}, prefill (ceiling: bare products): tokens/s`,
          `batch ${batch}, decoding (ceiling: memory bandwidth): tokens/s`,
          `batch ${batch}, bare products of decoding (ceiling: memory bandwidth): tokens/s`,
        ]),
        'largest resident set (ceiling: the weights alone): MB',
      ],
    );
    for (const { name, value, ceiling, ratio, unit, peer } of report.figures) {
      assert.equal(peer, null);
      if (value === null) {
        // A difference of two times, which a busy machine may turn around.
        assert.ok(name.includes(', decoding (') && ratio === null, name);
        continue;
      }
      assert.ok(value > 0, name);
      // Of seconds and of memory, less is better.
      if (ceiling !== null) {
        assert.ok(
          ratio !== null &&
            Math.abs(ratio / (unit === 's' || unit === 'MB' ? ceiling / value : value / ceiling) - 1) < 1e-3,
          name,
        );
      }
    }
    const memory = report.figures.at(-1);
    assert.ok(Math.abs((memory?.ceiling ?? 0) / ((4 * PARAMETERS) / 1e6) - 1) < 1e-3 && (memory?.value ?? 0) > 20);
    // What memory gives is read by every batch at the same rate: the weights, and for each row 72 slots of 2 layers x
    // keys and values x 2 heads of width 4.
    const [one, eight] = [1, 8].map(
      (batch) => report.figures.find(({ name }) => name.startsWith(`batch ${batch}, decoding`))?.ceiling ?? NaN,
    );
    const bytes = (batch: number): number => 4 * MATRICES + batch * 72 * 2 * 2 * 2 * 4 * 4;
    assert.ok(Math.abs((eight ?? NaN) / (one ?? NaN) / ((8 * bytes(1)) / bytes(8)) - 1) < 1e-3);
  });

  it('leaves nothing behind when it is cancelled, or fails, at any point', async () => {
    for (let stop = 0; stop < 60; stop++) {
      let asked = 0;
      await assert.rejects(
        benchModelWithin(options({ signal: makeSignalAbortedWhen(() => ++asked > stop) }), AMPLE),
        CancelledError,
      );
      assert.deepEqual(folders(), [], `after ${stop} questions`);
    }
    for (const line of ['a random checkpoint', 'every batch']) {
      const note = (said: string): void => {
        if (said.startsWith(line)) {
          throw new Error('told');
        }
      };
      await assert.rejects(benchModelWithin(options({ note }), AMPLE), /told/);
      assert.deepEqual(folders(), []);
    }
  });

  it('is refused before anything is written where there is no room', async () => {
    const bytes = 4 * PARAMETERS * 1.3;
    const within = (memory: number, disk: number, changes: Partial<ModelBenchOptions> = {}): Promise<unknown> =>
      benchModelWithin(
        options({
          note: () => {
            throw new Error('It has begun.');
          },
          ...changes,
        }),
        { room: { memory, disk }, shardBytes: SHARD },
      );
    await refused(
      within(bytes - 1, 1e12),
      'input',
      /config\.json has 0 million parameters and needs about 0\.0000\d+ GB of memory where .* GB are free; give --config a smaller model\.$/,
    );
    await refused(
      within(1e12, 2 * PARAMETERS - 1),
      'input',
      /whose files need .* GB in .* where .* GB are free; free space, or give --config a smaller model\.$/,
    );
    await assert.rejects(within(bytes, 2 * PARAMETERS), /It has begun/);
    // Its own positions must hold what is measured.
    writeFileSync(join(temporary, 'short.json'), JSON.stringify({ ...CONFIG, max_position_embeddings: 79 }));
    await refused(
      within(1e12, 1e12, { config: 'short.json' }),
      'input',
      /short\.json needs 80 positions where the model has 79/,
    );
    await refused(
      within(1e12, 1e12, { config: 'none.json' }),
      'input',
      /Cannot read .*none\.json: .*; give --config a model's config\.json\.$/,
    );
    writeFileSync(join(temporary, 'other.json'), JSON.stringify({ ...CONFIG, model_type: 'mamba' }));
    await refused(
      within(1e12, 1e12, { config: 'other.json' }),
      'model',
      /other\.json: model_type: "mamba" is not supported/,
    );
    assert.deepEqual(folders(), []);
  });

  it('measures Qwen2.5-0.5B-Instruct unless set otherwise, and a smaller shape where it is to be quick', async () => {
    const published = await readShape(null, false, temporary);
    // The model card: 494 million parameters, 358 million of them not embeddings.
    assert.equal(parameterCount(published.config), 494_032_768);
    assert.equal(parameterCount(published.config) - 151936 * 896, 357_898_112);
    assert.equal(published.config.attentionBias, true);
    const quick = await readShape(null, true, temporary);
    assert.ok(parameterCount(quick.config) < 100e6);
    // A tied table is read once, by the output projection; an untied one is only looked into.
    const small = (await readShape(config, true, temporary)).config;
    assert.equal(countWeightBytes(small), 4 * MATRICES);
    assert.equal(countWeightBytes({ ...small, tieEmbeddings: false }), 4 * MATRICES);
    assert.doesNotThrow(() => checkRoom(published, { memory: 2.6e9, disk: 1e9 }));
    assert.throws(
      () => checkRoom(published, { memory: 2.5e9, disk: 1e9 }),
      /494 million parameters and needs about 2\.57 GB of memory where 2\.50 GB are free/,
    );
  });
});

describe('c3 bench model', () => {
  it('is a suite that takes a configuration and a device, which others do not', async () => {
    const suite = {
      quick: true,
      config: null,
      folder: temporary,
      signal: new AbortController().signal,
      note: () => undefined,
    };
    await refused(
      runSuite('store', { ...suite, device: 'webgpu' }),
      'input',
      /c3 bench store takes no --device; leave it out/,
    );
    await refused(runSuite('modle', suite), 'input', /did you mean model\?/);
    const unknown = await c3(temporary, ['bench', 'model', '--device', 'abacus']);
    assert.deepEqual([unknown.code, unknown.stdout], [2, '']);
    assert.match(unknown.stderr, /--device is auto, cpu, webgpu, .*, not "abacus"/);
  });

  it('prints one document, and asks a device that it cannot have for a reason', async () => {
    const { code, stdout, stderr } = await c3(temporary, [
      'bench',
      'model',
      '--quick',
      '--json',
      '--config',
      'config.json',
      '--device',
      'coreml',
    ]);
    assert.deepEqual([code, stdout.split('\n').length], [0, 2], stderr);
    const { suite, figures } = JSON.parse(stdout) as { suite: string; figures: unknown[] };
    assert.deepEqual([suite, figures.length], ['model', 14]);
    if (process.platform !== 'darwin') {
      assert.match(stderr, /CoreML: not available in this build .*; the run computes on the CPU\./);
    }
    assert.deepEqual(folders(), []);
    assert.ok(existsSync(config));
  });
});
