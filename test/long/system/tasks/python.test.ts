import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PythonGrader } from '../../../../src/evaluate/python/grader.ts';
import { sandboxPlaces } from '../../../support/programs.ts';
import { sample } from '../../../unit/tasks/pythonSample.ts';

test('in the sandbox every solution passes its tests, and neither the hasty one nor one with a number or a word changed does', async (t) => {
  const grader = new PythonGrader({ places: sandboxPlaces() });
  t.after(() => grader.close());
  const changes: readonly [RegExp, (found: string) => string][] = [
    [/\d+/u, (digits) => String(Number(digits) + 1)],
    [/ \+ /u, () => ' - '],
    [/\bmax\(/u, () => 'min('],
    [/\[::/u, () => '[1::'],
    [/\[(.*):/u, () => '[99:'],
    [/abs/u, () => ''],
    [/\bsum\b/u, () => 'len'],
    [/\blen\b/u, () => 'sum'],
  ];
  for (const { solution, hasty, tests, question } of sample('sandbox', 60)) {
    assert.equal((await grader.grade(solution, tests)).rule, 'passed', solution);
    assert.equal((await grader.grade(hasty.solution, tests)).score, 0, `${question}\n${hasty.solution}`);
    const [head = '', ...body] = solution.split('\n');
    const lines = body.join('\n');
    const [pattern, change] = changes.find(([known]) => known.test(lines)) ?? [/return h/u, () => 'return 0 * h'];
    const changed = `${head}\n${lines.replace(pattern, change)}`;
    assert.equal((await grader.grade(changed, tests)).score, 0, changed);
  }
});
