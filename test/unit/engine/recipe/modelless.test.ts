import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findBundledTeam } from '../../../../src/engine/places.ts';
import { parseRecipeProtocol, readRecipe, type Recipe } from '../../../../src/engine/recipe/recipe.ts';
import { MODELLESS_TASKS, TEAM_SIZES } from '../../../../src/shared/runNames.ts';
import { countMostMessages, countMostScores } from '../../../../src/team/rounds.ts';
import { isInputError } from '../../tasks/expect.ts';

const FOLDER = '../../runtime';
const recipeOf = (...overrides: string[]): Promise<Recipe> => readRecipe(null, overrides, import.meta.dirname);

describe('a task that comes without a team', () => {
  it('has a protocol for each size, in which roles share one context and the last word is scored', async () => {
    for (const task of MODELLESS_TASKS) {
      for (const roles of TEAM_SIZES[task]) {
        const recipe = await recipeOf(`task={name: ${task}, roles: ${roles}}`, `model=${FOLDER}`, 'method=teamtr');
        const protocol = parseRecipeProtocol(recipe);
        assert.equal(protocol.roles.length, roles);
        assert.equal(countMostScores(protocol), 1);
        assert.ok(countMostMessages(protocol) >= roles);
        // Each sees all who spoke before it.
        for (const { position, ancestors } of protocol.occurrences) {
          assert.deepEqual(
            [...ancestors],
            Array.from({ length: position }, (_, index) => index),
          );
        }
      }
    }
  });

  it('asks for a model in one sentence, where the bundled one is meant', async () => {
    for (const task of MODELLESS_TASKS) {
      const message = new RegExp(
        `task.name: ${task} comes without a team; name the folder of a model with the key model`,
        'u',
      );
      await assert.rejects(recipeOf(`task.name=${task}`), isInputError(message));
      assert.throws(() => findBundledTeam(task), isInputError(/comes without a team/u));
    }
  });
});
