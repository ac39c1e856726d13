import assert from 'node:assert/strict';
import { it } from 'node:test';
import { grader, tests } from '../../../../unit/evaluate/python/support.ts';

it('verdicts come in any number at a time, each to its own question', async () => {
  const one = grader();
  try {
    const verdicts = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        one.grade(
          `def f(x):\n    return ${index}`,
          tests({ tests: [`assert f(0) == ${index % 3 === 0 ? index + 1 : index}`] }),
        ),
      ),
    );
    assert.deepEqual(
      verdicts.map(({ score }) => score),
      Array.from({ length: 12 }, (_, index) => (index % 3 === 0 ? 0 : 1)),
    );
  } finally {
    one.close();
  }
});
