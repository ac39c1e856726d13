/** Curves of many episodes together: exact on a grid, and true of runs whose every chance is known. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { fitCurves, judgeCurve, type CurveCounts } from '../../../src/credit/pooledCurves.ts';

const BOUNDS = { start: 0.2, later: 0.5, least: 0.1 };
const SURE = 0.95;

/** Of a run, each episode replayed a few times: those that are called rare, and how many of them are not. */
function called(
  seed: number,
  length: number,
  replays: number,
  chanceOf: (uniform: number) => number,
): { rare: number; wrong: number } {
  const stream = openStream(seed, 0);
  let place = 0;
  const episodes = Array.from({ length }, () => {
    const chance = chanceOf(uniform(stream, place++));
    const won = Array.from({ length: replays }, () => uniform(stream, place++) < chance).filter(Boolean).length;
    return { chance, points: [{ won, of: replays }], end: 0, names: ['answer'] };
  });
  const model = fitCurves(episodes);
  const judged = Map.groupBy(episodes, ({ points: [point] }) => point?.won);
  const rare = [...judged.values()].flatMap((alike) =>
    alike.slice(0, 1).some((one) => judgeCurve(model, one, BOUNDS).low >= SURE) ? alike : [],
  );
  return { rare: rare.length, wrong: rare.filter(({ chance }) => chance > BOUNDS.start).length };
}

describe('curves of many episodes', () => {
  it('are judged by every path over the grid', () => {
    // No episode was seen: every start and every move is as likely as any other.
    const model = fitCurves([]);
    const grid = Array.from({ length: 26 }, (_, step) => step);
    for (const { points, end } of [
      {
        points: [
          { won: 3, of: 5 },
          { won: 1, of: 4 },
          { won: 0, of: 6 },
        ],
        end: 0,
      },
      {
        points: [
          { won: 0, of: 9 },
          { won: 1.5, of: 4 },
          { won: 0, of: 2 },
        ],
        end: 0.4,
      },
    ]) {
      const [all, low, most, lost] = [[0], [0], [0, 0, 0], [0, 0, 0]];
      for (const a of grid) {
        for (const b of grid) {
          for (const c of grid) {
            const weight = [a, b, c].reduce((product, step, place) => {
              const { won, of } = points[place] ?? assert.fail();
              return product * (step / 25) ** won * (1 - step / 25) ** (of - won);
            }, 1);
            const losses = [a - b, b - c, c - 25 * end].map((one) => Math.round(one));
            all[0] = (all[0] ?? 0) + weight;
            low[0] = (low[0] ?? 0) + (a <= 4 && b <= 12 && c <= 12 ? weight : 0);
            for (const [place, loss] of losses.entries()) {
              most[place] =
                (most[place] ?? 0) + (losses.every((one, other) => other === place || one < loss) ? weight : 0);
              lost[place] = (lost[place] ?? 0) + (loss >= 2.5 ? weight : 0);
            }
          }
        }
      }
      const total = all[0] ?? NaN;
      const judged = judgeCurve(model, { points, end, names: ['a', 'b', 'c'] }, BOUNDS);
      const expected = [low[0] ?? NaN, ...most, ...lost].map((one) => one / total);
      for (const [index, value] of [judged.low, ...judged.lostMost, ...judged.lost].entries()) {
        assert.ok(Math.abs(value - (expected[index] ?? NaN)) < 1e-9, `${index}: ${value}`);
      }
    }
  });

  it('call at most 5 % of the episodes of a run rare that are not, whatever the distribution of chances', () => {
    for (const [name, chanceOf] of Object.entries({
      never: () => 0,
      even: (one: number) => one,
      low: (one: number) => one ** 3,
      two: (one: number) => (one < 0.5 ? 0.02 : 0.5),
      near: (one: number) => (one < 0.5 ? 0.15 : 0.25),
      just: () => 0.25,
    })) {
      for (const [runs, length, replays] of [
        [3, 150, 6],
        [3, 150, 12],
        [22, 20, 12],
      ] as const) {
        let [rare, wrong] = [0, 0];
        for (let seed = 0; seed < runs; seed++) {
          const found = called(3400 + seed, length, replays, chanceOf);
          rare += found.rare;
          wrong += found.wrong;
        }
        assert.ok(wrong <= 0.05 * runs * length, `${name}, ${length}: ${wrong} of ${rare}`);
      }
    }
  });

  it('decide by eight replays each what one episode alone does not by twenty', () => {
    const { rare } = called(1, 150, 8, (one) => (one < 0.7 ? 0 : 0.6));
    assert.ok(rare >= 95, String(rare));
  });

  it('learn what messages of a name do, wherever they stand', () => {
    const curve = (of: number, end: number): CurveCounts => ({
      points: [
        { won: of, of },
        { won: of, of },
        { won: 0, of },
      ],
      end,
      names: ['plan', 'answer', 'plan'],
    });
    const model = fitCurves(Array.from({ length: 60 }, () => curve(20, 0)));
    // Nothing is known of this one: answers throw away, plans do not.
    const { lostMost } = judgeCurve(model, { ...curve(0, 0), points: curve(0, 0).points.slice(0, 2) }, BOUNDS);
    const unseen = judgeCurve(
      fitCurves([]),
      { ...curve(0, 0), points: curve(0, 0).points.slice(0, 2) },
      BOUNDS,
    ).lostMost;
    assert.ok((lostMost[1] ?? 0) > 0.9 && (unseen[1] ?? 0) < 0.9, `${String(lostMost)} ${String(unseen)}`);
  });

  it('hold many returns and many messages without running out of numbers', () => {
    const long = Array.from({ length: 300 }, (_, place) => ({ won: place < 150 ? 900 : 0, of: 1000 }));
    const curve = { points: long, end: 0, names: long.map(() => 'step') };
    const { low, lostMost } = judgeCurve(fitCurves([curve]), curve, BOUNDS);
    assert.ok(low < 1e-6 && (lostMost[149] ?? 0) > 0.99, `${low} ${String(lostMost[149])}`);
  });
});
