import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { describeChange, computeFingerprint } from '../../../../src/engine/recipe/fingerprint.ts';
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
    [train.map((problem) => problem.answer), evaluation.map((problem) => problem.question)],
    [['0', '1', '2'], ['d']],
  );
  assert.match(
    remarks.join('\n'),
    /train\.jsonl: 3 problems, read as gsm8k\.\n.*held\.jsonl: 1 problems, read as gsm8k\.\nSplit: 3 training problems \([0-9a-f]{16}\), 1 evaluation problems \([0-9a-f]{16}\)\.\n0 of 1 evaluation questions are also trained on\.$/u,
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
  assert.ok([...loaded.train, ...loaded.evaluation].every((problem) => (problem.tests?.tests.length ?? 0) >= 4));
  const rendering = { template: null, controls: [] };
  const before = await computeFingerprint(recipe, loaded, rendering);
  const stored = { ...recipe, fingerprint: before, rendering };
  const [first, ...rest] = loaded.train;
  assert.ok(first?.tests);
  const changed = { ...loaded, train: [{ ...first, tests: { ...first.tests, setup: 'import math' } }, ...rest] };
  assert.match(
    (await describeChange(stored, await computeFingerprint(recipe, changed, rendering))) ?? '',
    /training problems that are generated have changed/u,
  );
  assert.equal(await describeChange(stored, await computeFingerprint(recipe, await loadData(recipe), rendering)), null);
});

const TEN = 'a b c d e f g h i j'.split(' ');

test('slices of a file are its questions by their places', async () => {
  await writeFile(join(folder, 'ten.jsonl'), rows(...TEN));
  const sides = async (...overrides: string[]): Promise<string[]> => {
    const { train, evaluation } = await data('task.train_file=ten.jsonl', 'instances_per_step=1', ...overrides);
    return [train, evaluation].map((side) => side.map(({ question }) => question).join(''));
  };
  const [TRAIN, HELD] = ['task.train_split=', 'task.evaluation_split='];
  assert.deepEqual(await sides(`${TRAIN}test[4:]`, `${HELD}test[:4]`), ['efghij', 'abcd']);
  assert.deepEqual(await sides(`${TRAIN}train[3:7]`, `${HELD}test[-2:]`), ['defg', 'ij']);
  assert.deepEqual(await sides(`${TRAIN}train[:-2]`, `${HELD}train[8:99]`, 'evaluation.instances=1'), [
    'abcdefgh',
    'i',
  ]);
  // What is evaluated is not trained on, also where fewer are evaluated than the slice holds.
  assert.deepEqual(await sides(`${HELD}test[2:5]`, 'evaluation.instances=2'), ['abfghij', 'cd']);
  assert.deepEqual(await sides(`${HELD}test[2:5]`, 'evaluation.instances=0'), ['abfghij', '']);
  // Without a slice of its own, evaluation is held out of what is trained on.
  assert.deepEqual(await sides(`${TRAIN}test[2:]`), ['efghij', 'cd']);
  await writeFile(join(folder, 'others.jsonl'), rows('k', 'l', 'm', 'n', 'o'));
  assert.deepEqual(await sides(`${TRAIN}x[:1]`, 'task.evaluation_file=others.jsonl', `${HELD}test[1:3]`), ['a', 'lm']);
});

test('slices that cannot be are refused in one sentence', async () => {
  await writeFile(join(folder, 'ten.jsonl'), rows(...TEN));
  const refused = (words: RegExp, ...overrides: string[]): Promise<void> =>
    assert.rejects(data('task.train_file=ten.jsonl', ...overrides), isInputError(words));
  await refused(/^task\.train_split: test\[10:\] holds none of the 10 questions/u, 'task.train_split=test[10:]');
  await refused(/^task\.evaluation_split: test\[5:2\] holds none/u, 'task.evaluation_split=test[5:2]');
  await refused(/^task\.evaluation_split: test leaves none of the 10 .* to train on/u, 'task.evaluation_split=test');
  await refused(/task\.train_split: is no slice; write it as/u, 'task.train_split=test[1:2:3]');
  await refused(/task\.train_split: is no slice/u, 'task.train_split=test[12345678901:]');
  await refused(
    /^3 of 5 evaluation questions are also trained on/u,
    'task.train_split=a[2:]',
    'task.evaluation_split=a[:5]',
  );
  await refused(/task\.train_split: names questions by their places/u, 'task.train_split=a[2:]', 'task.split={}');
  await assert.rejects(data('task.train_split=a[2:]'), isInputError(/task\.train_split: needs task\.train_file/u));
});

test('a file of the published scripts is run on its own problems, by its slices', async () => {
  const fault = (name: string): string =>
    `${JSON.stringify({ task_id: name, prompt: `def ${name}(a):\n    """${name}"""\n`, test: `def check(candidate):\n    assert candidate(1) == 1\n`, entry_point: name })}\n`;
  await writeFile(
    join(folder, 'mine.jsonl'),
    TEN.slice(0, 6)
      .map((one) => fault(`f${one}`))
      .join(''),
  );
  const read = async (dataset: string): Promise<unknown[]> => {
    const text = `model: {name: x/y}\ndataset: ${dataset}\nmagrpo: {num_turns: 2, num_train_epochs: 1}\n`;
    await writeFile(join(folder, 'magrpo_mine_config.yaml'), text);
    const recipe = await readRecipe('magrpo_mine_config.yaml', [], folder);
    const { train, evaluation } = await loadData(recipe);
    return [recipe.config.steps, ...[train, evaluation].map((side) => side.map(({ uid }) => uid).join(' '))];
  };
  assert.deepEqual(await read('{name: mine.jsonl, train_split: "test[2:]", eval_split: "test[:2]"}'), [
    4,
    'fc fd fe ff',
    'fa fb',
  ]);
  assert.deepEqual(await read('{name: mine.jsonl, train_split: "test[:3]"}'), [3, 'fa fb fc', '']);
  assert.deepEqual(await read('{name: mine.jsonl}'), [6, 'fa fb fc fd fe ff', '']);
});
