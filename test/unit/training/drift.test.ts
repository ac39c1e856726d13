import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  measureStaleness,
  measureSubsampledKl,
  measureZetaProxy,
  type StaleMessage,
} from '../../../src/training/drift.ts';
import { Numbers } from '../credit/tabular.ts';
import { distribution } from './tabularDecisions.ts';

const close = (a: number | undefined, b: number, within = 1e-9): void =>
  assert.ok(Math.abs((a ?? NaN) - b) <= within, `${String(a)} is not ${b}`);
const zero = (): number => 0;

it('weighs the episodes with which a step began as the formulas say', () => {
  const message = (episode: number, place: number, before: number, after: number, own: boolean): StaleMessage => ({
    episode,
    place,
    worth: episode === 1 ? 0.5 : -0.5,
    before: Math.log(before),
    after: Math.log(after),
    own,
  });
  const messages = [
    message(1, 0, 2, 2, false),
    message(1, 1, 1, 1.1, true),
    message(2, 1, 1, 0.5, true),
    message(2, 0, 0.5, 0.5, false),
  ];
  const found = measureStaleness(messages, { clip: 0.2, gamma: 0.5 });
  // W is 2 and 1/2; the ratios 1.1 and, clipped, 0.8.
  close(found?.gap, Math.abs((1 * 0.1 * 0.5 + -0.5 * -0.2 * -0.5) / 2) * 2);
  // The second messages' contexts are twice, and half as likely.
  close(found?.drift, (0 + 0.5 + 0 + 0.25) / 4);
  const still = measureStaleness(
    messages.map((one) => ({ ...one, before: 0 })),
    { clip: 0.2, gamma: 0.5 },
  );
  assert.deepEqual(still, { gap: 0, drift: 0 });
  assert.equal(measureStaleness([message(1, 0, 1, 1, false)], { clip: 0.2, gamma: 0.5 }), null);
});

it('comes to the exact stale gap and total variation of a team in tables', () => {
  // Two messages of three words each, the second after the first; the first role was updated, the second has its turn.
  const numbers = new Numbers(31, 0);
  const row = (): number[] => distribution(numbers, 3).map((p) => 0.2 + 0.4 * p);
  const near = (old: readonly number[]): number[] => {
    const other = distribution(numbers, old.length);
    return old.map((p, index) => 0.4 * p + 0.6 * (other[index] ?? NaN));
  };
  const at = (values: readonly number[] | undefined, index: number): number => values?.[index] ?? NaN;
  const [first, second] = [row(), [row(), row(), row()]];
  const [firstNow, secondNow] = [near(first), second.map(near)];
  const value = [0, 1, 2].map(() => [0, 1, 2].map(() => 2 * numbers.next() - 1));
  const clipped = (a: number, b: number): number =>
    Math.min(1.2, Math.max(0.8, at(secondNow[a], b) / at(second[a], b)));
  const promised = (team: readonly number[]): number =>
    team.reduce(
      (sum, p, a) =>
        sum + [0, 1, 2].reduce((own, b) => own + p * at(second[a], b) * (clipped(a, b) - 1) * at(value[a], b), 0),
      0,
    );
  const gap = Math.abs(promised(firstNow) - promised(first)) / 0.5;
  const variation = first.reduce((sum, p, a) => sum + Math.abs(p - at(firstNow, a)), 0) / 2;
  const draw = (weights: readonly number[]): number => {
    const place = numbers.next();
    const found = weights.findIndex(
      (_, index) => place < weights.slice(0, index + 1).reduce((sum, one) => sum + one, 0),
    );
    return found === -1 ? weights.length - 1 : found;
  };
  const errors = [1000, 64_000].map((count) => {
    const messages = Array.from({ length: count }, (_, episode): StaleMessage[] => {
      const a = draw(first);
      const b = draw(second[a] ?? []);
      const [moved, now] = [Math.log(at(firstNow, a) / at(first, a)), Math.log(at(secondNow[a], b) / at(second[a], b))];
      const worth = at(value[a], b);
      return [
        { episode, place: 0, worth, before: moved, after: moved, own: false },
        { episode, place: 1, worth, before: 0, after: now, own: true },
      ];
    }).flat();
    const found = measureStaleness(messages, { clip: 0.2, gamma: 0.5 }) ?? assert.fail();
    // Half of the contexts are those of the first role, which are the same.
    return [Math.abs(found.gap - gap), Math.abs(found.drift - variation / 2)];
  });
  assert.ok(gap > 1e-3 && variation > 0.02, `${gap}, ${variation}`);
  close(errors[1]?.[0], 0, 1e-3);
  close(errors[1]?.[1], 0, 2e-3);
});

it('gives the parts of zeta: clipped advantages, clipped ratios, statistics of halves', () => {
  const moves = (returns: readonly number[], ratio = 1) => {
    const total = returns.reduce((sum, one) => sum + one, 0);
    return returns.map((own, episode) => ({
      episode,
      problem: 'x',
      worth: own - (total - own) / (returns.length - 1),
      logRatio: Math.log(ratio),
    }));
  };
  // TeamTR reference, section 5: scores of these returns are 1.732046 and -0.577349.
  const returns = [1, 0, 0, 1, 0, 0, 0, 0];
  const free = { clip: 0.2, standard: { scale: 'variance', epsilon: 1e-6, clip: null } } as const;
  const draws = new Numbers(33, 0);
  const found = measureZetaProxy(moves(returns, 1.5), free, () => draws.next());
  close(found?.clip, 0);
  close(found?.ratio, ((2 * 1.732046 + 6 * 0.577349) / 8) * 0.3, 1e-5);
  assert.ok((found?.norm ?? 0) > 0);
  const cut = measureZetaProxy(
    moves(returns),
    { ...free, standard: { scale: 'variance', epsilon: 1e-6, clip: 1.5 } },
    zero,
  );
  close(cut?.clip, (2 * (1.732046 - 1.5)) / 8, 1e-5);
  close(cut?.ratio, 0);
  // Halves that are alike say the same.
  close(measureZetaProxy(moves([1, 1, 1, 1]), free, zero)?.norm, 0);
  assert.equal(measureZetaProxy([], free, zero), null);
});

it('measures how far a KL on a part of the tokens is off', () => {
  const numbers = new Numbers(32, 0);
  const moves = Array.from({ length: 400 }, () => ({
    tokens: Array.from({ length: 20 }, () => 0.2 * numbers.next() - 0.1),
  }));
  const whole = moves.reduce((sum, { tokens }) => sum + tokens.reduce((own, d) => own + Math.expm1(d) - d, 0), 0) / 400;
  const draws = Array.from({ length: 1 << 17 }, () => numbers.next());
  const errorOf = (share: number, delta: number) =>
    measureSubsampledKl(moves, { share, delta, estimator: 'k3' }, (position) => draws[position % draws.length] ?? 0);
  const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
  const [quarter, half, all] = [0.25, 0.5, 1].map((share) => errorOf(share, whole));
  assert.ok(mean(quarter?.errors ?? []) > mean(half?.errors ?? []) && mean(half?.errors ?? []) > 0);
  // 8,000 tokens: about sqrt((1 - q) / (8000 q)) times what single terms differ by.
  assert.ok(mean(quarter?.errors ?? []) < 0.06);
  assert.deepEqual(
    [all?.errors, all?.flips.some(Boolean)],
    [Array(8).fill(0), false].map((one) => one),
  );
  assert.deepEqual(errorOf(0.25, 10 * whole).flips, [], 'a KL far from the bound decides nothing');
  assert.equal(quarter?.flips.length, 8);
  assert.deepEqual(measureSubsampledKl([], { share: 0.5, delta: 1, estimator: 'k1' }, zero), { errors: [], flips: [] });
});
