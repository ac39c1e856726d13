import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import { Trainer } from '../../../src/runtime/train/trainer.ts';
import { initialState, type StepResult } from '../../../src/runtime/train/trainingState.ts';
import type { LearningGroup } from '../../../src/training/advantages.ts';
import { computeSignalShare } from '../../../src/training/learn.ts';
import { weightMessages } from '../../../src/training/lossWeights.ts';
import { chooseSilentTreatment, keepSignal, treatSilentMessages } from '../../../src/training/silentMessages.ts';
import { selectMiniBatch } from '../../../src/training/updateContexts.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { context, DEVICE, RUNNING, testParameters, TINY } from '../runtime/models.ts';
import { item, present, range, testStream } from '../runtime/nd.ts';

/** A context whose messages have these credits; lengths 2, 3, 4 ... */
const credited = (role: string, name: string, ...credits: number[]): TrainingContext => {
  const { prompt, messages } = context(name, 3, ...credits.map((_, index) => 2 + index));
  return {
    role,
    prompt,
    messages: messages.map((message, index) => ({
      ...message,
      advantages: new Float32Array(message.tokens.length).fill(item(credits, index)),
    })),
  };
};

const creditsOf = (contexts: readonly TrainingContext[]): number[][] =>
  contexts.map(({ messages }) => messages.map(({ advantages }) => item(advantages, 0)));

describe('messages without a signal', () => {
  const contexts = [
    credited('reasoner', 'a', 0.5, -0.5),
    credited('actor', 'b', 0, 0, 0),
    credited('actor', 'c', 1, 0, -1),
  ];

  it('are left out, and contexts that have no other', () => {
    assert.deepEqual(creditsOf(keepSignal(contexts)), [
      [0.5, -0.5],
      [1, -1],
    ]);
    // A penalty that is in the advantages is a signal.
    const shaped = contexts.map((one) => ({
      ...one,
      messages: one.messages.map((message) => ({ ...message, advantages: message.advantages.map((a) => a + 0.125) })),
    }));
    assert.deepEqual(keepSignal(shaped), shaped);
  });

  it('leave one message of a role that has no other, for its optimizer', () => {
    const [reasoner = assert.fail(), silent = assert.fail()] = contexts;
    assert.deepEqual(creditsOf(keepSignal([reasoner, silent])), [[0.5, -0.5], [0]]);
    assert.deepEqual(creditsOf(keepSignal([silent])), [[0]]);
    assert.deepEqual(keepSignal([]), []);
    assert.deepEqual(creditsOf(keepSignal([reasoner, silent], 0)), [[0.5, -0.5], []]);
  });

  it('are treated as the penalty asks, with the least work', () => {
    const treat = (
      keys: Partial<Parameters<typeof chooseSilentTreatment>[0]>,
      term: Partial<Parameters<typeof chooseSilentTreatment>[1]> = {},
    ): string[] =>
      [true, false].map((atReference) =>
        chooseSilentTreatment(
          { skip_zero_credit: true, kl_on: 'all', ...keys },
          { coefficient: 0.01, estimator: 'k3', ...term },
          atReference,
        ),
      );
    assert.deepEqual(treat({}), ['weightless', 'learned']);
    // Its gradient at the reference is 0 only up to rounding.
    assert.deepEqual(treat({}, { estimator: 'exact' }), ['learned', 'learned']);
    assert.deepEqual(treat({}, { estimator: 'k1' }), ['dropped after shaping', 'dropped after shaping']);
    assert.deepEqual(treat({}, { coefficient: 0 }), ['dropped', 'dropped']);
    assert.deepEqual(treat({ skip_zero_credit: false }), ['learned', 'learned']);
    assert.deepEqual(treat({ skip_zero_credit: false }, { coefficient: 0 }), ['learned', 'learned']);
    for (const estimator of ['k1', 'k3', 'exact'] as const) {
      for (const skips of [true, false]) {
        const keys = { kl_on: 'credited', skip_zero_credit: skips } as const;
        assert.deepEqual(treat(keys, { estimator }), ['unpenalized', 'unpenalized']);
      }
    }
    // Without a penalty there is nothing to restrict.
    assert.deepEqual(treat({ kl_on: 'credited' }, { coefficient: 0 }), ['dropped', 'dropped']);
  });

  it('keep their places and tokens where they lose their weight', () => {
    const weighted = weightMessages(contexts, 'role');
    const treated = treatSilentMessages(weighted, 'weightless');
    const weights = (some: readonly TrainingContext[]): (number | undefined)[] =>
      some.flatMap(({ messages }) => messages.map(({ weight }) => weight));
    assert.deepEqual(
      weights(treated),
      weights(weighted).map((weight, place) => ([2, 3, 4, 6].includes(place) ? 0 : weight)),
    );
    assert.deepEqual(
      treated.map(({ prompt, messages }) => [prompt, ...messages.map(({ tokens }) => tokens)]),
      contexts.map(({ prompt, messages }) => [prompt, ...messages.map(({ tokens }) => tokens)]),
    );
    assert.deepEqual(creditsOf(treatSilentMessages(contexts, 'unpenalized')), [
      [0.5, -0.5],
      [1, -1],
    ]);
    assert.deepEqual(treatSilentMessages(contexts, 'dropped after shaping'), contexts);
  });

  it('are counted by their tokens', () => {
    // 2 + 3 of the reasoner, 2 + 4 of the actor, of 5 + 9 + 9 tokens.
    const groupOf = ({ messages }: TrainingContext): Pick<LearningGroup, 'messages'> => ({
      messages: messages.map(({ tokens, behaviour, advantages }) => ({
        tokens,
        logprobs: behaviour,
        credit: item(advantages, 0),
      })),
    });
    const masked = { messages: [{ tokens: new Int32Array(9), logprobs: new Float32Array(9), credit: null }] };
    assert.equal(computeSignalShare([...contexts.map(groupOf), masked]), 11 / 23);
    assert.equal(computeSignalShare([groupOf(credited('actor', 'd', 0, 0))]), 0);
    assert.equal(computeSignalShare([masked]), null);
  });
});

describe('a step without the messages that teach nothing', () => {
  const FLAT = testParameters(TINY);
  const trainer = new Trainer(TINY, DEVICE);
  after(() => trainer.release());
  const step = (contexts: readonly TrainingContext[], microBatchTokens: number): Promise<StepResult> =>
    trainer.step(
      initialState(FLAT),
      contexts,
      { loss: 'ppo', learningRate: 0.01, temperature: 1, klCoefficient: 0, microBatchTokens },
      RUNNING.signal,
    );
  /** Ratios on both sides of the clip. */
  async function sampled(contexts: readonly TrainingContext[]): Promise<TrainingContext[]> {
    const scored = await trainer.score(FLAT, contexts, 1, RUNNING.signal);
    return contexts.map((one, place) => ({
      ...one,
      messages: one.messages.map((message, number) => ({
        ...message,
        behaviour: present(scored[place]?.[number]).map((value, index) => value + ((index % 3) - 1) * 0.4),
      })),
    }));
  }

  it('is the same to the bit where whole contexts go, each in micro-batches of its own', async () => {
    const contexts = weightMessages(
      await sampled([
        credited('actor', 'a', 0.5, -0.5),
        credited('actor', 'b', 0, 0, 0),
        credited('actor', 'c', 1, -0.25, -1),
        credited('actor', 'd', 0),
      ]),
      'token',
    );
    const some = keepSignal(contexts);
    assert.deepEqual([contexts.length, some.length], [4, 2]);
    const [all, left] = [await step(contexts, 1), await step(some, 1)];
    // Their gradients are zeros, which change no sum.
    assert.deepEqual(left.state, all.state);
    assert.deepEqual([left.loss, left.gradientNorm], [all.loss, all.gradientNorm]);
    // Without what they count, the others would count more.
    const alone = await step(
      some.map((one) => ({ ...one, messages: one.messages.map(({ weight: _, ...message }) => message) })),
      1,
    );
    assert.notEqual(alone.gradientNorm, all.gradientNorm);
  });

  it('computes no micro-batch that they have alone where they lose their weight at the reference', async () => {
    const given = range(6).map((index) => credited('actor', `f${index}`, index % 3 ? 0 : 0.5, index === 3 ? 0 : -1));
    const silent = range(3).map((index) => credited('actor', `g${index}`, 0, 0));
    const scored = await trainer.score(FLAT, [...given, ...silent], 1, RUNNING.signal);
    const contexts = weightMessages(
      [...given, ...silent].map((one, place) => ({
        ...one,
        messages: one.messages.map((message, number) => {
          const now = present(scored[place]?.[number]);
          return { ...message, behaviour: now, reference: now };
        }),
      })),
      'message',
    );
    const counted = async (some: readonly TrainingContext[]): Promise<[result: StepResult, batches: number]> => {
      let batches = 0;
      const signal = makeSignalAbortedWhen(() => ++batches < 0);
      const settings = { loss: 'ppo', learningRate: 0.01, temperature: 1, klCoefficient: 0.5 } as const;
      const state = { ...initialState(FLAT), momentum: FLAT.slice(), step: 3 };
      return [await trainer.step(state, some, { ...settings, microBatchTokens: 1 }, signal), batches];
    };
    // Nothing reads what the reference policy would say.
    const light = treatSilentMessages(contexts, 'weightless').map((one) => ({
      ...one,
      messages: one.messages.map((message) =>
        message.weight === 0 ? { ...message, reference: message.reference.map(() => 0) } : message,
      ),
    }));
    const [all, some] = [await counted(contexts), await counted(light)];
    assert.deepEqual([all[1], some[1]], [9, 6]);
    assert.deepEqual(some[0], all[0]);
    // With them alone, and without any message, the optimizer takes its step all the same.
    const one = await counted(light.slice(6));
    const other = await counted(contexts.slice(6));
    const none = await counted(keepSignal(contexts.slice(6), 0));
    assert.deepEqual([one[1], other[1], none[1]], [0, 3, 0]);
    assert.deepEqual(one[0], other[0]);
    assert.deepEqual(none[0].state, other[0].state);
    assert.notDeepEqual(none[0].state.parameters, FLAT);
    assert.equal(none[0].state.step, 4);
  });

  it('is the same but for the order of sums where they shared rows and micro-batches with others', async () => {
    const contexts = weightMessages(
      await sampled(
        range(12).map((index) => credited('actor', `e${index}`, index % 3 ? 0.5 : 0, 0, index % 2 ? -1 : 0)),
      ),
      'message',
    );
    const [all, left] = [await step(contexts, 2048), await step(keepSignal(contexts), 2048)];
    assert.ok(all.gradientNorm > 1e-2);
    for (const [index, value] of all.state.momentum.entries()) {
      assert.ok(Math.abs(item(left.state.momentum, index) - value) < 1e-7, `momentum ${index}`);
    }
    assert.ok(Math.abs(left.loss - all.loss) < 1e-6);
  });
});

describe('mini-batches', () => {
  const draw = (name: string): ((position: number) => number) => {
    const stream = testStream(name);
    return (position) => stream.uniform(position);
  };

  it('go through everything once in each pass, in nearly equal parts', () => {
    for (const [count, of] of [
      [12, 3],
      [13, 4],
      [2, 5],
      [0, 2],
    ] as const) {
      const parts = range(of).map((index) => selectMiniBatch(range(count), { index, of, draw: draw('pass') }));
      assert.deepEqual(
        parts.flat().sort((a, b) => a - b),
        range(count),
      );
      const sizes = parts.map(({ length }) => length);
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, sizes.join());
    }
  });

  it('are the same from the same numbers, and others from others', () => {
    const first = (name: string): number[] => selectMiniBatch(range(64), { index: 0, of: 4, draw: draw(name) });
    assert.deepEqual(first('one'), first('one'));
    assert.notDeepEqual(first('one'), first('another'));
    // Anything can be in any: about a quarter of each quarter of the list.
    const found = range(200).flatMap((trial) => first(`trial ${trial}`));
    for (const quarter of range(4)) {
      const share = found.filter((value) => Math.floor(value / 16) === quarter).length / found.length;
      assert.ok(Math.abs(share - 0.25) < 0.03, `${share}`);
    }
  });

  it('are everything where there is one', () =>
    assert.deepEqual(selectMiniBatch(range(5), { index: 0, of: 1, draw: draw('pass') }), range(5)));
});
