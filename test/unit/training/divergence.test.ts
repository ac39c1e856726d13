import assert from 'node:assert/strict';
import { it } from 'node:test';
import { measureDivergence } from '../../../src/training/divergence.ts';

const close = (a: number, b: number, within = 1e-7): void => assert.ok(Math.abs(a - b) < within, `${a} is not ${b}`);

it('is the mean over messages of the sum over tokens', () => {
  // The check vector of the TeamTR reference, section 5.
  const found = measureDivergence([
    { before: Float32Array.of(-1, -0.5), after: Float32Array.of(-1.1, -0.45), advantage: 2 },
    { before: Float32Array.of(-0.2, -0.3, -0.4), after: Float32Array.of(-0.25, -0.35, -0.3), advantage: -1 },
  ]);
  assert.equal(found.messages, 2);
  close(found.k1, 0.025);
  close(found.k3, 0.00686914);
  // The ratios of the messages are exp(-0.05) and 1.
  close(found.gain, Math.exp(-0.05) - 1);
});

it('is 0 where nothing moved, and without a message; k1 has a sign and k3 none', () => {
  const same = Float32Array.of(-1, -2);
  assert.deepEqual(measureDivergence([{ before: same, after: same, advantage: 3 }]), {
    messages: 1,
    k1: 0,
    k3: 0,
    gain: 0,
  });
  assert.deepEqual(measureDivergence([]), { messages: 0, k1: 0, k3: 0, gain: 0 });
  const likelier = measureDivergence([{ before: same, after: Float32Array.of(-0.5, -2), advantage: 1 }]);
  close(likelier.k1, -0.5);
  close(likelier.k3, Math.exp(0.5) - 1.5);
});
