import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contains } from '../../../../src/shared/text/contains.ts';

describe('a text within another', () => {
  it('is found where it is, short or long', () => {
    for (const unit of ['ab', 'aab'.repeat(50), `${'a'.repeat(100)}b`]) {
      assert.deepEqual(
        [`x${unit}`, `${unit}x`, `${unit.slice(0, -1)}${unit}`, unit, unit.slice(1), ''].map((text) =>
          contains(text, unit),
        ),
        [true, true, true, true, false, false],
      );
    }
    assert.equal(contains('text', ''), true);
  });

  it('is looked for in linear time', { timeout: 10_000 }, () => {
    const half = 'a'.repeat(500_000);
    assert.equal(contains(half.repeat(4), `${half}b${half}`), false);
    assert.equal(contains(half.repeat(4), half), true);
  });
});
