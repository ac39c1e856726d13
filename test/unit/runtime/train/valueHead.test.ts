/**
 * The value head: its states against the reference transformer, its gradient against central differences, and its life
 * in a runtime.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { ModelHost } from '../../../../src/runtime/host.ts';
import { saveModel } from '../../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import type { StepSettings } from '../../../../src/runtime/train/trainingState.ts';
import {
  initialValueHead,
  learnValueHead,
  valueLoss,
  computeValue,
  type ValueSettings,
  type ValueState,
  type ValueTarget,
} from '../../../../src/runtime/train/valueHead.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';
import { plainRow, referenceLogits } from '../../../support/referenceTransformer.ts';
import { context, DEVICE, QWEN2, QWEN3, testParameters, testTokens, TINY, weightsOf } from '../models.ts';
import { item, present, range, testStream, total } from '../nd.ts';

const NEVER = new AbortController().signal;
const STEP: StepSettings = { loss: 'supervised', learningRate: 0.01, temperature: 1, klCoefficient: 0 };
const SETTINGS: ValueSettings = { learningRate: 0.01, epochs: 8, clip: 0.5 };
const TEXTS = [3, 9, 1, 17].map((length, index) => testTokens(`state ${index}`, length));
const STATES: readonly ValueState[] = TEXTS.map((tokens) => ({ tokens }));
const EXAMPLES = [
  { state: 0, advantage: 1 },
  { state: 1, advantage: -0.5 },
  { state: 1, advantage: 0.25 },
  { state: 3, advantage: 0.75 },
];

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-value-'));
  await saveModel(folder, { config: TINY, parameters: testParameters(TINY) }, 'F32');
});
after(() => rm(folder, { recursive: true, force: true }));

/** The normalised states that the output projection reads, of which an identity as projection shows every number. */
function referenceState(config: TransformerConfig, flat: Float32Array, tokens: Int32Array): number[] {
  const { hiddenSize, vocabularySize } = config;
  const identity = Float64Array.from({ length: vocabularySize * hiddenSize }, (_, index) =>
    index % (hiddenSize + 1) === 0 && index < hiddenSize * hiddenSize ? 1 : 0,
  );
  const logits = referenceLogits(
    { ...config, tieEmbeddings: false },
    new Map([...weightsOf(config, flat), ['lm_head.weight', identity]]),
    plainRow([...tokens]),
  );
  return [...present(logits.at(-1)).slice(0, hiddenSize)];
}

describe('the hidden state of a text', () => {
  for (const [name, config] of Object.entries({ TINY, QWEN2, QWEN3 })) {
    it(`is that of its last token, whatever is beside it: ${name}`, async () => {
      const flat = testParameters(config);
      const trainer = new Trainer(config, DEVICE);
      const together = await trainer.lastStates(flat, TEXTS, NEVER);
      for (const [index, tokens] of TEXTS.entries()) {
        const expected = referenceState(config, flat, tokens);
        for (const [place, value] of expected.entries()) {
          assert.ok(
            Math.abs(item(present(together[index]), place) - value) < 1e-4 * Math.max(1, Math.abs(value)),
            `${index} [${place}]`,
          );
        }
        assert.deepEqual((await trainer.lastStates(flat, [tokens], NEVER))[0], together[index]);
      }
      await assert.rejects(
        trainer.lastStates(flat, [testTokens('long', config.maxPositions + 1)], NEVER),
        (error) => error instanceof C3Error && error.kind === 'input',
      );
      await trainer.release();
    });
  }
});

describe('the value loss', () => {
  const stream = testStream('value');
  const width = 5;
  const hidden = range(6).map((row) => Float32Array.from(range(width), (index) => stream.normal(row * width + index)));
  const weights = Float32Array.from(range(width), (index) => stream.normal(1000 + index));
  // Free, held back above and below with the target before and behind the value, and just free again.
  const shifts: readonly (readonly [before: number, target: number])[] = [
    [0.1, 1],
    [-2, 3],
    [-2, -3],
    [2, 3],
    [2, -3],
    [0.4, -1],
  ];
  const targets = hidden.map((one, index): ValueTarget => ({
    hidden: one,
    before: computeValue(weights, one) + item(present(shifts[index]), 0),
    target: computeValue(weights, one) + item(present(shifts[index]), 1),
  }));

  it('is the published formula', () => {
    const each = shifts.map(([before, target]) => {
      // V = 0 in shifted terms; the clipped value is within 0.5 of the one before.
      const clipped = Math.min(before + 0.5, Math.max(before - 0.5, 0));
      return 0.5 * Math.max((clipped - target) ** 2, target ** 2);
    });
    assert.ok(Math.abs(valueLoss(weights, targets, 0.5).loss - total(each) / each.length) < 1e-9);
    assert.deepEqual(valueLoss(weights, [], 0.5), { loss: 0, gradient: new Float64Array(width) });
  });

  it('has the gradient that central differences give, of every target and all together', () => {
    for (const some of [...targets.map((one) => [one]), targets]) {
      const { gradient } = valueLoss(weights, some, 0.5);
      for (const index of range(width)) {
        // A float32 holds w +- 2^-10 exactly enough: the difference is taken between what it holds.
        const moved = (by: number): { readonly at: number; readonly loss: number } => {
          const other = weights.slice();
          other[index] = item(weights, index) + by;
          return { at: item(other, index), loss: valueLoss(other, some, 0.5).loss };
        };
        const [up, down] = [moved(2 ** -10), moved(-(2 ** -10))];
        const expected = (up.loss - down.loss) / (up.at - down.at);
        assert.ok(Math.abs(item(gradient, index) - expected) < 1e-6, `${item(gradient, index)} is not ${expected}`);
      }
    }
    // Two of the held ones learn nothing: where moving on would only come back to the bound.
    assert.deepEqual(
      targets.map((one) => valueLoss(weights, [one], 0.5).gradient.some((value) => value !== 0)),
      [true, false, true, true, false, true],
    );
  });

  it('falls by learning, which leaves the given head as it was', () => {
    const examples = range(6).map((state) => ({ state, advantage: state % 2 === 0 ? 1 : 0 }));
    const start = initialValueHead(width);
    const first = learnValueHead(start, hidden, examples, { learningRate: 0.01, epochs: 1, clip: 0.5 });
    assert.ok(Math.abs(first.loss - 0.25) < 1e-12);
    assert.deepEqual([start, first.head.step], [initialValueHead(width), 1]);
    const many = learnValueHead(start, hidden, examples, { learningRate: 0.01, epochs: 400, clip: 100 });
    const errors = hidden.map((one, index) => computeValue(many.head.parameters, one) - (index % 2 === 0 ? 1 : 0));
    assert.ok(total(errors.map((error) => error ** 2)) / 12 < 0.1);
    // A value that may move by 0.05 does not get far past that.
    const moved = (clip: number): number =>
      computeValue(
        learnValueHead(start, hidden, [{ state: 0, advantage: 1 }], { learningRate: 5e-4, epochs: 400, clip }).head
          .parameters,
        present(hidden[0]),
      );
    assert.ok(moved(100) > 0.5 && moved(0.05) > 0.05 && moved(0.05) < 0.1, `${moved(100)}, ${moved(0.05)}`);
    // A target represents itself, an advantage on what the head says already.
    const [value, lossOf] = [
      computeValue(many.head.parameters, present(hidden[1])),
      (example: Parameters<typeof learnValueHead>[2][number]): number =>
        learnValueHead(many.head, hidden, [example], SETTINGS).loss,
    ];
    assert.ok(
      Math.abs(lossOf({ state: 1, target: 1 }) - (value - 1) ** 2 / 2) < 1e-12 &&
        Math.abs(lossOf({ state: 1, advantage: 1 }) - 1 / 2) < 1e-12,
    );
    assert.deepEqual(learnValueHead(start, hidden, [], SETTINGS), { head: start, loss: 0, explainedVariance: null });
  });
});

describe('a head that is fitted', () => {
  const width = 5;
  const stream = testStream('fitted');
  const hiddenOf = (index: number): Float32Array =>
    Float32Array.from({ length: width }, (_, place) => 2 * stream.normal(index * width + place));
  const states = range(40).map(hiddenOf);
  /** A value with a bias, and noise of a tenth of its deviation. */
  const targetOf = (hidden: Float32Array, index: number): number =>
    3 + total(hidden.map((value, place) => value * (place - 2))) / 4 + 0.1 * stream.normal(1000 + index);
  const examples = states.map((hidden, state) => ({ state, target: targetOf(hidden, state) }));
  const settings = (ridge: number, keep: number): ValueSettings => ({ ...SETTINGS, leastSquares: { ridge, keep } });

  it('is where the sum that it states is least, with what came before counting less', () => {
    const [ridge, keep] = [7, 0.5];
    const [early, late] = [examples.slice(0, 15), examples.slice(15)];
    const first = learnValueHead(initialValueHead(width), states, early, settings(ridge, keep)).head;
    const { parameters } = learnValueHead(first, states, late, settings(ridge, keep)).head;
    const counted = [
      ...early.map((one) => ({ ...one, count: keep })),
      ...late.map((one) => ({ ...one, count: 1 })),
    ].map((one) => ({ ...one, hidden: present(states[one.state]) }));
    const examplesCounted = total(counted.map(({ count }) => count));
    const m =
      total(counted.map(({ hidden, count }) => count * total(hidden.map((value) => value * value)))) /
      (width * examplesCounted);
    const errors = counted.map(({ hidden, target }) => computeValue(parameters, hidden) - target);
    for (const place of range(width + 1)) {
      const slope =
        total(counted.map(({ hidden, count }, index) => count * item(errors, index) * (hidden[place] ?? 1))) +
        (place < width ? ridge * m * item(parameters, place) : 0);
      assert.ok(Math.abs(slope) < 1e-4, `${place}: ${slope}`);
    }
    assert.ok(Math.abs(computeValue(parameters, new Float32Array(width)) - 3) < 0.2, 'it has a bias');
  });

  it('explains what it has not seen, where a head by steps has not even found the mean', () => {
    const half = examples.slice(0, 20);
    const rest = examples.slice(20);
    const learned = learnValueHead(initialValueHead(width), states, half, settings(1, 1));
    assert.equal(learned.explainedVariance === null ? NaN : Math.round(learned.explainedVariance * 1e9), 0);
    const seen = learnValueHead(learned.head, states, rest, settings(1, 1)).explainedVariance ?? NaN;
    assert.ok(seen > 0.9 && seen < 1, String(seen));
    // By hand.
    const errors = rest.map(
      ({ state, target }) => target - computeValue(learned.head.parameters, present(states[state])),
    );
    const varianceOf = (values: readonly number[]): number => {
      const centre = total(values) / values.length;
      return total(values.map((value) => (value - centre) ** 2)) / values.length;
    };
    assert.ok(Math.abs(seen - (1 - varianceOf(errors) / varianceOf(rest.map(({ target }) => target)))) < 1e-9);
    const equal = [0, 1, 2].map((state) => ({ state, target: 1 }));
    assert.equal(learnValueHead(learned.head, states, equal, settings(1, 1)).explainedVariance, null);
  });

  it('leaves the given head as it was, and begins anew from one of the other kind', () => {
    const fit = settings(1, 1);
    const { head } = learnValueHead(initialValueHead(width), states, examples.slice(0, 9), fit);
    const copy = structuredClone(head);
    const next = learnValueHead(head, states, examples.slice(9), fit).head;
    assert.deepEqual(head, copy);
    assert.notDeepEqual(next.parameters, head.parameters);
    assert.equal(next.step, 2);
    assert.equal(learnValueHead(head, states, examples, SETTINGS).head.kind, 'gradient');
  });

  it('continues from a checkpoint as if it had not stopped, and is asked later', async (t) => {
    const host = new ModelHost(DEVICE);
    t.after(() => host.close());
    const { snapshot: base } = await host.load(folder);
    await host.beginTraining(base);
    const [path, kept] = [join(folder, 'fitted.safetensors'), join(folder, 'fitted-head.safetensors')];
    await host.learnValues(STATES, EXAMPLES, settings(3, 0.9), NEVER);
    await host.saveCheckpoint(path);
    await host.saveValueHead(base, kept);
    const values = await host.values(STATES, NEVER);
    assert.deepEqual(await host.valuesUnder(base, kept, STATES, NEVER), values);
    const more = async (): Promise<unknown> => [
      await host.learnValues(STATES, EXAMPLES, settings(3, 0.9), NEVER),
      await host.values(STATES, NEVER),
    ];
    const expected = await more();
    await host.beginTraining(base);
    await host.loadCheckpoint(path);
    assert.deepEqual(await host.values(STATES, NEVER), values);
    assert.deepEqual(await more(), expected);
    const bytes = readFileSync(path);
    writeFileSync(
      path,
      bytes.map((byte, index) => (index === bytes.length - 4 ? byte ^ 1 : byte)),
    );
    await assert.rejects(host.loadCheckpoint(path), /its value head does not match its hash/);
  });
});

describe('a runtime', () => {
  async function training(t: TestContext): Promise<{ readonly host: ModelHost; readonly base: string }> {
    const host = new ModelHost(DEVICE);
    t.after(() => host.close());
    const { snapshot: base } = await host.load(folder);
    await host.beginTraining(base);
    return { host, base };
  }

  it('values everything at 0 until it learned, and learns nothing else', async (t) => {
    const { host, base } = await training(t);
    assert.deepEqual(await host.values(STATES, NEVER), [0, 0, 0, 0]);
    // The mean of half the squares of the advantages.
    assert.ok(
      Math.abs((await host.learnValues(STATES, EXAMPLES, SETTINGS, NEVER)).loss - (1 + 0.25 + 0.0625 + 0.5625) / 8) <
        1e-12,
    );
    const learned = await host.values(STATES, NEVER);
    assert.ok(item(learned, 0) > 0 && item(learned, 3) > 0);
    assert.equal(await host.freeze(), base);
    // The policy moves, and with it what the head sees.
    await host.step([context('a', 4, 3, 2)], STEP, NEVER);
    assert.notDeepEqual(await host.values(STATES, NEVER), learned);
    await host.beginTraining(base);
    assert.deepEqual(await host.values(STATES, NEVER), [0, 0, 0, 0]);
  });

  it('is as before where a cancel or a text that cannot be read ends the learning', async (t) => {
    const { host } = await training(t);
    await host.learnValues(STATES, EXAMPLES, SETTINGS, NEVER);
    const before = await host.values(STATES, NEVER);
    await assert.rejects(host.learnValues(STATES, EXAMPLES, SETTINGS, AbortSignal.abort()), CancelledError);
    await assert.rejects(
      host.learnValues([...STATES, { tokens: new Int32Array() }], EXAMPLES, SETTINGS, NEVER),
      (error) => error instanceof C3Error && error.kind === 'input',
    );
    assert.deepEqual(await host.values(STATES, NEVER), before);
  });

  it('continues from a checkpoint as if it had not stopped, and refuses a head that was changed', async (t) => {
    const { host, base } = await training(t);
    const path = join(folder, 'checkpoint.safetensors');
    await host.learnValues(STATES, EXAMPLES, SETTINGS, NEVER);
    await host.step([context('a', 4, 3, 2)], STEP, NEVER);
    await host.saveCheckpoint(path);
    const goOn = async (): Promise<unknown> => [
      await host.values(STATES, NEVER),
      await host.learnValues(STATES, EXAMPLES, SETTINGS, NEVER),
      await host.values(STATES, NEVER),
    ];
    const expected = await goOn();
    await host.beginTraining(base);
    await host.loadCheckpoint(path);
    assert.deepEqual(await goOn(), expected);
    // One without a head takes away the head of before.
    await host.beginTraining(base);
    await host.saveCheckpoint(join(folder, 'none.safetensors'));
    await host.learnValues(STATES, EXAMPLES, SETTINGS, NEVER);
    await host.loadCheckpoint(join(folder, 'none.safetensors'));
    assert.deepEqual(await host.values(STATES, NEVER), [0, 0, 0, 0]);
    await host.learnValues(STATES, EXAMPLES, SETTINGS, NEVER);
    const kept = await host.values(STATES, NEVER);
    const bytes = readFileSync(path);
    for (const changed of [
      bytes.map((byte, index) => (index === bytes.length - 4 ? byte ^ 1 : byte)),
      Buffer.from(bytes.toString('latin1').replace('"valueHeadStep":"8"', '"valueHeadStep":"9"'), 'latin1'),
    ]) {
      assert.notDeepEqual(Buffer.from(changed), bytes);
      writeFileSync(path, changed);
      await assert.rejects(host.loadCheckpoint(path), /is damaged: its value head does not match its hash/);
    }
    assert.deepEqual(await host.values(STATES, NEVER), kept);
  });

  it('keeps a head that can be asked under its snapshot later, elsewhere, and whatever is trained meanwhile', async (t) => {
    const { host, base } = await training(t);
    const [path, weights] = [join(folder, 'head.safetensors'), join(folder, 'weights.safetensors')];
    await host.learnValues(STATES, EXAMPLES, SETTINGS, NEVER);
    await host.step([context('a', 4, 3, 2)], STEP, NEVER);
    const snapshot = await host.freeze();
    const expected = await host.values(STATES, NEVER);
    assert.equal(new Set(expected).size, STATES.length);
    await host.saveValueHead(snapshot, path);
    await host.saveSnapshot(snapshot, weights);
    await host.step([context('a', 4, 3, 2)], STEP, NEVER);
    await host.learnValues(STATES, EXAMPLES, SETTINGS, NEVER);
    assert.deepEqual(await host.valuesUnder(snapshot, path, STATES, NEVER), expected);
    await host.saveValueHead(snapshot, join(folder, 'later.safetensors'));
    assert.notDeepEqual(readFileSync(join(folder, 'later.safetensors')), readFileSync(path));
    const later = new ModelHost(DEVICE);
    t.after(() => later.close());
    await later.load(folder);
    await later.loadSnapshot(weights);
    assert.deepEqual(await later.valuesUnder(snapshot, path, STATES, NEVER), expected);
    assert.deepEqual(await later.valuesUnder(snapshot, null, STATES, NEVER), [0, 0, 0, 0]);
    await assert.rejects(later.valuesUnder(snapshot, path, STATES, AbortSignal.abort()), CancelledError);
    const refused = (name: string, head: string, pattern: RegExp): Promise<void> =>
      assert.rejects(
        later.valuesUnder(name, head, STATES, NEVER),
        (error) =>
          error instanceof C3Error &&
          error.kind === 'model' &&
          pattern.test(error.message) &&
          !error.message.includes('\n'),
      );
    await refused(
      base,
      path,
      /was trained on the weights [0-9a-f]{12}, not on [0-9a-f]{12}; put the original file back/,
    );
    await refused(snapshot, join(folder, 'no such head'), /cannot be read \(.*ENOENT.*\); delete it/);
    const bytes = readFileSync(path);
    for (const [changed, pattern] of [
      [
        bytes.map((byte, index) => (index === bytes.length - 4 ? byte ^ 1 : byte)),
        /is damaged: its contents do not match its hash; delete it/,
      ],
      [
        Buffer.from(bytes.toString('latin1').replace(snapshot, base), 'latin1'),
        /is damaged: its contents do not match its hash; delete it/,
      ],
      [bytes.subarray(0, bytes.length - 4), /cannot be read \(/],
      [readFileSync(weights), /cannot be read \(/],
    ] as const) {
      assert.notDeepEqual(Buffer.from(changed), bytes);
      writeFileSync(path, changed);
      await refused(snapshot, path, pattern);
    }
  });

  it('asks each role with its own adapter, and refuses one that has none', async (t) => {
    const { host, base } = await training(t);
    await host.beginTraining(base, {
      settings: { rank: 2, alpha: 8, targetModules: ['q_proj', 'up_proj'] },
      roles: ['planner', 'solver'],
      seed: 3,
    });
    const tokens = present(TEXTS[1]);
    const both = ['planner', 'solver'].map((role) => ({ role, tokens }));
    await host.learnValues(both, [{ state: 0, advantage: 1 }], SETTINGS, NEVER);
    const [first, second] = await host.values(both, NEVER);
    // Fresh adapters change nothing: one head for all roles.
    assert.equal(first, second);
    await host.step([{ ...context('a', 4, 3, 2), role: 'solver' }], STEP, NEVER);
    const [planner, solver] = await host.values(both, NEVER);
    assert.equal(planner, first);
    assert.notEqual(solver, second);
    const frozen = await host.freeze();
    await host.saveValueHead(frozen, join(folder, 'roles.safetensors'));
    assert.deepEqual(await host.valuesUnder(frozen, join(folder, 'roles.safetensors'), both, NEVER), [planner, solver]);
    // The model under the adapters is another snapshot, which everyone speaks with.
    await host.saveValueHead(base, join(folder, 'under.safetensors'));
    assert.deepEqual(await host.valuesUnder(base, join(folder, 'under.safetensors'), both, NEVER), [first, first]);
    // In whatever order they come.
    const mixed = TEXTS.flatMap((text) => ['solver', 'planner'].map((role) => ({ role, tokens: text })));
    const alone: number[] = [];
    for (const one of mixed) {
      alone.push(...(await host.values([one], NEVER)));
    }
    assert.deepEqual(await host.values(mixed, NEVER), alone);
    assert.equal(new Set(alone).size, mixed.length);
    await assert.rejects(host.values([{ role: 'critic', tokens }], NEVER), /Nothing is trained for the role "critic"/);
  });
});
