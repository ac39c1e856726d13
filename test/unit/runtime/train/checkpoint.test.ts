import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { readSafetensors } from '../../../../src/runtime/files/safetensors.ts';
import { writeFileAtomically } from '../../../../src/runtime/files/wholeFile.ts';
import { WHOLE_TEAM } from '../../../../src/runtime/model/lora.ts';
import { parameterCount } from '../../../../src/runtime/model/model.ts';
import { loadTrainingStates, saveTrainingStates } from '../../../../src/runtime/train/checkpoint.ts';
import type { TrainingState } from '../../../../src/runtime/train/trainingState.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { TINY } from '../models.ts';

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-checkpoint-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const failsWith =
  (kind: string, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof C3Error && error.kind === kind && message.test(error.message);
const count = parameterCount(TINY);
const vector = (first: number): Float32Array => Float32Array.from({ length: count }, (_, index) => first + index / 3);
const state = { parameters: vector(1), momentum: vector(-2), variance: vector(0.125), step: 12345 };

const whole = (one: TrainingState): Map<string, TrainingState> => new Map([[WHOLE_TEAM, one]]);
const MODEL = vector(9);
const load = (path: string): ReturnType<typeof loadTrainingStates> =>
  loadTrainingStates(TINY, path, (base) => {
    assert.equal(base, 'ab12');
    return Promise.resolve(MODEL);
  });

describe('a training state', () => {
  it('comes back bit for bit from one safetensors file', async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'checkpoint.safetensors');
    await saveTrainingStates(whole(state), path);
    assert.deepEqual(await load(path), whole(state));
    assert.deepEqual(
      [...readSafetensors(readFileSync(path), path).tensors].map(([name, { shape }]) => [name, ...shape]),
      [
        ['parameters', count],
        ['momentum', count],
        ['variance', count],
      ],
    );
    assert.deepEqual(readdirSync(folder), ['checkpoint.safetensors']);
  });

  it("says whose parameters it has where they are an adapter's, and that cannot be changed either", async (t) => {
    const path = join(temporaryFolder(t), 'checkpoint.safetensors');
    const adapter = {
      settings: { rank: 2, alpha: 0.5, targetModules: ['v_proj'] },
      base: 'ab12',
      model: MODEL,
    } as const;
    // A [2, 16] and B [12, 2] in both layers.
    const part = {
      adapter,
      parameters: vector(1).slice(0, 112),
      momentum: vector(2).slice(0, 112),
      variance: vector(3).slice(0, 112),
      step: 7,
    };
    await saveTrainingStates(whole(part), path);
    assert.deepEqual(await load(path), whole(part));
    const bytes = readFileSync(path);
    for (const [from, to] of [
      ['ab12', 'ab13'],
      ['0.5', '0.6'],
    ] as const) {
      writeFileSync(path, Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1'));
      await assert.rejects(load(path), failsWith('model', /is damaged/));
    }
    await saveTrainingStates(whole({ ...part, parameters: vector(1) }), path);
    await assert.rejects(load(path), failsWith('model', /not a checkpoint of this model/));
  });

  it('is one of several roles, each with a step of its own', async (t) => {
    const path = join(temporaryFolder(t), 'checkpoint.safetensors');
    const adapter = {
      settings: { rank: 2, alpha: 0.5, targetModules: ['v_proj'] },
      base: 'ab12',
      model: MODEL,
    } as const;
    const part = (first: number, step: number): TrainingState => ({
      adapter,
      parameters: vector(first).slice(0, 112),
      momentum: vector(first + 1).slice(0, 112),
      variance: vector(first + 2).slice(0, 112),
      step,
    });
    const team = new Map([
      ['reasoner', part(1, 7)],
      ['actor', part(5, 3)],
    ]);
    await saveTrainingStates(team, path);
    assert.deepEqual([...(await load(path))], [...team]);
    writeFileSync(path, Buffer.from(readFileSync(path).toString('latin1').replace('reasoner', 'raisoner'), 'latin1'));
    await assert.rejects(load(path), failsWith('model', /is damaged/));
  });

  it('is refused when anything of it is damaged, cut or of another model', async (t) => {
    const path = join(temporaryFolder(t), 'checkpoint.safetensors');
    await assert.rejects(load(path), failsWith('model', /Cannot read the checkpoint/));
    await saveTrainingStates(whole(state), path);
    const bytes = readFileSync(path);
    const damaged: readonly (readonly [Uint8Array, RegExp])[] = [
      // The last byte of the variance, the first of the parameters, the step in the header.
      [bytes.map((byte, index) => (index === bytes.length - 1 ? byte ^ 1 : byte)), /is damaged/],
      [bytes.map((byte, index) => (index === bytes.length - 12 * count ? byte ^ 1 : byte)), /is damaged/],
      [Buffer.from(bytes.toString('latin1').replace('12345]', '12346]'), 'latin1'), /is damaged/],
    ];
    for (const [content, message] of damaged) {
      writeFileSync(path, content);
      await assert.rejects(load(path), failsWith('model', message));
    }
    writeFileSync(path, bytes);
    truncateSync(path, bytes.length - 1);
    await assert.rejects(load(path), failsWith('model', /truncated/));
    writeFileSync(path, bytes);
    await assert.rejects(
      loadTrainingStates({ ...TINY, layers: TINY.layers + 1 }, path, () => assert.fail()),
      failsWith('model', /not a checkpoint of this model/),
    );
  });
});

describe('writeWhole', () => {
  it('leaves the old file and nothing beside it when the new one cannot be written or moved', async (t) => {
    const folder = temporaryFolder(t);
    const occupied = join(folder, 'occupied');
    mkdirSync(join(occupied, 'inside'), { recursive: true });
    await assert.rejects(
      writeFileAtomically(occupied, Uint8Array.of(1)),
      failsWith('store', /Cannot write .*occupied.*; free space or choose another folder/),
    );
    assert.deepEqual(readdirSync(folder), ['occupied']);
    await assert.rejects(
      writeFileAtomically(join(folder, 'none', 'file'), Uint8Array.of(1)),
      failsWith('store', /Cannot write/),
    );
    const path = join(folder, 'file');
    await writeFileAtomically(path, Uint8Array.of(1, 2));
    await writeFileAtomically(path, Uint8Array.of(3));
    assert.deepEqual([[...readFileSync(path)], readdirSync(folder)], [[3], ['file', 'occupied']]);
  });

  it('writes pieces one after the other, and nothing where one of them cannot be made', async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'file');
    // A piece may use the memory of the one before: that is written by then.
    function* pieces(last: number): Generator<Uint8Array> {
      const piece = new Uint8Array(3);
      for (let index = 0; index <= last; index++) {
        yield piece.fill(index);
      }
    }
    await writeFileAtomically(path, pieces(2));
    assert.deepEqual([...readFileSync(path)], [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    function* failing(): Generator<Uint8Array> {
      yield Uint8Array.of(9);
      throw new Error('no more');
    }
    await assert.rejects(writeFileAtomically(path, failing()), failsWith('store', /Cannot write .*no more/));
    assert.deepEqual([[...readFileSync(path)].length, readdirSync(folder)], [9, ['file']]);
  });
});
