/** A recipe that is read back from a store is the one that was stored: runs are found again by it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METHOD_NAMES } from '../../../../src/training/methods/methods.ts';
import { parseRecipe, readRecipe, serialiseRecipe } from '../../../../src/engine/recipe/recipe.ts';

const FINGERPRINT = { train: 'a', evaluation: 'b', tokenizer: 'c', template: null };
const RENDERING = { template: null, controls: [] };

test('a stored configuration is read as it was given, for every method', async () => {
  for (const overrides of [...METHOD_NAMES.map((name) => [`method=${name}`]), ['ppo.kl_against=last']]) {
    const recipe = await readRecipe(null, overrides, import.meta.dirname);
    assert.deepEqual(parseRecipe(serialiseRecipe(recipe, FINGERPRINT, RENDERING), 'run-1').config, recipe.config);
  }
});
