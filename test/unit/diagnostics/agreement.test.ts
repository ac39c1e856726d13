import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cohenKappa } from '../../../src/diagnostics/statistics/agreement.ts';

/** Every case of a table of counts: rows are what the one says, columns the other. */
function casesOf(table: readonly (readonly number[])[]): [string, string][] {
  return table.flatMap((row, i) =>
    row.flatMap((count, j) => Array.from({ length: count }, (): [string, string] => [`class ${i}`, `class ${j}`])),
  );
}
const rounded = (value: number | null | undefined, digits: number): number | null =>
  typeof value === 'number' ? Number(value.toFixed(digits)) : null;

describe("Cohen's kappa", () => {
  it('has the values that were published', () => {
    // SAS/STAT user's guide, the FREQ procedure, "Agreement Study": kappa, ASE and 95 % limits.
    const skin = cohenKappa(
      casesOf([
        [10, 4, 1, 0],
        [5, 10, 12, 2],
        [2, 4, 12, 5],
        [0, 2, 6, 13],
      ]),
    );
    assert.deepEqual([skin.n, skin.agreed], [88, 45]);
    assert.deepEqual(
      [skin.kappa?.value, skin.standardError, skin.kappa?.low, skin.kappa?.high].map((value) => rounded(value, 4)),
      [0.3449, 0.0724, 0.203, 0.4868],
    );
    // statpsych (Bonett), ci.kappa(.05, 31, 12, 4, 58).
    const two = cohenKappa(
      casesOf([
        [31, 12],
        [4, 58],
      ]),
    );
    assert.deepEqual(
      [two.kappa?.value, two.standardError, two.kappa?.low, two.kappa?.high].map((value) => rounded(value, 7)),
      [0.6756757, 0.0734476, 0.531721, 0.8196303],
    );
    // Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, table 18.1.
    assert.equal(
      rounded(
        cohenKappa(
          casesOf([
            [75, 1, 4],
            [5, 4, 1],
            [0, 0, 10],
          ]),
        ).kappa?.value,
        3,
      ),
      0.676,
    );
    // Cohen 1960, table 1.
    assert.equal(
      rounded(
        cohenKappa(
          casesOf([
            [88, 14, 18],
            [10, 40, 10],
            [2, 6, 12],
          ]),
        ).kappa?.value,
        2,
      ),
      0.49,
    );
  });

  it('does not depend on who comes first, nor on the order of cases or the names of classes', () => {
    const cases = casesOf([
      [5, 2, 0],
      [1, 4, 3],
      [0, 2, 6],
    ]);
    const found = cohenKappa(cases);
    assert.equal(found.n, 23);
    const near = (other: ReturnType<typeof cohenKappa>): void => {
      assert.ok(
        Math.abs((other.kappa?.value ?? 9) - (found.kappa?.value ?? 0)) < 1e-12 &&
          Math.abs((other.standardError ?? 9) - (found.standardError ?? 0)) < 1e-12,
      );
    };
    near(cohenKappa(cases.map(([one, other]) => [other, one])));
    near(cohenKappa(cases.toReversed()));
    near(cohenKappa(cases.map(([one, other]) => [`x${one}`, `x${other}`])));
  });

  it('is 0 for what chance gives and -1 where both always contradict each other', () => {
    assert.ok(
      Math.abs(
        cohenKappa(
          casesOf([
            [4, 4],
            [4, 4],
          ]),
        ).kappa?.value ?? 9,
      ) < 1e-12,
    );
    assert.equal(
      cohenKappa([
        ['a', 'b'],
        ['b', 'a'],
      ]).kappa?.value,
      -1,
    );
  });

  it('is not measured below two cases or where one class is all there is, and shows no interval where nothing varied', () => {
    for (const [cases, reason] of [
      [[], /fewer than two/],
      [[['a', 'a']], /fewer than two/],
      [
        [
          ['a', 'a'],
          ['a', 'a'],
        ],
        /same class/,
      ],
    ] as const) {
      const found = cohenKappa(cases);
      assert.deepEqual([found.kappa, found.standardError, found.n], [null, null, cases.length]);
      assert.match(found.reason ?? '', reason);
    }
    const perfect = cohenKappa(
      casesOf([
        [7, 0],
        [0, 14],
      ]),
    );
    assert.deepEqual([perfect.kappa, perfect.agreed], [{ value: 1, low: null, high: null, n: 21 }, 21]);
    assert.match(perfect.reason ?? '', /nothing varied/);
  });

  it('has no interval below 20 cases, where a large-sample error does not hold, and says how many it needs', () => {
    const few = cohenKappa(
      casesOf([
        [8, 2],
        [3, 6],
      ]),
    );
    // po = 14/19; margins 10, 9 and 11, 8: pe = (110 + 72) / 361; kappa = (266 - 182) / (361 - 182).
    assert.ok(Math.abs((few.kappa?.value ?? 9) - 84 / 179) < 1e-12);
    assert.deepEqual(
      [few.n, few.agreed, few.kappa?.low, few.kappa?.high, few.standardError],
      [19, 14, null, null, null],
    );
    assert.equal(few.reason, 'at least 20 labels are needed for an interval');
    const enough = cohenKappa(
      casesOf([
        [9, 2],
        [3, 6],
      ]),
    );
    assert.ok(
      enough.kappa !== null &&
        enough.kappa.low !== null &&
        enough.kappa.high !== null &&
        enough.kappa.low < enough.kappa.value &&
        enough.kappa.value < enough.kappa.high,
    );
  });

  it('keeps its interval within -1 and 1', () => {
    const found = cohenKappa(
      casesOf([
        [12, 1],
        [0, 7],
      ]),
    );
    assert.equal(found.kappa?.high, 1);
    assert.ok((found.kappa.low ?? -9) >= -1, JSON.stringify(found));
  });
});
