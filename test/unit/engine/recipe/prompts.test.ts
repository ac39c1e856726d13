/** The key `prompts`: the team of a run has its prompts, now and as the store keeps the run. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseRecipe, parseRecipeProtocol, readRecipe, serializeRecipe } from '../../../../src/engine/recipe/recipe.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-prompts-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const FINGERPRINT = { train: '', evaluation: '', tokenizer: '', template: null };
const PLAIN = { template: null, controls: [] };
const readText = (text: string) => {
  writeFileSync(join(folder, 'run.c3.yaml'), text);
  return readRecipe('run.c3.yaml', [], folder);
};

describe('prompts of a configuration', () => {
  it('are those of the team, also as it is read back from a store', async () => {
    const usual = parseRecipeProtocol(await readText('steps: 1\n'));
    const recipe = await readText('prompts: {reasoner: "Think first."}\n');
    const stored = parseRecipe(serializeRecipe(recipe, FINGERPRINT, PLAIN), 'run');
    for (const protocol of [parseRecipeProtocol(recipe), parseRecipeProtocol(stored)]) {
      assert.deepEqual(
        protocol.roles.map(({ prompt }) => prompt),
        ['Think first.', usual.roles[1]?.prompt],
      );
    }
  });

  it('are no part of what is stored where there are none', async () => {
    const recipe = await readText('prompts: {}\n');
    assert.ok(!serializeRecipe(recipe, FINGERPRINT, PLAIN).includes('"prompts"'));
  });

  it('are refused at their line', async () => {
    await assert.rejects(readText('steps: 1\nprompts: {resoner: x}\n'), /line 2: prompts\.resoner: .* 'reasoner'/u);
    await assert.rejects(readText('prompts:\n  actor: Be {nice}.\n'), /line 2: prompts\.actor: .*\{nice\}/u);
    await assert.rejects(readText('prompts: {actor: " "}\n'), /prompts\.actor: is blank; write what/u);
  });
});
