/** `c3 try` on the real runtime: what an equal, a harmful and a wrong change give, and that nothing is stored. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { readRunProtocol } from '../../../../src/engine/recipe/recipe.ts';
import { recordedFor } from '../../../support/recordedFor.ts';
import { c3, errorOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';

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
  problems: z.array(z.object({ question: z.string(), pairs: z.int().min(1), before: z.number(), after: z.number() })),
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
  it('finds exactly no difference in an equal change, and stores nothing', async (t) => {
    const folder = folderFor(t);
    const counts = withStore(folder, (store) => store.counts());
    const [role, prompt] = [...prompts(folder)][0] ?? assert.fail();
    writeFileSync(join(folder, 'same.txt'), prompt);
    const found = await tried(
      folder,
      '--change',
      `${role}.prompt=same.txt`,
      '--change',
      'snapshot=last',
      '--budget',
      '64',
    );
    assert.deepEqual([found.difference.value, found.better, found.worse], [0, 0, 0]);
    assert.equal(found.difference.n, found.same);
    assert.equal(found.tokens.before, found.tokens.after);
    assert.ok(found.evaluatorCalls <= 64 && found.same >= 16);
    assert.match(found.sentence, /^The change made no difference in any of \d+ pairs\. \d+ calls\.$/u);
    assert.deepEqual(
      withStore(folder, (store) => store.counts()),
      counts,
    );
  });

  it('shows harm with its cases, ends as soon as it is known, and says the same again', async (t) => {
    const folder = folderFor(t);
    // An answer needs more than one token, whatever the problem.
    const args = ['--change', 'max_new_tokens=1', '--budget', '600'];
    const found = await tried(folder, ...args);
    assert.ok(found.difference.high < 0 && found.evaluatorCalls < 600, found.sentence);
    assert.match(
      found.sentence,
      /^The change harms: −\d+ points \[−\d+, −\d+\], better in 0 and worse in \d+ of \d+ pairs\./u,
    );
    assert.equal(found.better + found.worse + found.same, found.difference.n);
    assert.ok(found.cases.length > 0 && found.cases.length <= 20);
    for (const { before: first, after: second } of found.cases) {
      assert.ok(second.return < first.return);
      assert.deepEqual(
        first.messages.map(({ role }) => role),
        [...prompts(folder).keys()],
      );
    }
    assert.ok(found.problems.length <= found.contexts);
    const sum = (value: (one: (typeof found.problems)[number]) => number): number =>
      found.problems.reduce((all, one) => all + value(one), 0);
    assert.equal(
      sum(({ pairs }) => pairs),
      found.difference.n,
    );
    const weighted = sum(({ pairs, before: first, after: second }) => pairs * (second - first));
    assert.ok(Math.abs(weighted / found.difference.n - found.difference.value) < 1e-9);
    const again = await tried(folder, ...args);
    assert.deepEqual({ ...again, seconds: 0 }, { ...found, seconds: 0 });
  });

  it('refuses what cannot be changed, in one sentence', async (t) => {
    const folder = folderFor(t);
    const [role] = [...prompts(folder).keys()];
    writeFileSync(join(folder, 'bad.txt'), 'Solve {question} as {nobody} would.');
    writeFileSync(join(folder, 'blank.txt'), ' \n');
    for (const [args, words] of [
      [[], /needs either --change KEY=VALUE, or --each-role/u],
      [['--change', 'colour=red'], /"colour=red" names nothing that can be changed/u],
      [['--change', 'temperature=hot'], /needs a number from 0 to 10, not "hot"/u],
      [['--change', 'top_k=1.5'], /needs a whole number/u],
      [['--change', 'top_k= '], /needs a whole number/u],
      [['--change', 'nobody.prompt=bad.txt'], /has no role 'nobody'/u],
      [['--change', `${String(role)}.prompt=bad.txt`], /has \{nobody\}, for which nothing is put in/u],
      [['--change', `${String(role)}.prompt=blank.txt`], /is blank/u],
      [['--change', `${String(role)}.prompt=none.txt`], /Cannot read/u],
      [['--change', 'snapshot=99'], /snapshot 99 is not one of them/u],
      [['--change', 'temperature=1', '--budget', '1'], /--budget needs a whole number of at least 2/u],
      [['--change', 'temperature=1', '--run', 'none'], /none/u],
      [['--each-role', '--with', '0', '--change', 'temperature=1'], /needs either/u],
    ] as const) {
      const failed = await c3(folder, ['try', ...args]);
      assert.notEqual(failed.code, 0, args.join(' '));
      assert.match(errorOf(failed), words);
      assert.equal(failed.stderr.trimEnd().split('\n').length, 1, failed.stderr);
    }
  });
});
