import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sideBySide, type ComparedAlternative, type ComparedBucket } from '../../../src/credit/sideBySide.ts';

const MESSAGE = 1;
const said = (decision: number, returns: readonly (number | null)[], changes: Partial<ComparedAlternative> = {}): ComparedAlternative => ({ decision, text: `text ${decision}`, finish: 'end', returns, evaluatorCalls: returns.length, ...changes });
const EMPTIED = { text: ' \n', finish: 'typed' } as const;
const bucket = (id: number, ...alternatives: ComparedAlternative[]): ComparedBucket => ({ id, alternatives });
const figures = (buckets: readonly ComparedBucket[]): unknown => sideBySide(MESSAGE, buckets).map(({ name, bucket: from, credit }) => [name, from, credit === null ? null : [credit.value, credit.n, credit.evaluatorCalls]]);

test('replace, remove and full mean of one message, worked out by hand', () => {
  // Own mean 1, others 0 and 1/2 (mean 1/4 of four returns), all 1/2 of six; nothing said returned 0.
  const found = sideBySide(MESSAGE, [bucket(7, said(MESSAGE, [1, 1]), said(2, [0, 0]), said(3, [0, 1]), said(4, [0, 0], EMPTIED))]);
  assert.deepEqual(found.map(({ name, bucket: from, reason }) => [name, from, reason]), [['replace', 7, null], ['remove', 7, null], ['fullMean', 7, null]]);
  const [replace, remove, fullMean] = found.map(({ credit }) => credit);
  assert.deepEqual([replace?.value, replace?.n, replace?.evaluatorCalls], [0.75, 6, 6]);
  assert.deepEqual([remove?.value, remove?.n, remove?.evaluatorCalls], [1, 4, 4]);
  assert.deepEqual([fullMean?.value, fullMean?.n], [0.5, 6]);
  // Newcombe's interval of 2/2 against 1/4, by his formula from the two Wilson intervals.
  const wilson = (successes: number, n: number): [number, number] => {
    const [z, p] = [1.959963984540054, successes / n];
    const [centre, reach] = [(p + z ** 2 / (2 * n)) / (1 + z ** 2 / n), (z / (1 + z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + z ** 2 / (4 * n ** 2))];
    return [centre - reach, centre + reach];
  };
  const [, high] = wilson(1, 4);
  assert.ok(Math.abs((replace?.low ?? NaN) - (0.75 - Math.hypot(1 - wilson(2, 2)[0], high - 0.25))) < 1e-12);
  assert.ok(replace?.interval === 'newcombe' && remove?.interval === 'newcombe');
  // The full mean is the difference to the others times (6 - 2) / 6, and so is its bound.
  assert.ok(Math.abs((fullMean?.low ?? NaN) - ((replace.low ?? NaN) * 4) / 6) < 1e-12);
});

test('what was not measured says so, and why', () => {
  const reasons = (...buckets: ComparedBucket[]): (string | null)[] => sideBySide(MESSAGE, buckets).map(({ reason }) => reason);
  const [replace, remove, fullMean] = reasons();
  assert.match(replace ?? '', /no other message was sampled/);
  assert.match(remove ?? '', /not replayed with nothing/);
  assert.equal(fullMean, replace);
  // A lone message, one whose others were all masked, and one that was masked itself.
  assert.deepEqual(reasons(bucket(1, said(MESSAGE, [1]))), [replace, remove, fullMean]);
  assert.deepEqual(reasons(bucket(1, said(MESSAGE, [1]), said(2, [null]))), [replace, remove, fullMean]);
  assert.deepEqual(reasons(bucket(1, said(MESSAGE, [null]), said(2, [1]), said(3, [1], EMPTIED))), [replace, remove, fullMean]);
  assert.match(sideBySide(MESSAGE, [bucket(1, said(MESSAGE, [1], { text: '' }), said(2, [0], EMPTIED))])[1]?.reason ?? '', /empty already/);
});

test('buckets are never pooled: the one with the most returns speaks, of equals the newest', () => {
  const small = bucket(1, said(MESSAGE, [1]), said(2, [0]));
  const large = bucket(2, said(MESSAGE, [1, 0]), said(3, [0, 1]));
  const newer = bucket(3, said(MESSAGE, [0, 0]), said(4, [1, 1]));
  const emptied = bucket(4, said(MESSAGE, [1]), said(5, [0], EMPTIED));
  assert.deepEqual(figures([small, large, emptied]), [['replace', 2, [0, 4, 4]], ['remove', 4, [1, 2, 2]], ['fullMean', 2, [0, 4, 4]]]);
  assert.deepEqual(figures([small, large, newer]), [['replace', 3, [-1, 4, 4]], ['remove', null, null], ['fullMean', 3, [-0.5, 4, 4]]]);
});

test('what a person typed is no sample of the policy: it counts neither for nor against', () => {
  const typed = said(3, [0, 0, 0, 0], { finish: 'typed' });
  assert.deepEqual(figures([bucket(1, said(MESSAGE, [1]), said(2, [0]), typed)]), [['replace', 1, [1, 2, 2]], ['remove', null, null], ['fullMean', 1, [0.5, 2, 2]]]);
  assert.deepEqual(figures([bucket(1, said(MESSAGE, [1]), typed)]), [['replace', null, null], ['remove', null, null], ['fullMean', null, null]]);
});
