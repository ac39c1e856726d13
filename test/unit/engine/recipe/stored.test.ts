/** A recipe that is read back from a store is the one that was stored: runs are found again by it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { parseRecipe, readRecipe, serializeRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { METHOD_NAMES } from '../../../../src/training/methods/methods.ts';

const FINGERPRINT = { train: 'a', evaluation: 'b', tokenizer: 'c', template: null };
const RENDERING = { template: null, controls: [] };

test('a stored configuration is read as it was given, for every method', async () => {
  for (const overrides of [
    ...METHOD_NAMES.map((name) => [`method=${name}`]),
    ['ppo.kl_against=last'],
    ['ppo.loss_weight=token'],
    ['credit.common_random_numbers=true', 'credit.merge_contexts=false', 'credit.lone_messages=none'],
  ]) {
    const recipe = await readRecipe(null, overrides, import.meta.dirname);
    assert.deepEqual(parseRecipe(serializeRecipe(recipe, FINGERPRINT, RENDERING), 'run-1').config, recipe.config);
  }
});

test('a stored configuration without a key means what runs did before the key was there', async () => {
  const recipe = await readRecipe(null, [], import.meta.dirname);
  const {
    common_random_numbers: common,
    merge_contexts: merged,
    lone_messages: lone,
    normalise_scope: scope,
    ...credit
  } = recipe.config.credit;
  assert.deepEqual([common, merged, lone, scope], [false, true, 'parent', 'published']);
  const stored = (config: unknown): string => JSON.stringify({ ...recipe, config });
  const earlier = parseRecipe(stored({ ...recipe.config, credit }), 'run-1').config;
  const meant = {
    ...credit,
    common_random_numbers: true,
    merge_contexts: false,
    lone_messages: 'none',
    normalise_scope: 'group',
  };
  assert.deepEqual(earlier, { ...recipe.config, credit: meant });
  const { credit: gone, ...rest } = recipe.config;
  assert.ok(gone);
  assert.deepEqual(parseRecipe(stored(rest), 'run-1').config.credit, earlier.credit);
  for (const broken of [null, [], { ...recipe.config, credit: 3 }]) {
    assert.throws(() => parseRecipe(stored(broken), 'run-1'), /cannot be read/u);
  }
});

test('a stored configuration without a newer key means what it meant, and is stored without it again', async () => {
  const EARLIER = { loss_weight: 'token', skip_zero_credit: false, mini_batches: 1, kl_on: 'all' };
  const overrides = Object.entries(EARLIER).map(([key, value]) => `ppo.${key}=${String(value)}`);
  const earlier = await readRecipe(null, overrides, import.meta.dirname);
  const text = serializeRecipe(earlier, FINGERPRINT, RENDERING);
  const stored = z.object({ config: z.looseObject({ ppo: z.looseObject({}) }) }).parse(JSON.parse(text));
  assert.deepEqual(
    Object.keys(EARLIER).filter((key) => key in stored.config.ppo),
    [],
  );
  assert.deepEqual(parseRecipe(text, 'run-1').config, earlier.config);
  // A new run says what it does.
  const now = serializeRecipe(await readRecipe(null, [], import.meta.dirname), FINGERPRINT, RENDERING);
  assert.match(now, /"loss_weight":"role"/u);
  // From before an evaluator could be chosen, and before its section was there at all.
  const { evaluator, ppo, ...oldest } = stored.config;
  const read = parseRecipe(JSON.stringify({ ...earlier, config: oldest }), 'run-1').config;
  assert.deepEqual([read.evaluator, read.ppo.loss_weight, read.ppo.epochs], ['answer', 'token', 1]);
  assert.deepEqual([evaluator, Object.keys(ppo).length > 0], ['auto', true]);
});

test('a run with the earlier values is stored as such runs were', async () => {
  const recipe = await readRecipe(
    null,
    ['credit.common_random_numbers=true', 'credit.merge_contexts=false', 'credit.lone_messages=none'],
    import.meta.dirname,
  );
  const { merge_contexts: merged, lone_messages: lone, ...credit } = recipe.config.credit;
  assert.deepEqual([merged, lone], [false, 'none']);
  const text = serializeRecipe(recipe, FINGERPRINT, RENDERING);
  const { config } = z.object({ config: z.looseObject({ credit: z.unknown() }) }).parse(JSON.parse(text));
  assert.deepEqual([config.credit, 'shape' in config], [credit, false]);
});
