/** Credits of messages that are drawn until enough are distinct: their expectation, over every outcome of a context. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MergedMember } from '../../../src/credit/merged.ts';
import { creditEqualMessages } from '../../../src/credit/merged.ts';
import { creditRedrawnMessages } from '../../../src/credit/redrawn.ts';

const CHANCES = [0.55, 0.25, 0.15, 0.05];
const RETURNS = [0.2, 1, 0.5, 0.9];

const member = (action: number, index: number): MergedMember => ({
  returns: [RETURNS[action] ?? NaN],
  evaluatorCalls: 1,
  text: String(action),
  draw: String(index),
});

/** Every sequence that is drawn, with its probability: as replay/episodes.ts draws. */
function* sequences(
  planned: number,
  most: number,
  so: readonly number[] = [],
  chance = 1,
): Generator<readonly [readonly number[], number]> {
  const isEnough = so.length >= planned && new Set(so).size >= planned;
  if (isEnough || so.length === most) {
    yield [so, chance];
    return;
  }
  for (const [action, own] of CHANCES.entries()) {
    yield* sequences(planned, most, [...so, action], chance * own);
  }
}

/** The expectation of the mean over credited messages of credit times score, and of its square. */
function expectation(planned: number, most: number, redraws: boolean): { mean: number[]; square: number } {
  const mean = CHANCES.map(() => 0);
  let square = 0;
  for (const [said, chance] of sequences(planned, most)) {
    const members = said.map(member);
    const credits =
      redraws && said.length > planned
        ? creditRedrawnMessages(members, planned)
        : creditEqualMessages(members.slice(0, planned), 'loo').map(({ shared }) => shared);
    const credited = credits.filter((credit) => credit !== null);
    assert.equal(credited.length, planned, said.join());
    const gradient = CHANCES.map((own, action) =>
      credits.reduce((sum, credit, index) => sum + (credit?.value ?? 0) * ((said[index] === action ? 1 : 0) - own), 0),
    );
    for (const [action, value] of gradient.entries()) {
      mean[action] = (mean[action] ?? 0) + (chance * value) / planned;
      square += chance * (value / planned) ** 2;
    }
  }
  return { mean, square };
}

const expected = CHANCES.reduce((sum, chance, action) => sum + chance * (RETURNS[action] ?? 0), 0);
const gradient = CHANCES.map((chance, action) => chance * ((RETURNS[action] ?? 0) - expected));
const variance = (square: number): number => square - gradient.reduce((sum, value) => sum + value ** 2, 0);

describe('credits of messages that are drawn until enough are distinct', () => {
  for (const [planned, most] of [
    [3, 6],
    [4, 6],
    [3, 4],
  ] as const) {
    it(`have the gradient of the expected return as their expectation: ${planned} of at most ${most}`, () => {
      const { mean, square } = expectation(planned, most, true);
      for (const [action, value] of mean.entries()) {
        assert.ok(Math.abs(value - (gradient[action] ?? NaN)) < 1e-12, `${action}: ${value}`);
      }
      const without = expectation(planned, most, false);
      for (const [action, value] of without.mean.entries()) {
        assert.ok(Math.abs(value - (gradient[action] ?? NaN)) < 1e-12, `${action}: ${value}`);
      }
      assert.ok(variance(square) < variance(without.square), `${square} is not below ${without.square}`);
    });
  }

  it('are given to as many messages as were planned, one of each text first', () => {
    const credits = creditRedrawnMessages([0, 0, 1, 0, 0, 0].map(member), 3);
    assert.deepEqual(
      credits.map((credit) => credit !== null),
      [true, true, true, false, false, false],
    );
    assert.equal(credits[0]?.value, credits[1]?.value);
    // 5 draws of one text against 1 of the other: 5 / 30 of 0.8 for each, of which the first has 2 messages.
    assert.ok(Math.abs((credits[2]?.value ?? NaN) - 3 * (5 / 30) * 0.8) < 1e-12);
    assert.ok(Math.abs((credits[0]?.value ?? NaN) + (3 * (5 / 30) * 0.8) / 2) < 1e-12);
  });

  it('are 0 where all are equal, and null without a return', () => {
    assert.deepEqual(
      creditRedrawnMessages([0, 0, 0, 0].map(member), 3).map((credit) => credit?.value ?? null),
      [0, 0, 0, null],
    );
    const masked = [0, 0, 1, 1].map((action, index) => ({ ...member(action, index), returns: [null] }));
    assert.deepEqual(creditRedrawnMessages(masked, 3), [null, null, null, null]);
  });
});
