import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadData, readRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { MAX_OVERLAP_BYTES, OverlapCheck } from '../../../../src/extension/configuration/overlap.ts';
import { isInputError } from '../../tasks/expect.ts';

const ENTRY = new URL('../../../../src/extension/configuration/overlapWorker.ts', import.meta.url);
const TEXT =
  'title: Mine\ntask:\n  train_file: train.jsonl\n  evaluation_file: held.jsonl\nevaluation: {instances: 3}\n';
const rows = (...questions: readonly string[]): string =>
  questions.map((question) => `${JSON.stringify({ question, answer: '1' })}\n`).join('');

function scene(t: TestContext, train: string, held: string): { readonly folder: string; readonly check: OverlapCheck } {
  const folder = mkdtempSync(join(tmpdir(), 'c3-overlap-'));
  const check = new OverlapCheck(ENTRY);
  t.after(() => {
    check.dispose();
    rmSync(folder, { recursive: true, force: true });
  });
  writeFileSync(join(folder, 'train.jsonl'), train);
  writeFileSync(join(folder, 'held.jsonl'), held);
  return { folder, check };
}

test('a shared question is said at task.evaluation_file, in the words that a run stops with', async (t) => {
  const { folder, check } = scene(t, rows('a', 'b', 'c'), rows('x', 'B ', 'a', 'c'));
  const found = await check.of(TEXT, folder);
  assert.ok(found !== null);
  assert.equal(TEXT.slice(found.start, found.end), 'held.jsonl');
  assert.equal(found.refused, true);
  assert.match(
    found.message,
    /^2 of 3 evaluation questions are also trained on \(1 of them differing/u,
    'the fourth question is not evaluated',
  );
  writeFileSync(join(folder, 'mine.c3.yaml'), TEXT);
  const words = found.message.replaceAll(/[.*+?^${}()|[\]\\]/gu, '\\$&');
  await assert.rejects(
    readRecipe('mine.c3.yaml', [], folder).then(loadData),
    isInputError(new RegExp(`${words}$`, 'u')),
  );
  const allowed = await check.of(TEXT.replace('  train_file', '  refuse_overlap: false\n  train_file'), folder);
  assert.deepEqual([allowed?.refused, allowed?.message.includes('remove them')], [false, false]);
});

test('a change of a file is noticed, and nothing is said where nothing is shared or evaluated', async (t) => {
  const { folder, check } = scene(t, rows('a'), rows('a'));
  assert.ok((await check.of(TEXT, folder)) !== null);
  writeFileSync(join(folder, 'held.jsonl'), rows('another question'));
  assert.equal(await check.of(TEXT, folder), null);
  writeFileSync(join(folder, 'train.jsonl'), rows('another question'));
  assert.ok((await check.of(TEXT, folder)) !== null);
  for (const text of [
    TEXT.replace('instances: 3', 'instances: 0'),
    TEXT.replace('title', 'titel'),
    TEXT.replace('held', 'away'),
    'steps: 1\n',
  ]) {
    assert.equal(await check.of(text, folder), null, text);
  }
  writeFileSync(join(folder, 'train.jsonl'), 'no rows at all\n');
  assert.equal(await check.of(TEXT, folder), null, 'rows that cannot be read are for the run to name');
});

test('files beyond the bound are left to the run', async (t) => {
  const { folder, check } = scene(t, rows('a'), rows('a'));
  writeFileSync(
    join(folder, 'held.jsonl'),
    rows('a') + `#${'x'.repeat(1000)}\n`.repeat(Math.ceil(MAX_OVERLAP_BYTES / 1002)),
  );
  assert.equal(await check.of(TEXT, folder), null);
});

test('a check that is overtaken gives way, and the thread that reads ends', async (t) => {
  const many = Array.from({ length: 60_000 }, (_, index) => `What is ${index} and ${index}?`);
  const { folder, check } = scene(t, rows(...many), rows('What is 7 and 7?'));
  const first = check.of(TEXT, folder);
  // The thread of the first reads while the second is asked.
  const second = check.of(TEXT.replace('instances: 3', 'instances: 2'), folder);
  await first;
  assert.match((await second)?.message ?? '', /^1 of 1 /u);
});
