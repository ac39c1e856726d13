/** Chances of many episodes together, of runs whose every chance is known. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { chancesAbove } from '../../../src/credit/pooledChances.ts';

const BOUND = 0.2;
const SURE = 0.05;

/** Of a run of 150 episodes, each replayed a few times: those that are called rare, and how many of them are not. */
function called(seed: number, replays: number, chanceOf: (uniform: number) => number): { rare: number; wrong: number } {
  const stream = openStream(seed, 0);
  let place = 0;
  const episodes = Array.from({ length: 150 }, () => {
    const chance = chanceOf(uniform(stream, place++));
    const won = Array.from({ length: replays }, () => uniform(stream, place++) < chance).filter(Boolean).length;
    return { chance, won, of: replays };
  });
  const rare = chancesAbove(episodes, BOUND).flatMap((above, at) => (above <= SURE ? (episodes[at] ?? []) : []));
  return { rare: rare.length, wrong: rare.filter(({ chance }) => chance > BOUND).length };
}

describe('chances of many episodes', () => {
  it('say of at most 5 % that they are rare where they are not, whatever their distribution', () => {
    for (const [name, chanceOf] of Object.entries({
      never: () => 0,
      even: (one: number) => one,
      low: (one: number) => one ** 3,
      two: (one: number) => (one < 0.5 ? 0.02 : 0.5),
      near: (one: number) => (one < 0.5 ? 0.15 : 0.25),
      just: () => 0.25,
    })) {
      for (const replays of [6, 12]) {
        let [rare, wrong] = [0, 0];
        for (let seed = 0; seed < 3; seed++) {
          const found = called(3400 + seed, replays, chanceOf);
          rare += found.rare;
          wrong += found.wrong;
        }
        assert.ok(wrong <= 0.05 * rare + 3, `${name}, ${String(replays)}: ${String(wrong)} of ${String(rare)}`);
      }
    }
  });

  it('decide by eight replays each what one episode alone does not by twenty', () => {
    const { rare } = called(1, 8, (one) => (one < 0.7 ? 0 : 0.6));
    assert.ok(rare >= 95, String(rare));
  });

  it('are as unsure as the replays of one episode where there is no other', () => {
    const [above = 0] = chancesAbove([{ won: 0, of: 2 }], BOUND);
    assert.ok(above >= 0, String(above));
    assert.deepEqual(chancesAbove([], BOUND), []);
  });
});
