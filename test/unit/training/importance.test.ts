import assert from 'node:assert/strict';
import { it } from 'node:test';
import { computeEpisodeWeights, applyEpisodeWeights, measureWeightTails } from '../../../src/training/importance.ts';

const close = (a: number | undefined, b: number, within = 1e-9): void =>
  assert.ok(Math.abs((a ?? NaN) - b) <= within, `${String(a)} is not ${b}`);
const tailsOf = (weights: readonly number[]) => measureWeightTails(weights.map(Math.log)) ?? assert.fail();

it('computes how many episodes some weights are worth', () => {
  // TeamTR reference, section 5.
  close(tailsOf([0.5, 2, 1, 4]).effective, 0.661764706, 5e-10);
  assert.equal(measureWeightTails([]), null);
  assert.deepEqual(measureWeightTails([0, 0, 0]), { effective: 1, p95: 1, p99: 1, largest: 1, heavy: 0 });
  // The share is that of any common multiple, and one weight may have all.
  close(tailsOf([5, 20, 10, 40]).effective, 0.661764706, 5e-10);
  close(measureWeightTails([0, -1000, -1000, -1000])?.effective, 0.25);
});

it('has percentiles in any order, and weights that no number holds stay finite', () => {
  const weights = Array.from({ length: 21 }, (_, index) => 21 - index);
  const { p95, p99, largest, heavy } = tailsOf(weights);
  close(p95, 20);
  close(p99, 20.8);
  close(largest, 21);
  close(heavy, 11 / 21);
  assert.equal(measureWeightTails([-Infinity, -Infinity])?.effective, 1);
  const beyond = measureWeightTails([5000, 5000, 0, 0]) ?? assert.fail();
  assert.equal(beyond.effective, 0.5);
  assert.ok(Object.values(beyond).every(Number.isFinite));
});

it('weighs an episode by all messages of updated roles, and learns from it as from so many', () => {
  const move = (episode: number, ratio: number) => ({ episode, logRatio: Math.log(ratio) });
  const weights = computeEpisodeWeights([move(7, 2), move(9, 0.5), move(7, 0.75)], null);
  close(weights.get(7), 1.5);
  close(weights.get(9), 0.5);
  assert.equal(weights.size, 2);
  close(computeEpisodeWeights([move(7, 30), move(9, 0.5)], 4).get(7), 4);
  close(computeEpisodeWeights([{ episode: 7, logRatio: 5000 }], null).get(7), Math.exp(10));
  const message = (advantage: number) => ({
    tokens: new Int32Array(2),
    behaviour: new Float32Array(2),
    reference: new Float32Array(2),
    advantages: new Float32Array(2).fill(advantage),
  });
  const [first, second, third, unknown] = [message(1), message(-2), message(4), message(3)];
  const contexts = [
    { role: 'a', prompt: new Int32Array(1), messages: [first, second] },
    { role: 'b', prompt: new Int32Array(1), messages: [third, unknown] },
  ];
  const of = (episode: number) => ({ episode, problem: 'x', place: 0, worth: 0 });
  const origins = new Map([
    [first.tokens, of(7)],
    [second.tokens, of(9)],
    [third.tokens, of(8)],
  ]);
  assert.deepEqual(
    applyEpisodeWeights(contexts, origins, weights).map(({ messages }) =>
      messages.map(({ advantages }) => [...advantages]),
    ),
    [
      [
        [1.5, 1.5],
        [-1, -1],
      ],
      [
        [4, 4],
        [3, 3],
      ],
    ],
  );
  assert.deepEqual([...first.advantages], [1, 1], 'what was sampled stays');
});

it('estimates the surrogate of the updated team from the episodes of the team before', () => {
  // Two roles with two messages each: what follows is enumerated, with the probabilities of the first one changed.
  const [before, now, answer] = [
    [0.7, 0.3],
    [0.4, 0.6],
    [
      [0.2, 0.8],
      [0.9, 0.1],
    ],
  ] as const;
  const surrogate = (plan: number, said: number): number => [3, -1, 0.5, -2][2 * plan + said] ?? NaN;
  const pairs = [0, 1].flatMap((plan) => [0, 1].map((said) => ({ plan, said, episode: 2 * plan + said })));
  const moves = pairs.map(({ plan, episode }) => ({
    episode,
    logRatio: Math.log((now[plan] ?? NaN) / (before[plan] ?? NaN)),
  }));
  const weights = computeEpisodeWeights(moves, null);
  const mean = (first: readonly number[], weight: (episode: number) => number): number =>
    pairs.reduce(
      (sum, { plan, said, episode }) =>
        sum + (first[plan] ?? NaN) * (answer[plan]?.[said] ?? NaN) * weight(episode) * surrogate(plan, said),
      0,
    );
  const exact = mean(now, () => 1);
  close(
    mean(before, (episode) => weights.get(episode) ?? NaN),
    exact,
  );
  assert.ok(Math.abs(mean(before, () => 1) - exact) > 0.1, 'without weights it is another');
});
