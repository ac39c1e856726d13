import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  computeCertificate,
  computeConfidenceCost,
  isVacuous,
  boundOccupancyShift,
  estimatePromise,
} from '../../../src/training/certificate.ts';
import { measureDivergence } from '../../../src/training/divergence.ts';
import { measureWeightTails } from '../../../src/training/importance.ts';
import { Numbers } from '../credit/tabular.ts';
import {
  distribution,
  dot,
  exactOf,
  klOver,
  meanOver,
  moved,
  randomMessages,
  type Exact,
  type TeamPolicy,
} from './tabularDecisions.ts';

const close = (a: number, b: number, within = 1e-11): void => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);

describe('the vectors of the reference', () => {
  // TeamTR reference, section 5: L (already over 1 - gamma), delta and zeta of three updates.
  const turns = [
    { advantage: 0.05 / 2, kl: 0.01, error: 0.004, groups: 64 },
    { advantage: 0.04 / 2, kl: 0.0064, error: 0.003, groups: 64 },
    { advantage: 0.03 / 2, kl: 0.0081, error: 0.005, groups: 64 },
  ];
  const settings = { gamma: 0.5, bound: 1 };
  const certified = (fresh: boolean): number =>
    computeCertificate(
      turns.map((one) => ({ ...one, fresh })),
      settings,
    );

  it('hold for the intermediate, the stale and the high-probability certificate', () => {
    close(certified(true), -0.667675323681, 1e-12);
    close(certified(false), -1.45963491861, 1e-12);
    const cost = computeConfidenceCost(turns, { gamma: 0.5, bound: 2, clip: 0.2, failure: 0.05 });
    close(certified(true) - cost, -7.764850608609, 1e-12);
  });

  it('hold for the constant c of the penalty', () => {
    // Section 5, scale warnings: sqrt(2) g / (1 - g)^2, which a KL of 1 shifts occupancies by, over 1 - g.
    for (const [gamma, c, within] of [
      [0.1, 0.1746, 5e-5],
      [0.3, 0.8658, 5e-5],
      [0.5, 2.8284, 5e-5],
      [0.9, 127.28, 5e-3],
      [0.99, 14000.7, 0.05],
    ] as const) {
      close(boundOccupancyShift(1, gamma) / (1 - gamma), c, within);
    }
  });

  it('hold for the penalty at other discounts', () => {
    const still = { advantage: 0, kl: 0.01, error: 0, fresh: true };
    // Section 5, scale warnings: n 3, delta 0.01, A_max 1.
    for (const [gamma, penalty, within] of [
      [0.1, 0.052, 5e-4],
      [0.3, 0.26, 5e-4],
      [0.5, 0.849, 5e-4],
      [0.9, 38.2, 0.05],
      [0.99, 4200, 1],
    ] as const) {
      close(-computeCertificate([still, still, still], { gamma, bound: 1 }), penalty, within);
    }
  });

  it('begin anew with fresh episodes, and an estimate of the KL below 0 counts as 0', () => {
    const mixed = computeCertificate(
      turns.map((one, index) => ({ ...one, fresh: index !== 1 })),
      settings,
    );
    // Only the second update is on the episodes of the one before: c(0.5) sqrt(0.01) more than the intermediate.
    close(mixed, -0.667675323681 - 2 * Math.SQRT2 * 0.1, 1e-12);
    assert.equal(boundOccupancyShift(-0.3, 0.5), 0);
    assert.equal(computeConfidenceCost([{ kl: -1, groups: 8 }], { gamma: 0.5, bound: 0, clip: 0.2, failure: 0.1 }), 0);
    assert.equal(computeCertificate([], settings), 0);
  });

  it('are vacuous where they say no more than the bound on advantages', () => {
    assert.deepEqual(
      [-2, -1.99, 0.1].map((value) => isVacuous(value, settings)),
      [true, false, false],
    );
  });
});

const CASES = 1000;

it(`holds in each of ${CASES} random teams, as do the bounds on occupancies`, () => {
  const counts = { promisedMore: 0, stalePromisedMore: 0, informative: 0, positive: 0 };
  for (let index = 0; index < CASES; index++) {
    const numbers = new Numbers(19, index);
    const world = randomMessages(numbers);
    const { gamma } = world;
    const teams: TeamPolicy[] = [world.reward.map((row) => distribution(numbers, row.length))];
    for (let role = 0; role < world.roles; role++) {
      teams.push(moved(numbers, world, teams.at(-1) ?? [], role, 10 ** (-3 * numbers.next())));
    }
    const exact: Exact[] = teams.map((team) => exactOf(world, team));
    const [first = assert.fail(), last = assert.fail()] = [exact[0], exact.at(-1)];
    // What updates go by is off by some noise.
    const noise = numbers.next() < 0.5 ? 0 : 0.3 * numbers.next();
    let bound = 0;
    const turns = teams.slice(1).map((now, turn) => {
      const [before = assert.fail(), after = assert.fail(), old = assert.fail()] = [
        exact[turn],
        exact[turn + 1],
        teams[turn],
      ];
      const estimate = before.advantage.map((row) => row.map((value) => value + noise * (2 * numbers.next() - 1)));
      bound = Math.max(bound, ...[...before.advantage, ...estimate].flat().map(Math.abs));
      const kl = klOver(before.occupancy, old, now);
      const distance = after.occupancy.reduce((sum, d, s) => sum + Math.abs(d - (before.occupancy[s] ?? NaN)), 0);
      assert.ok(distance <= boundOccupancyShift(kl, gamma) + 1e-12, `occupancies of case ${index}`);
      close(
        dot(
          after.occupancy,
          after.occupancy.map(() => 1),
        ),
        1,
        1e-9,
      );
      const promised = meanOver(before.occupancy, now, estimate);
      const error = Math.abs(promised - meanOver(before.occupancy, now, before.advantage));
      return { promised, stale: meanOver(first.occupancy, now, estimate), kl, error };
    });
    const gain = last.value - first.value;
    const [fresh, stale] = [true, false].map((isFresh) =>
      computeCertificate(
        turns.map(({ promised, stale: once, kl, error }) => ({
          kl,
          error,
          fresh: isFresh,
          advantage: isFresh ? promised : once,
        })),
        { gamma, bound },
      ),
    );
    assert.ok(fresh !== undefined && fresh <= gain + 1e-9, `case ${index}: ${String(fresh)} > ${gain}`);
    assert.ok(stale !== undefined && stale <= gain + 1e-9, `case ${index}: ${String(stale)} > ${gain}`);
    const sum = (of: (turn: (typeof turns)[number]) => number): number =>
      turns.reduce((total, turn) => total + of(turn), 0) / (1 - gamma);
    counts.promisedMore += sum(({ promised, error }) => promised - error) > gain + 1e-9 ? 1 : 0;
    counts.stalePromisedMore += sum(({ stale: once, error }) => once - error) > gain + 1e-9 ? 1 : 0;
    counts.informative += isVacuous(fresh, { gamma, bound }) ? 0 : 1;
    counts.positive += fresh > 0 ? 1 : 0;
  }
  // Without their penalties they would not hold, and they are not all vacuous.
  assert.ok(counts.promisedMore > 100 && counts.stalePromisedMore > 100, JSON.stringify(counts));
  assert.ok(counts.informative > 100 && counts.positive > 0, JSON.stringify(counts));
});

it('promises what the clipped ratios say, and gives what the clip held back', () => {
  const moves = [
    { worth: 0.5, logRatio: Math.log(1.1) },
    { worth: -1, logRatio: Math.log(1.5) },
    { worth: 1, logRatio: -50 },
  ];
  const found = estimatePromise(moves, 0.2) ?? assert.fail();
  close(found.advantage, (0.05 - 0.2 - 0.2) / 3);
  close(found.error, (0 + 0.3 + (0.8 - Math.exp(-10))) / 3);
  assert.equal(estimatePromise([], 0.2), null);
});

it('estimates from sampled messages what the tables say', () => {
  const numbers = new Numbers(20, 0);
  const world = randomMessages(numbers);
  const old: TeamPolicy = world.reward.map((row) =>
    distribution(numbers, row.length).map((p) => 0.6 / row.length + 0.4 * p),
  );
  const now = [...new Set(world.actor)].reduce((team, role) => moved(numbers, world, team, role, 0.15), old);
  const { occupancy, advantage } = exactOf(world, old);
  const draw = (weights: readonly number[]): number => {
    const place = numbers.next();
    const ends = weights.map((_, index) => weights.slice(0, index + 1).reduce((sum, one) => sum + one, 0));
    const found = ends.findIndex((end) => place < end);
    return found === -1 ? weights.length - 1 : found;
  };
  const messages = Array.from({ length: 40_000 }, (_, episode) => {
    const state = draw(occupancy);
    const action = draw(old[state] ?? []);
    const [before, after] = [old, now].map((team) => Float32Array.of(Math.log(team[state]?.[action] ?? NaN)));
    const worth = advantage[state]?.[action] ?? NaN;
    return {
      before: before ?? assert.fail(),
      after: after ?? assert.fail(),
      advantage: worth,
      origin: { episode, problem: '', place: 0, worth },
    };
  });
  const { k1, k3, gain, moves = [] } = measureDivergence(messages);
  const kl = klOver(occupancy, old, now);
  const expected = meanOver(occupancy, now, advantage);
  const square = meanOver(
    occupancy,
    old,
    old.map((row, s) => row.map((p, a) => ((now[s]?.[a] ?? NaN) / p) ** 2)),
  );
  const promise = estimatePromise(moves, 0.99) ?? assert.fail();
  assert.ok(kl > 0.002 && Math.abs(expected) > 0.002, `${kl}, ${expected}`);
  // Within five standard errors: of a message, the ratio's deviation is about sqrt(2 KL).
  const error = (5 * Math.sqrt(2 * kl)) / Math.sqrt(messages.length);
  const most = Math.max(...advantage.flat().map(Math.abs));
  close(k1, kl, error);
  close(k3, kl, error);
  close(gain, expected, error * most);
  close(promise.advantage, expected, error * most);
  close(promise.error, 0, 1e-12);
  close(measureWeightTails(moves.map(({ logRatio }) => logRatio))?.effective ?? NaN, 1 / square, 2 * error);
});
