/** The range of returns that the intervals of a run's headline credits take, by its evaluator. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { TextPool } from '../../../../src/engine/models/texts.ts';
import { HEADLINE_RULE } from '../../../../src/engine/recipe/headlines.ts';
import { readRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { prepareRun } from '../../../../src/engine/run/prepareRun.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../media/examples');

it('is wider where rounds that were not solved may have a part of the score', async () => {
  // Up to three rounds with a discount of 0.9, until the score of one is 1.
  const recipe = await readRecipe(null, ['protocol=feedback.json', 'evaluator_budget=24'], EXAMPLES);
  const earlier = (): never => assert.fail('It begins with its model.');
  const input = { texts: new TextPool(), earlier };
  const stored = (await prepareRun(input, recipe, null, new AbortController().signal)).stored({});
  const highest = (evaluator: string): number | undefined => {
    const row = JSON.parse(stored) as { readonly config: object };
    return HEADLINE_RULE.scaleOf(JSON.stringify({ ...row, config: { ...row.config, evaluator } }))?.high;
  };
  assert.deepEqual(['math', 'zebra', 'numbers'].map(highest), [1, 1, 1]);
  const parts = 1 + 0.9 + 0.81;
  for (const evaluator of ['points', 'zebra-cells', 'python-fraction', 'command']) {
    assert.ok(Math.abs((highest(evaluator) ?? 0) - parts) < 1e-12, `${evaluator}: ${String(highest(evaluator))}`);
  }
});
