import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MapMethod } from '../../../src/bench/experiments/map/mapTable.ts';
import {
  computeHandNoise,
  computeNoiseRatio,
  type PlayerMessage,
} from '../../../src/bench/experiments/map/mapVariance.ts';
import { creditIfComparable } from '../../../src/credit/compared.ts';
import { Stream } from '../../../src/runtime/random.ts';

const PILES = 'ABCDEFGH';

/** Hands of a team that names each pile alike: a lucky dealer's pile scores `luck`, a player's on the right side 60. */
function hands(count: number, luck: number, method: MapMethod): PlayerMessage[] {
  const stream = new Stream(method === 'c3' ? 'a'.repeat(32) : 'b'.repeat(32));
  let place = 0;
  const draw = (): number => stream.uniform(place++);
  const player = (upstream: number): { pile: string; points: number } => {
    const pile = Math.floor(8 * draw());
    return { pile: PILES[pile] ?? '', points: upstream + (pile < 4 ? 60 : 0) };
  };
  const dealer = (): number => (draw() < 0.5 ? luck : 0);
  return Array.from({ length: count }, (_, hand) => {
    const groups =
      method === 'c3'
        ? [dealer(), dealer()].map((upstream) => Array.from({ length: 4 }, () => player(upstream)))
        : [Array.from({ length: 8 }, () => player(dealer()))];
    return groups.flatMap((said) => {
      const members = said.map(({ points }) => ({ returns: [points], evaluatorCalls: 1 }));
      const credits = creditIfComparable(members, method === 'c3' ? 'loo' : 'magrpo');
      return said.map(({ pile }, index) => ({
        hand: String(hand),
        text: `dealer owl C, first oak ${pile}`,
        credit: credits[index]?.value ?? NaN,
      }));
    });
  }).flat();
}

describe('the noise of the player', () => {
  for (const rho of [0.2, 8]) {
    it(`of C3 over that of MAGRPO is (7 / 6) / (1 + rho) at a rho of ${rho}`, () => {
      const luck = Math.sqrt(rho) * 60;
      const [c3, magrpo] = (['c3', 'magrpo'] as const).map((method) =>
        computeHandNoise(hands(4000, luck, method), method),
      );
      const ratio = computeNoiseRatio(c3 ?? new Map(), magrpo ?? new Map()) ?? assert.fail();
      const theory = 7 / 6 / (1 + rho);
      const { value, low, high, n } = ratio;
      assert.equal(n, 4000);
      assert.ok(low !== null && high !== null && high - low < 0.2 * theory, JSON.stringify(ratio));
      // The interval is one of 95 %: twice as wide as this.
      assert.ok(Math.abs(value - theory) < high - low, `${JSON.stringify(ratio)} is not ${theory}`);
    });
  }

  it('counts the hands that both have, and says nothing where none varies', () => {
    const noise = new Map([['0', 1]]);
    assert.equal(computeNoiseRatio(noise, new Map([['1', 1]])), null);
    assert.equal(computeNoiseRatio(noise, new Map([['0', 0]])), null);
    assert.deepEqual(
      computeNoiseRatio(
        noise,
        new Map([
          ['0', 4],
          ['1', 1],
        ]),
      ),
      { value: 0.25, low: null, high: null, n: 1 },
    );
  });
});
