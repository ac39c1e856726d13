/**
 * The vectors of the loss in the CCPO reference, section 12: what the authors' functions gave for ratios of turns or
 * tokens, averaged over tokens or over trajectories.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Graph } from '../../../../../src/runtime/graph/graph.ts';
import { ppoLoss, type PolicyLoss } from '../../../../../src/runtime/train/graph/policyLoss.ts';
import { item, make, present, Runner } from '../../nd.ts';

const OLD = [
  [-1, -2, -0.5, -1],
  [-0.7, -0.2, -1.1],
];
const NEW = [
  [-0.8, -1.5, -0.9, -1],
  [-1.4, -1.2, -2.1],
];
const LENGTHS = OLD.map(({ length }) => length);
const TOKENS = OLD.flat().length;

/** @param weights what each token of a trajectory counts */
async function lossOf(
  ratio: 'token' | 'message-mean',
  advantages: readonly number[],
  weights: readonly number[],
  { dualClip, to = NEW }: { readonly dualClip?: number; readonly to?: readonly (readonly number[])[] } = {},
) {
  const g = new Graph('loss', 'float64');
  const column = ['targets', 1] as const;
  const policy: PolicyLoss = { ratio, ...(dualClip !== undefined && { dualClip }) };
  const logprobs = g.floatInput('logprobs', column);
  g.output('loss', ppoLoss(g, { logprobs }, g.floatInput('weights', column), policy));
  const perToken = (values: readonly number[]): number[] =>
    LENGTHS.flatMap((length, trajectory) => Array.from({ length }, () => values[trajectory] ?? NaN));
  const owner = perToken([0, 1]);
  const feed = (values: readonly number[]) => make([TOKENS, 1], (place) => values[place] ?? NaN);
  const members = make([2, TOKENS], (message, token) => (owner[token] === message ? 1 : 0));
  const runner = await Runner.create(g);
  const outputs = await runner.run({
    logprobs: feed(to.flat()),
    behaviour: feed(OLD.flat()),
    reference: feed(OLD.flat()),
    advantages: feed(perToken(advantages)),
    weights: feed(perToken(weights)),
    klCoefficient: make([1], () => 0),
    ...(ratio === 'message-mean' && {
      members,
      shares: make([2, TOKENS], (message, token) => (owner[token] === message ? 1 / (LENGTHS[message] ?? NaN) : 0)),
    }),
  });
  await runner.release();
  return item(present(outputs['loss']).data, 0);
}

it("the loss has the values of the authors' functions", async () => {
  const [mean, trajectory] = [[1 / TOKENS, 1 / TOKENS], LENGTHS.map((length) => 1 / (2 * length))];
  for (const [advantages, turn, token, both] of [
    [[1, -1], -0.138942, -0.238617, -0.10879],
    [[-1, 1], 0.335657, 0.491111, 0.378375],
    [[-1, -1], 0.938942, 1.010018, 0.983765],
  ] as const) {
    const found = [
      // The published code clips twice, which changes none of these.
      await lossOf('message-mean', advantages, trajectory, { dualClip: 3 }),
      await lossOf('token', advantages, mean),
      await lossOf('token', advantages, trajectory),
    ];
    [turn, token, both].forEach((value, column) =>
      assert.ok(Math.abs((found[column] ?? NaN) - value) < 1e-5, `${advantages.join()}: ${found.join()}`),
    );
  }
});

it('a dual clip bounds what a ratio counts where the advantage is negative, and nowhere else', async () => {
  const trajectory = LENGTHS.map((length) => 1 / (2 * length));
  // Every token is e^2 = 7.389 times as probable as it was.
  const to = OLD.map((row) => row.map((value) => value + 2));
  for (const ratio of ['token', 'message-mean'] as const) {
    for (const [advantages, dualClip, expected] of [
      [[-1, -1], undefined, Math.exp(2)],
      [[-1, -1], 3, 3],
      [[-2, -1], 3, 4.5],
      [[-1, -1], 8, Math.exp(2)],
      // 1.2 at most, as without it.
      [[1, 1], 3, -1.2],
    ] as const) {
      const found = await lossOf(ratio, advantages, trajectory, { to, ...(dualClip !== undefined && { dualClip }) });
      assert.ok(Math.abs(found - expected) < 1e-5, `${ratio} ${String(dualClip)}: ${found}`);
    }
  }
});
