/** What the classes of the taxonomy count by chance, on buckets whose messages differ and on some whose do not. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import {
  classifyStudy,
  studyBucket,
  type BucketStudy,
  type TaxonomyBucket,
} from '../../../src/diagnostics/taxonomy.ts';
import { countByChance, dealReturns } from '../../../src/diagnostics/taxonomyChance.ts';
import { CHANCE_ROUNDS, TAXONOMY_THRESHOLDS, type VerdictName } from '../../../src/domain/taxonomy.ts';

const BUCKETS = 150;

/** Studies of buckets of alternatives with these chances of success. */
function studies(seed: number, chances: readonly number[], replays: number, buckets = BUCKETS): BucketStudy[] {
  return Array.from({ length: buckets }, (_, id) => {
    const stream = openStream(seed, id);
    let drawn = 0;
    const bucket: TaxonomyBucket = {
      id: 1000 * seed + id,
      message: null,
      role: 'reasoner',
      question: '',
      terminal: false,
      fullReturn: 1,
      alternatives: chances.map((chance, message) => ({
        message,
        original: false,
        returns: Array.from({ length: replays }, () => (uniform(stream, drawn++) < chance ? 1 : 0)),
        evaluatorCalls: replays,
      })),
    };
    return studyBucket(bucket);
  });
}

const countOf = (of: readonly BucketStudy[], name: VerdictName): number =>
  of.filter((study) => classifyStudy(study).name === name).length;
const equal = (alternatives: number): number[] => Array.from({ length: alternatives }, () => 0.5);

test('where messages do not differ, each class counts what chance gives', (t) => {
  for (const [alternatives, seed] of [
    [2, 1],
    [4, 2],
    [8, 3],
  ] as const) {
    const of = studies(seed, equal(alternatives), 4);
    const chance = countByChance(of.map(dealReturns), TAXONOMY_THRESHOLDS);
    for (const name of ['Successful Credit Shift', 'Misleading Plan', 'Over-Coupling'] as const) {
      const count = countOf(of, name);
      const { value, low, high } = chance[name];
      t.diagnostic(`${alternatives} x 4, ${name}: ${count}, by chance ${value.toFixed(1)}`);
      // A little further than the range, outside of which one count in 20 is.
      const further = (high ?? 0) - (low ?? 0);
      assert.ok(count >= (low ?? 0) - further / 2 && count <= (high ?? 0) + further / 2, `${name}: ${count}`);
    }
  }
});

test('where another message is better, the shift counts more than by chance', () => {
  const of = studies(4, [0.2, 0.9, 0.2, 0.2], 8);
  const chance = countByChance(of.map(dealReturns), TAXONOMY_THRESHOLDS)['Successful Credit Shift'];
  assert.ok(countOf(of, 'Successful Credit Shift') > 1.3 * (chance.high ?? Infinity), JSON.stringify(chance));
});

test('the best of several is not taken for better than it is', () => {
  // By the mean of all replays, the best of eight equal messages exceeds the real one by more than 0.2 nearly always.
  const of = studies(5, equal(8), 4);
  const byMaximum = of.filter(({ measured }) => {
    const real = measured.find((one) => one.real)?.mean ?? 0;
    return Math.max(...measured.map(({ mean }) => mean)) - real > 0.2;
  }).length;
  const shifts = of.map(({ compared }) => compared?.shift?.value ?? 0);
  assert.ok(byMaximum > 0.7 * BUCKETS, String(byMaximum));
  assert.ok(countOf(of, 'Successful Credit Shift') < 0.45 * BUCKETS);
  const average = shifts.reduce((sum, value) => sum + value, 0) / shifts.length;
  assert.ok(Math.abs(average) < 0.1, String(average));
});

test('the same buckets give the same, in any order, and equal returns are not dealt', () => {
  const of = studies(6, [0.3, 0.7], 4, 30);
  const forward = countByChance(of.map(dealReturns), TAXONOMY_THRESHOLDS);
  assert.deepEqual(countByChance(of.toReversed().map(dealReturns), TAXONOMY_THRESHOLDS), forward);
  assert.equal(forward['Successful Credit Shift'].n, CHANCE_ROUNDS);
  const total = Object.values(forward).reduce((sum, { value }) => sum + value, 0);
  assert.ok(Math.abs(total - 30) < 1e-9);
  const certain = studies(7, [0, 0], 4, 3).map(dealReturns);
  assert.deepEqual(
    certain.map((deals) => deals.length),
    [1, 1, 1],
  );
  assert.deepEqual(countByChance(certain, TAXONOMY_THRESHOLDS)['Misleading Plan'], {
    value: 3,
    low: 3,
    high: 3,
    n: 39,
  });
});
