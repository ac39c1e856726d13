import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Tensor } from 'onnxruntime-node';
import { parameterFeeds } from '../../../../src/runtime/model/model.ts';
import { adamwStep, gradientNorm } from '../../../../src/runtime/train/adamw.ts';
import { packContexts, type TrainingContext } from '../../../../src/runtime/train/graph/pack.ts';
import {
  accumulatedName,
  ADAMW,
  buildGradientGraph,
  buildUpdateGraph,
  gradientName,
  momentumName,
  updatedName,
  varianceName,
  type AdamWConstants,
} from '../../../../src/runtime/train/graph/trainingGraph.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import {
  initialState,
  type StepResult,
  type StepSettings,
  type TrainingState,
} from '../../../../src/runtime/train/trainingState.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';
import { makeSignalAbortedWhen } from '../../../support/signals.ts';
import {
  context,
  DEVICE,
  flatOutput,
  message,
  runGraph,
  RUNNING,
  scalar,
  testParameters,
  testTokens,
  TINY,
} from '../models.ts';
import { item, noise, present, range, total } from '../nd.ts';

const SUPERVISED: StepSettings = { loss: 'supervised', learningRate: 0.01, temperature: 1, klCoefficient: 0 };
const FLAT = testParameters(TINY);
const CONTEXTS = [context('a', 4, 3, 2), context('b', 6, 5)];
const trainer = new Trainer(TINY, DEVICE);
after(() => trainer.release());

const tokenCount = (contexts: readonly TrainingContext[]): number =>
  total(contexts.flatMap(({ messages }) => messages.map(({ tokens }) => tokens.length)));
const feedsOf = (flat: ArrayLike<number>, nameOf: (parameter: string) => string): Record<string, Tensor> =>
  parameterFeeds(TINY, Float32Array.from(flat), nameOf);
const norm = (values: Float64Array): number => Math.sqrt(total(values.map((value) => value * value)));

/** Feeds of one micro-batch that holds every context. */
function wholeBatch(contexts: readonly TrainingContext[]): Record<string, Tensor> {
  const [batch, more] = packContexts(TINY, contexts, 1e6, 1 / tokenCount(contexts));
  assert.equal(more, undefined);
  return {
    ...Object.fromEntries(
      Object.entries(present(batch).feeds).filter(([name]) => !['behaviour', 'reference', 'advantages'].includes(name)),
    ),
    temperature: scalar(1),
  };
}

/** The supervised gradient of every context at once. */
async function gradientAt(parameters: Float32Array, contexts: readonly TrainingContext[]): Promise<Float64Array> {
  const feeds = { ...feedsOf(new Float32Array(FLAT.length), accumulatedName), ...wholeBatch(contexts) };
  return flatOutput(
    TINY,
    await runGraph(buildGradientGraph(TINY, { loss: 'supervised' }), TINY, parameters, feeds),
    gradientName,
  );
}

interface Moments {
  readonly parameters: Float64Array;
  readonly momentum: Float64Array;
  readonly variance: Float64Array;
}

/** AdamW with the gradient scaled to at most maxNorm (Loshchilov & Hutter 2019, algorithm 2), element by element. */
function adamW(
  state: Moments,
  gradient: Float64Array,
  t: number,
  rate: number,
  { beta1, beta2, epsilon, weightDecay, maxNorm }: AdamWConstants,
): Moments {
  const scale = Math.min(1, maxNorm / (norm(gradient) + 1e-6));
  const momentum = state.momentum.map((m, index) => beta1 * m + (1 - beta1) * scale * item(gradient, index));
  const variance = state.variance.map((v, index) => beta2 * v + (1 - beta2) * (scale * item(gradient, index)) ** 2);
  const parameters = state.parameters.map((p, index) => {
    const corrected =
      item(momentum, index) / (1 - beta1 ** t) / (Math.sqrt(item(variance, index) / (1 - beta2 ** t)) + epsilon);
    return p - rate * (corrected + weightDecay * p);
  });
  return { parameters, momentum, variance };
}

const close = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what: string): void => {
  assert.equal(actual.length, expected.length, what);
  for (const index of range(actual.length)) {
    const [got, wanted] = [item(actual, index), item(expected, index)];
    assert.ok(Math.abs(got - wanted) <= tolerance, `${what}[${index}]: ${got} is not ${wanted}`);
  }
};

/**
 * Elements whose root mean square gradient is well above float32 rounding: the others have a direction that
 * rounding decides.
 */
const steep = (variance: Float64Array, t: number): number[] =>
  range(variance.length).filter((index) => Math.sqrt(item(variance, index) / (1 - ADAMW.beta2 ** t)) > 1e-3);
const pick = (values: ArrayLike<number>, indices: readonly number[]): number[] =>
  indices.map((index) => item(values, index));

describe('AdamW', () => {
  it('follows a float64 AdamW over several steps', async () => {
    let state: TrainingState = initialState(FLAT);
    let expected: Moments = {
      parameters: Float64Array.from(FLAT),
      momentum: new Float64Array(FLAT.length),
      variance: new Float64Array(FLAT.length),
    };
    for (const t of range(5).map((index) => index + 1)) {
      const rate = 0.01 / t;
      const gradient = await gradientAt(state.parameters, CONTEXTS);
      expected = adamW(expected, gradient, t, rate, ADAMW);
      const result = await trainer.step(state, CONTEXTS, { ...SUPERVISED, learningRate: rate }, RUNNING.signal);
      state = result.state;
      assert.equal(state.step, t);
      assert.ok(Math.abs(result.gradientNorm - norm(gradient)) < 1e-5);
      close(state.momentum, expected.momentum, 1e-7, `momentum ${t}`);
      close(state.variance, expected.variance, 1e-7, `variance ${t}`);
      const decided = steep(expected.variance, t);
      assert.ok(decided.length > 0.7 * FLAT.length, String(decided.length));
      close(pick(state.parameters, decided), pick(expected.parameters, decided), 2e-6, `parameters ${t}`);
      close(state.parameters, expected.parameters, 2 * rate, `any parameter ${t}`);
    }
  });

  it('first moves every parameter by the learning rate against its gradient', async () => {
    const gradient = await gradientAt(FLAT, CONTEXTS);
    const { state } = await trainer.step(initialState(FLAT), CONTEXTS, SUPERVISED, RUNNING.signal);
    const decided = range(FLAT.length).filter((index) => Math.abs(item(gradient, index)) > 1e-3);
    assert.ok(decided.length > 0.7 * FLAT.length, String(decided.length));
    const expected = Float64Array.from(FLAT, (p, index) => p - 0.01 * Math.sign(item(gradient, index)));
    // Epsilon beside a gradient of 1e-3: one part in 1e5.
    close(pick(state.parameters, decided), pick(expected, decided), 1e-6, 'parameters');
  });

  const update = async (
    adamw: AdamWConstants,
    t: number,
    rate: number,
  ): Promise<{ outputs: Record<string, Float64Array>; expected: Moments; gradient: Float64Array }> => {
    const before = {
      momentum: noise('momentum', [FLAT.length], -0.1, 0.1).data,
      variance: noise('variance', [FLAT.length], 0, 0.1).data,
    };
    const gradient = (await gradientAt(FLAT, CONTEXTS)).map(Math.fround);
    const outputs = await runGraph(buildUpdateGraph(TINY, adamw), TINY, FLAT, {
      ...feedsOf(gradient, gradientName),
      ...feedsOf(before.momentum, momentumName),
      ...feedsOf(before.variance, varianceName),
      learningRate: scalar(rate),
      correction1: scalar(1 - adamw.beta1 ** t),
      correction2: scalar(1 - adamw.beta2 ** t),
    });
    return {
      outputs,
      gradient,
      expected: adamW({ parameters: Float64Array.from(FLAT), ...before }, gradient, t, rate, adamw),
    };
  };

  for (const [name, maxNorm] of [
    ['clipping inactive', 1e6],
    ['clipping active', 0.05],
  ] as const) {
    it(`takes its constants from the options: ${name}`, async () => {
      const { outputs, gradient, expected } = await update(
        { beta1: 0.7, beta2: 0.8, epsilon: 1e-3, weightDecay: 0.1, maxNorm },
        3,
        0.02,
      );
      assert.equal(norm(gradient) > maxNorm, maxNorm < 1);
      close(present(outputs['gradientNorm']), [norm(gradient)], 1e-5, 'norm');
      close(
        flatOutput(TINY, outputs, (name) => updatedName(momentumName(name))),
        expected.momentum,
        1e-7,
        'momentum',
      );
      close(
        flatOutput(TINY, outputs, (name) => updatedName(varianceName(name))),
        expected.variance,
        1e-7,
        'variance',
      );
      close(flatOutput(TINY, outputs, updatedName), expected.parameters, 1e-6, 'parameters');
    });

    it(`takes the same step in ordinary memory: ${name}`, () => {
      const constants = { beta1: 0.7, beta2: 0.8, epsilon: 1e-3, weightDecay: 0.1, maxNorm };
      const [momentum, variance] = [
        noise('momentum', [FLAT.length], -0.1, 0.1).data,
        noise('variance', [FLAT.length], 0, 0.1).data,
      ];
      const values = Float32Array.from(noise('gradient', [FLAT.length]).data);
      const gradient = Float64Array.from(values);
      const state = { parameters: FLAT, momentum: Float32Array.from(momentum), variance: Float32Array.from(variance) };
      // In two parts, as if of two tensors.
      const parts = [
        { offset: 0, values: values.subarray(0, 10) },
        { offset: 10, values: values.subarray(10) },
      ];
      close([gradientNorm(parts)], [norm(gradient)], 1e-9, 'norm');
      const updated = adamwStep(state, parts, norm(gradient), 0.02, 3, constants);
      const expected = adamW({ parameters: Float64Array.from(FLAT), momentum, variance }, gradient, 3, 0.02, constants);
      close(updated, expected.parameters, 1e-6, 'parameters');
      close(state.momentum, expected.momentum, 1e-7, 'momentum');
      close(state.variance, expected.variance, 1e-7, 'variance');
    });
  }
});

// More slots than one micro-batch takes.
const MANY = range(400).map((index) => context(`many ${index}`, 2 + (index % 5), 1 + (index % 4), 1 + (index % 3)));

describe('accumulation', () => {
  it('over micro-batches gives the gradient of one batch', async () => {
    assert.ok(packContexts(TINY, MANY, 2048, 1).length >= 3);
    const gradient = await gradientAt(FLAT, MANY);
    assert.ok(norm(gradient) > 1);
    const { state, loss, gradientNorm, tokens } = await trainer.step(
      initialState(FLAT),
      MANY,
      SUPERVISED,
      RUNNING.signal,
    );
    const [scale, share] = [1 / (norm(gradient) + 1e-6), 1 - ADAMW.beta1];
    close(
      Float64Array.from(state.momentum, (m) => m / share / scale),
      gradient,
      1e-6,
      'gradient',
    );
    assert.ok(Math.abs(gradientNorm - norm(gradient)) < 1e-5);
    assert.equal(tokens, tokenCount(MANY));
    const scored = await trainer.score(FLAT, MANY, 1, RUNNING.signal);
    const mean = total(scored.flat().map((logprobs) => total(logprobs))) / tokens;
    assert.ok(Math.abs(loss + mean) < 1e-5, `${loss} is not ${-mean}`);
  });

  it('adds the ppo figures of every micro-batch as token means', async () => {
    // Behaviour 0.5 below the score: every ratio is exp(0.5), clipped; the reference policy is 0.3 above.
    const scored = await trainer.score(FLAT, MANY, 1, RUNNING.signal);
    const contexts = MANY.map(({ prompt, messages }, index) => ({
      prompt,
      messages: messages.map(({ tokens }, number) => {
        const now = present(scored[index]?.[number]);
        return {
          tokens,
          behaviour: now.map((value) => value - 0.5),
          reference: now.map((value) => value + 0.3),
          advantages: new Float32Array(tokens.length).fill(-2),
        };
      }),
    }));
    const result = await trainer.step(
      initialState(FLAT),
      contexts,
      { loss: 'ppo', learningRate: 0.01, temperature: 1, klCoefficient: 0.5 },
      RUNNING.signal,
    );
    const k3 = Math.exp(0.3) - 0.3 - 1;
    close(
      [result.loss, result.kl, result.clipFraction, result.ratioDeviation],
      [2 * Math.exp(0.5) + 0.5 * k3, k3, 1, Math.exp(0.5) - 1],
      2e-5,
      'figures',
    );
  });
});

describe('a step whose messages say what their tokens count', () => {
  /** The second message of each context counts three times as much as the others. */
  const WEIGHTED = MANY.map((context) => ({
    ...context,
    messages: context.messages.map((message, number) => ({ ...message, weight: number === 1 ? 0.003 : 0.001 })),
  }));

  it('has the loss and the gradient of the weighted sum, over as many micro-batches as it takes', async () => {
    const scored = await trainer.score(FLAT, WEIGHTED, 1, RUNNING.signal);
    const expected = -total(
      WEIGHTED.flatMap(({ messages }, index) =>
        messages.map(({ weight }, number) => weight * total(present(scored[index]?.[number]))),
      ),
    );
    const step = (contexts: readonly TrainingContext[], microBatchTokens: number): Promise<StepResult> =>
      trainer.step(initialState(FLAT), contexts, { ...SUPERVISED, microBatchTokens }, RUNNING.signal);
    const whole = await step(WEIGHTED, 1e6);
    const small = await step(WEIGHTED, 16);
    for (const { loss } of [whole, small]) {
      assert.ok(Math.abs(loss - expected) < 1e-5 * expected, `${loss} is not ${expected}`);
    }
    close(small.state.momentum, whole.state.momentum, 1e-6, 'gradient');
    assert.notDeepEqual(whole.state.momentum, (await step(MANY, 1e6)).state.momentum);
  });

  it('is the token mean, to the bit, where each counts as much', async () => {
    const weight = 1 / tokenCount(MANY);
    const same = MANY.map((context) => ({
      ...context,
      messages: context.messages.map((message) => ({ ...message, weight })),
    }));
    const said = await trainer.step(initialState(FLAT), same, SUPERVISED, RUNNING.signal);
    assert.deepEqual(said, await trainer.step(initialState(FLAT), MANY, SUPERVISED, RUNNING.signal));
  });
});

describe('a step that cannot be taken', () => {
  const state = initialState(FLAT.slice());
  const unchanged = (): void => assert.deepEqual(state, initialState(FLAT));

  it('is cancelled between micro-batches and leaves the state as it was', async () => {
    let asked = 0;
    await assert.rejects(
      trainer.step(
        state,
        MANY,
        SUPERVISED,
        makeSignalAbortedWhen(() => ++asked > 1),
      ),
      CancelledError,
    );
    assert.equal(asked, 2);
    unchanged();
  });

  const BAD: readonly (readonly [what: string, context: TrainingContext, message: RegExp])[] = [
    [
      'an empty prompt',
      { prompt: new Int32Array(), messages: [message(testTokens('x', 2))] },
      /context 1 has an empty prompt or message/,
    ],
    [
      'an empty message',
      { prompt: testTokens('x', 2), messages: [message(new Int32Array())] },
      /context 1 has an empty prompt or message/,
    ],
    ['too many positions', context('long', 60, 2, 6), /context 1 needs 65 positions where the model has 64/],
    [
      'an unknown token in a message',
      { prompt: testTokens('x', 2), messages: [message(Int32Array.of(1, 22))] },
      /token id 22 where the model knows 22/,
    ],
    [
      'an unknown token in the prompt',
      { prompt: Int32Array.of(-1), messages: [message(testTokens('x', 2))] },
      /token id -1/,
    ],
  ];
  for (const [what, bad, pattern] of BAD) {
    it(`is refused for ${what}`, async () => {
      const refusal = (error: unknown): boolean =>
        error instanceof C3Error && error.kind === 'input' && pattern.test(error.message);
      await assert.rejects(trainer.step(state, [present(CONTEXTS[0]), bad], SUPERVISED, RUNNING.signal), refusal);
      await assert.rejects(trainer.score(FLAT, [present(CONTEXTS[0]), bad], 1, RUNNING.signal), refusal);
      unchanged();
    });
  }

  it('is refused where the numbers overflow', async () => {
    const huge = initialState(FLAT.map((value) => 1e30 * value));
    await assert.rejects(
      trainer.step(huge, CONTEXTS, SUPERVISED, RUNNING.signal),
      (error) =>
        error instanceof C3Error && error.kind === 'model' && /step 1 .*not a finite number/.test(error.message),
    );
  });

  it('the last position of the model can be used', async () => {
    const scored = await trainer.score(FLAT, [context('long', 60, 5)], 1, RUNNING.signal);
    assert.equal(scored[0]?.[0]?.length, 5);
  });

  it('without contexts is none', async () => {
    const result = await trainer.step(state, [], SUPERVISED, RUNNING.signal);
    assert.equal(result.tokens, 0);
    assert.deepEqual(result.state, initialState(FLAT));
  });
});
