/** `c3 try` of adapters: what a run trained, exported, is equal to its own snapshot; another one is not. */

import assert from 'node:assert/strict';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { c3, errorOf, makeWorkspace, parseLine } from '../../../unit/engine/workspace.ts';

const BUDGET = ['--json', '--budget', '32'];

let folder = '';
let run = '';
before(async () => {
  folder = await makeWorkspace();
  appendFileSync(join(folder, 'tiny.c3.yaml'), 'adapter: {rank: 2}\n');
  const made = await c3(folder, ['run', 'tiny.c3.yaml', '--json', '--override', 'ppo.learning_rate=0.05']);
  assert.equal(made.code, 0, made.stderr);
  run = String(parseLine(made.stdout)['run']);
  for (const step of ['1', '2']) {
    const args = ['export', '--run', run, '--format', 'adapter', '--step', step, '--out', `step${step}`];
    const { code, stderr } = await c3(folder, args);
    assert.equal(code, 0, stderr);
  }
});
after(() => rmSync(folder, { recursive: true, force: true }));

async function tried(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const { code, stdout, stderr } = await c3(folder, ['try', ...args, ...BUDGET]);
  assert.equal(code, 0, stderr);
  return parseLine(stdout);
}

describe('c3 try with adapters', () => {
  it('makes no difference with the adapter that the run trained, for the team and for one role', async () => {
    for (const change of ['adapter=step2', 'actor.adapter=step2']) {
      const found = await tried('--change', change);
      assert.match(String(found['sentence']), /^The change made no difference in any of \d+ pairs\./u, change);
      const { before: own, after: other } = found['tokens'] as { readonly before: number; readonly after: number };
      assert.equal(other, own, change);
    }
  });

  it('is equal to the step whose adapter it is', async () => {
    const [adapter, snapshot] = [await tried('--change', 'adapter=step1'), await tried('--change', 'snapshot=1')];
    // Few messages of the tiny team are right, so its tokens show that the weights differ.
    const tokens = adapter['tokens'] as { readonly before: number; readonly after: number };
    assert.notEqual(tokens.before, tokens.after);
    for (const key of ['difference', 'better', 'worse', 'cases', 'problems', 'tokens', 'evaluatorCalls']) {
      assert.deepEqual(adapter[key], snapshot[key], key);
    }
  });

  it('is taken by --with for each role, and refused if it is none', async () => {
    const { roles } = await tried('--each-role', '--with', 'step2');
    assert.deepEqual(
      (roles as readonly { readonly difference: { readonly value: number } }[]).map(
        ({ difference }) => difference.value,
      ),
      [0, 0],
    );
    const missing = await c3(folder, ['try', '--change', 'adapter=nowhere', ...BUDGET]);
    assert.match(errorOf(missing), /nowhere/u);
  });
});
