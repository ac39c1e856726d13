import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeInvariance, measureBatchInvariance } from '../../../../src/runtime/provider/batchInvariance.ts';
import { testDevice } from '../../../../src/runtime/provider/selfTest.ts';

it('the self-test passes on the CPU with one thread and with several', async () => {
  for (const threads of [1, 4]) {
    const { passed, sentence } = await testDevice({ threads });
    assert.match(sentence, /^passed: 5 completions the same in two orders, sampler and trainer within /);
    assert.ok(passed);
  }
});

it('on the CPU no row depends on the rows beside it or on its padding', async () => {
  for (const threads of [1, 2]) {
    const measured = await measureBatchInvariance({ threads });
    assert.equal(describeInvariance(measured), '12 shapes, batches 1 to 64: 0 differing elements');
    // Rows 2, 2, 5, 17 and 33 of each product, and twice the rows times heads and width of each attention.
    assert.equal(
      measured.elements,
      59 * (576 + 192 + 384 + 192 + 128 + 256 + 192 + 259 + 48 + 64 + 2 * 3 * 32 + 2 * 2 * 64),
    );
  }
});

it('the measurement finds what differs: an odd width shared among eight threads', async () => {
  const { differing } = await measureBatchInvariance({ threads: 8 }, Infinity, [[333, 151]]);
  assert.ok(differing > 0);
});

it('the measurement says how many shapes it had time for', async () =>
  assert.equal((await measureBatchInvariance({ threads: 1 }, 0)).shapes, 0));
