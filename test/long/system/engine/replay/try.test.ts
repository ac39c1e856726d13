/** `c3 try` on the real runtime: what an equal, a harmful and a wrong change give, and that nothing is stored. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { readRunProtocol } from '../../../../../src/engine/recipe/recipe.ts';
import { recordedFor } from '../../../../support/recordedFor.ts';
import { c3, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

const episode = z.object({
  return: z.number(),
  messages: z.array(z.object({ role: z.string(), text: z.string() })).min(1),
});
const trial = z.looseObject({
  contexts: z.int(),
  difference: z.object({ value: z.number(), low: z.number(), high: z.number(), n: z.int() }),
  better: z.int(),
  worse: z.int(),
  same: z.int(),
  masked: z.int(),
  cases: z.array(z.object({ question: z.string(), before: episode, after: episode })),
  evaluatorCalls: z.int(),
  tokens: z.object({ before: z.int(), after: z.int() }),
  sentence: z.string(),
});

const { run, folderFor } = await recordedFor('arithmetic');
const prompts = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    withStore(folder, (store) => readRunProtocol(store, run)).roles.map(({ name, prompt }) => [name, prompt] as const),
  );

async function tried(folder: string, ...args: readonly string[]): Promise<z.infer<typeof trial>> {
  const { code, stdout, stderr } = await c3(folder, ['try', '--json', ...args]);
  assert.equal(code, 0, stderr);
  return trial.parse(parseLine(stdout));
}

describe('c3 try', () => {
  it('replaces one role after another by another policy', async (t) => {
    const folder = folderFor(t);
    const { code, stdout, stderr } = await c3(folder, [
      'try',
      '--each-role',
      '--with',
      '0',
      '--budget',
      '32',
      '--json',
    ]);
    assert.equal(code, 0, stderr);
    const document = z
      .object({ run: z.string(), roles: z.array(trial.extend({ role: z.string() })), sentence: z.string() })
      .parse(parseLine(stdout));
    assert.deepEqual(document.roles.map(({ role }) => role).toSorted(), [...prompts(folder).keys()].toSorted());
    const whole = await tried(folder, '--change', 'snapshot=0', '--budget', '32');
    assert.equal(whole.contexts, document.roles[0]?.contexts);
  });
});
