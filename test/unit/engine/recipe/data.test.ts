import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { changeSince, fingerprintOf } from '../../../../src/engine/recipe/fingerprint.ts';
import { loadData, readRecipe, type RunData } from '../../../../src/engine/recipe/recipe.ts';
import { isInputError } from '../../tasks/expect.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-data-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const rows = (...questions: string[]): string =>
  questions.map((question, index) => `${JSON.stringify({ question, answer: `#### ${index}` })}\n`).join('');

async function data(...overrides: string[]): Promise<RunData> {
  return loadData(await readRecipe(null, overrides, folder));
}

const FILES = [
  'task.train_file=train.jsonl',
  'task.evaluation_file=held.jsonl',
  'evaluation.instances=10',
  'instances_per_step=1',
];

test('files are read in their form, and the user hears of form, sizes and fingerprints', async () => {
  await writeFile(join(folder, 'train.jsonl'), rows('a', 'b', 'c'));
  await writeFile(join(folder, 'held.jsonl'), rows('d'));
  const { train, evaluation, remarks } = await data(...FILES);
  assert.deepEqual(
    [train.map((instance) => instance.answer), evaluation.map((instance) => instance.question)],
    [['0', '1', '2'], ['d']],
  );
  assert.match(
    remarks.join('\n'),
    /train\.jsonl: 3 instances, read as gsm8k\.\n.*held\.jsonl: 1 instances, read as gsm8k\.\nSplit: 3 training instances \([0-9a-f]{16}\), 1 evaluation instances \([0-9a-f]{16}\)\.\n0 of 1 evaluation questions are also trained on\.$/u,
  );
  await assert.rejects(data(...FILES, 'task.format=math'), isInputError(/train\.jsonl:1: "solution" is missing/u));
});

test('a shared question stops a run, but for an override, which is reported', async () => {
  await writeFile(join(folder, 'train.jsonl'), rows('a', 'b', 'c'));
  await writeFile(join(folder, 'held.jsonl'), rows('d', 'B', 'c'));
  await assert.rejects(
    data(...FILES),
    isInputError(
      /^2 of 3 evaluation questions are also trained on \(1 of them .*\), first "held\.jsonl:3" \(training's "train\.jsonl:3"\).*task\.refuse_overlap/u,
    ),
  );
  const { evaluation, remarks } = await data(...FILES, 'task.refuse_overlap=false');
  assert.equal(evaluation.length, 3);
  assert.ok(
    remarks.some((remark) =>
      remark.startsWith('1 of 3 evaluation questions are also trained on, first "held.jsonl:3"'),
    ),
  );
});

test('the bundled Python task brings tests; a resume notices when tests have changed', async () => {
  const recipe = await readRecipe(
    null,
    ['task.name=python', 'steps=2', 'instances_per_step=3', 'evaluation.instances=4'],
    folder,
  );
  const loaded = await loadData(recipe);
  assert.deepEqual([loaded.train.length, loaded.evaluation.length], [6, 4]);
  assert.ok([...loaded.train, ...loaded.evaluation].every((instance) => (instance.tests?.tests.length ?? 0) >= 4));
  const rendering = { template: null, controls: [] };
  const before = await fingerprintOf(recipe, loaded, rendering);
  const stored = { ...recipe, fingerprint: before, rendering };
  const [first, ...rest] = loaded.train;
  assert.ok(first?.tests);
  const changed = { ...loaded, train: [{ ...first, tests: { ...first.tests, setup: 'import math' } }, ...rest] };
  assert.match(
    (await changeSince(stored, await fingerprintOf(recipe, changed, rendering))) ?? '',
    /training instances that are generated have changed/u,
  );
  assert.equal(await changeSince(stored, await fingerprintOf(recipe, await loadData(recipe), rendering)), null);
});
