import assert from 'node:assert/strict';
import { it } from 'node:test';
import { weightTails } from '../../../src/training/importance.ts';

const close = (a: number | undefined, b: number, within = 1e-9): void =>
  assert.ok(Math.abs((a ?? NaN) - b) <= within, `${String(a)} is not ${String(b)}`);
const tailsOf = (weights: readonly number[]) => weightTails(weights.map(Math.log)) ?? assert.fail();

it('computes how many episodes some weights are worth', () => {
  // TeamTR reference, section 5.
  close(tailsOf([0.5, 2, 1, 4]).effective, 0.661764706, 5e-10);
  assert.equal(weightTails([]), null);
  assert.deepEqual(weightTails([0, 0, 0]), { effective: 1, p95: 1, p99: 1, largest: 1, heavy: 0 });
  // The share is that of any common multiple, and one weight may have all.
  close(tailsOf([5, 20, 10, 40]).effective, 0.661764706, 5e-10);
  close(weightTails([0, -1000, -1000, -1000])?.effective, 0.25);
});

it('has percentiles in any order, and weights that no number holds stay finite', () => {
  const weights = Array.from({ length: 21 }, (_, index) => 21 - index);
  const { p95, p99, largest, heavy } = tailsOf(weights);
  close(p95, 20);
  close(p99, 20.8);
  close(largest, 21);
  close(heavy, 11 / 21);
  assert.equal(weightTails([-Infinity, -Infinity])?.effective, 1);
  const beyond = weightTails([5000, 5000, 0, 0]) ?? assert.fail();
  assert.equal(beyond.effective, 0.5);
  assert.ok(Object.values(beyond).every(Number.isFinite));
});
