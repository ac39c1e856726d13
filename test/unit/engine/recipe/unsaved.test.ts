import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { readRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { inputErrorLike } from '../../store/helpers.ts';

it('a configuration that was never saved is read as it is in the editor, its paths from where it would lie', async () => {
  const file = join(import.meta.dirname, 'not-there.c3.yaml');
  const recipe = await readRecipe(file, ['steps=2'], '/', { text: 'title: Mine\nsteps: 7\n' });
  assert.deepEqual([recipe.config.title, recipe.config.steps, recipe.folder], ['Mine', 2, import.meta.dirname]);
  await assert.rejects(readRecipe(file, [], '/'), inputErrorLike(/not-there\.c3\.yaml/u));
  await assert.rejects(readRecipe(file, [], '/', { text: 'stepz: 7' }), inputErrorLike(/stepz/u));
});
