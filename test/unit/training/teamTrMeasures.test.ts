import assert from 'node:assert/strict';
import { it } from 'node:test';
import { boundOccupancyShift } from '../../../src/training/certificate.ts';
import { measureTurns, type MeasuredTurn } from '../../../src/training/methods/teamTrMeasures.ts';

const close = (a: number | undefined, b: number, within = 1e-9): void =>
  assert.ok(Math.abs((a ?? NaN) - b) <= within, `${String(a)} is not ${b}`);

const SETTINGS = {
  clip: 0.2,
  held_out: null,
  certificate_gamma: 0.5,
  certificate_bound: 1,
  certificate_confidence: 0.95,
};

/** A turn whose message in episode number i has the weight number i, and is worth 0.5 with alternating signs. */
const turn = (weights: readonly number[], moved: number, fresh: boolean): MeasuredTurn => ({
  moved,
  fresh,
  moves: weights.map((weight, episode) => ({
    episode,
    problem: String(Math.floor(episode / 2)),
    worth: episode % 2 === 0 ? 0.5 : -0.5,
    place: 0,
    logRatio: Math.log(weight),
    tokens: [Math.log(weight)],
  })),
});

it('weighs episodes by all updates since they were sampled', () => {
  const [one, other] = [
    [0.5, 2],
    [1, 2],
  ] as const;
  // The second role's episodes are fresh: (2.5)^2 / (2 * 4.25) and (3)^2 / (2 * 5).
  const fresh = measureTurns([turn(one, 0, true), turn(other, 0, true)], [], SETTINGS);
  close(fresh.effectiveSample, 6.25 / 8.5);
  close(fresh.largestWeight, 2);
  // Those of the first role go on to count: weights 0.5 and 4.
  const stale = measureTurns([turn(one, 0, true), turn(other, 0, false)], [], SETTINGS);
  close(stale.effectiveSample, 4.5 ** 2 / (2 * 16.25));
  close(stale.largestWeight, 4);
  assert.equal(stale.heavyWeights, 0);
  close(measureTurns([turn([1, 11], 0, true)], [], SETTINGS).heavyWeights, 0.5);
});

it('knows the weight of an episode whose messages were all measured', () => {
  // A role without a message in an episode said nothing there: weights 1, 4 and then 3, 4.
  const turns = [turn([1, 4], 0, true), turn([3], 0, false)];
  close(measureTurns(turns, [], SETTINGS).effectiveSample, 25 / 34);
  close(measureTurns(turns, [], SETTINGS).largestWeight, 4);
  // Or nothing that was measured: the second episode's weight is not known any more.
  const parts = measureTurns([...turns, turn([1, 100], 0, false)], [], { ...SETTINGS, held_out: 2 });
  close(parts.largestWeight, 4);
  close(parts.effectiveSample, 25 / 34);
});

it('certifies the step, and the updates whose improvement it measured', () => {
  const turns = [turn([1.1, 1], 0.01, true), turn([1, 0.5], 0.0064, true)];
  const found = measureTurns(turns, [0.25, 0.75], SETTINGS);
  const penalty = (...kls: readonly number[]): number =>
    kls.reduce((sum, kl) => sum + 2 * boundOccupancyShift(kl, 0.5), 0);
  // Means of (w~ - 1) A, less those of |A| |w - w~|, over 1 - gamma.
  close(found.comparedCertificate, (2 * 0.05) / 2 - penalty(0.01));
  close(found.certificate, (2 * 0.05) / 2 + (2 * (0.1 - 0.15)) / 2 - penalty(0.01, 0.0064));
  close(found.measuredImprovement, 0.5);
  close(found.occupancyShift, Math.SQRT2 * 0.18);
  assert.equal(found.vacuousCertificate, 0);
  // One group of episodes each: 2 * 2 * 1.2 sqrt(2 ln 80) and 2 (sqrt(0.02) + sqrt(0.0128)).
  const cost = 4.8 * Math.sqrt(2 * Math.log(80)) + 2 * (Math.sqrt(0.02) + Math.sqrt(0.0128));
  close((found.certificate ?? NaN) - (found.confidentCertificate ?? NaN), cost);
  // Larger advantages than are said to exist count.
  const far = measureTurns(turns, [], { ...SETTINGS, certificate_bound: 0.1 });
  close(far.certificate, (2 * 0.05) / 2 + (2 * (0.1 - 0.15)) / 2 - penalty(0.01, 0.0064) / 2);
  assert.equal(measureTurns([turn([1, 1], 9, true)], [], SETTINGS).vacuousCertificate, 1);
});

it('leaves out what is not defined', () => {
  const turns = [turn([1.1, 1], 0.01, true), turn([1, 0.5], 0.0064, true)];
  assert.deepEqual(measureTurns([], [], SETTINGS), {});
  assert.deepEqual(measureTurns([turn([], 0, true)], [0.5], SETTINGS), {});
  for (const returns of [[0.25], [0.25, null], [null, 0.25]]) {
    assert.equal(measureTurns(turns, returns, SETTINGS).measuredImprovement, undefined);
    assert.equal(measureTurns(turns, returns, SETTINGS).comparedCertificate, undefined);
  }
  const once = [turn([1.1, 1], 0.01, true), turn([1, 0.5], 0.0064, false)];
  assert.equal(measureTurns(once, [0.25], SETTINGS).measuredImprovement, undefined);
});
