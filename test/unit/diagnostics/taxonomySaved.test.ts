/** What classes explain, of buckets whose every chance is known. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import { measureSavedShares, type SavedBucket } from '../../../src/diagnostics/taxonomySaved.ts';
import { TAXONOMY_THRESHOLDS } from '../../../src/domain/taxonomy.ts';

/** A bucket whose real message wins with one chance and three others with another one, by eight replays of each. */
function bucketOf(id: number, real: number, others: number, terminal = false): SavedBucket {
  const stream = openStream(id, 7);
  return {
    id,
    message: null,
    role: 'plan',
    question: '',
    problem: String(id),
    terminal,
    fullReturn: 1,
    alternatives: [real, others, others, others].map((chance, index) => ({
      message: 10 * id + index,
      original: index === 0,
      returns: Array.from({ length: terminal ? 1 : 8 }, (_, replay) =>
        uniform(stream, 10 * index + replay) < chance ? 1 : 0,
      ),
      evaluatorCalls: 1,
    })),
  };
}
const many = (count: number, of: (id: number) => SavedBucket): SavedBucket[] =>
  Array.from({ length: count }, (_, id) => of(id + 1));

describe('what a class saves', () => {
  it('is nearly all where real messages of one class lose what others would win', () => {
    for (const terminal of [false, true]) {
      const buckets = many(120, (id) =>
        id % 3 === 0 ? bucketOf(id, 0, 0.9, terminal) : bucketOf(id, 0.1, 0.1, terminal),
      );
      const shift = measureSavedShares(buckets, TAXONOMY_THRESHOLDS).get('Successful Credit Shift') ?? assert.fail();
      assert.ok(shift.share.value > 0.85 && (shift.share.low ?? 0) > 0.7, JSON.stringify(shift));
      assert.ok(shift.random < 0.55, JSON.stringify(shift));
    }
  });

  it('adds up to at most all, and is little for a class that flags what nothing would change', () => {
    const buckets = many(120, (id) => (id % 2 === 0 ? bucketOf(id, 0.1, 0.7) : bucketOf(id, 0, 0)));
    const saved = measureSavedShares(buckets, TAXONOMY_THRESHOLDS);
    const sum = [...saved.values()].reduce((total, { share }) => total + share.value, 0);
    assert.ok(sum <= 1 + 1e-9, String(sum));
    const misleading = saved.get('Misleading Plan') ?? assert.fail();
    assert.ok(Math.abs(misleading.share.value) < 0.05 && misleading.random > 0.4, JSON.stringify(misleading));
  });

  it('is not measured where messages make no difference, however many cases a class has', () => {
    const alike = many(200, (id) => bucketOf(id, 0.4, 0.4));
    for (const [name, { share }] of measureSavedShares(alike, TAXONOMY_THRESHOLDS)) {
      assert.ok(
        (share.low ?? 0) <= 1 && (share.high ?? 1) - (share.low ?? 0) > 0.2,
        `${name} ${JSON.stringify(share)}`,
      );
    }
    assert.equal(measureSavedShares([], TAXONOMY_THRESHOLDS).size, 0);
    assert.equal(measureSavedShares([bucketOf(1, 1, 1)], TAXONOMY_THRESHOLDS).size, 0);
  });
});
