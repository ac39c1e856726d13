/** The preparation of a run: it reads and checks, and changes nothing. */

import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { TextPool } from '../../../../src/engine/models/texts.ts';
import { parseRecipe, readRecipe } from '../../../../src/engine/recipe/recipe.ts';
import type { RunSources } from '../../../../src/engine/run/prepareRoles.ts';
import { prepareRun, type PreparedRun } from '../../../../src/engine/run/prepareRun.ts';
import { makeWorkspace } from '../workspace.ts';

const never = new AbortController().signal;
const sources = (): RunSources => ({
  texts: new TextPool(),
  earlier: () => assert.fail('No role has a snapshot of an earlier run.'),
});

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const prepare = async (overrides: readonly string[]): Promise<PreparedRun> =>
  prepareRun(sources(), await readRecipe(null, overrides, workspace), null, never);

describe('the preparation of a run', () => {
  it('gives the same twice and writes no file', async () => {
    const files = readdirSync(workspace, { recursive: true });
    const [first, second] = [await prepare(['steps=2']), await prepare(['steps=2'])];
    assert.equal(first.stored({}), second.stored({}));
    assert.deepEqual(first.data, second.data);
    assert.match(first.remarks.at(-1) ?? '', /^Memory: about /u);
    assert.equal(first.interrupted, null);
    assert.deepEqual(readdirSync(workspace, { recursive: true }), files);
  });

  it('refuses to resume a run whose questions have changed', async () => {
    const { stored, recipe } = await prepare(['steps=2']);
    const interrupted = { id: 'before', recipe: parseRecipe(stored({}), 'before') };
    assert.equal((await prepareRun(sources(), recipe, interrupted, never)).interrupted, interrupted);
    const other = await readRecipe(null, ['steps=2', 'evaluation.instances=7'], workspace);
    await assert.rejects(prepareRun(sources(), other, interrupted, never), /^C3Error: Run before cannot be resumed: /u);
  });
});
