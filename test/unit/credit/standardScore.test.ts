import assert from 'node:assert/strict';
import { it } from 'node:test';
import { standardScore } from '../../../src/credit/standardScore.ts';

const close = (a: number, b: number): void => assert.ok(Math.abs(a - b) < 5e-7, `${a} is not ${b}`);

it('holds the vectors of the TeamTR reference, section 5', () => {
  const returns = [1, 0, 0, 1, 0, 0, 0, 0];
  const free = standardScore(returns, { scale: 'variance', epsilon: 1e-6, clip: null });
  close(free(1), 1.732046);
  close(free(0), -0.577349);
  const cut = standardScore(returns, { scale: 'variance', epsilon: 1e-6, clip: 1.5 });
  assert.equal(cut(1), 1.5);
  close(cut(0), -0.577349);
  // The appendix adds epsilon to the deviation; without a scale the distance from the mean is clipped as it is.
  const appendix = standardScore(returns, { scale: 'deviation', epsilon: 1e-6, clip: null });
  close(appendix(1), 1.732047);
  close(appendix(0) * Math.sqrt(3 / 16), (-1 / 4) * (1 - 1e-6 / (Math.sqrt(3 / 16) + 1e-6)));
  const plain = standardScore(returns, { scale: 'none', epsilon: 1e-6, clip: 0.5 });
  assert.deepEqual([plain(1), plain(0)], [0.5, -0.25]);
});

it('is 0 where all returns are equal, and the same for returns that are shifted together', () => {
  const equal = standardScore([1, 1, 1], { scale: 'variance', epsilon: 1e-6, clip: 3 });
  assert.equal(equal(1), 0);
  const [one, other] = [0, 7].map((shift) =>
    standardScore([shift, shift + 1], { scale: 'variance', epsilon: 1e-6, clip: 3 }),
  );
  close(one?.(1) ?? NaN, other?.(8) ?? 0);
});
