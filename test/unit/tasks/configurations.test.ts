import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadData, parseRecipeProtocol, readRecipe } from '../../../src/engine/recipe/recipe.ts';

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'media', 'configurations');

/** Constants of the paper: section 5.1, Appendices A and D; the sizes are those of the data sets. */
const BENCHMARKS: Readonly<
  Record<string, { readonly model: string; readonly evaluated: number; readonly trained: number }>
> = {
  'math500.c3.yaml': { model: 'Qwen2.5-3B-Instruct', evaluated: 500, trained: 8096 },
  'cmath.c3.yaml': { model: 'Qwen2.5-3B-Instruct', evaluated: 1098, trained: 8096 },
  'gsm8k.c3.yaml': { model: 'Qwen2.5-3B-Instruct', evaluated: 1319, trained: 8096 },
  'mbpp.c3.yaml': { model: 'Qwen2.5-Coder-3B-Instruct', evaluated: 500, trained: 374 },
  'mbppplus.c3.yaml': { model: 'Qwen2.5-Coder-3B-Instruct', evaluated: 378, trained: 374 },
};

test('there is one ready configuration for each of the five benchmarks, with the constants of the paper', async () => {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.c3.yaml')).sort();
  assert.deepEqual(files, Object.keys(BENCHMARKS).sort());
  for (const [file, { model, evaluated, trained }] of Object.entries(BENCHMARKS)) {
    const recipe = await readRecipe(join(FOLDER, file), [], '/', { complete: false });
    const { config } = recipe;
    assert.equal(recipe.modelFolder, join(FOLDER, 'models', model));
    assert.deepEqual(config.sampling, { temperature: 0.7, top_p: 0.8, top_k: 20, max_new_tokens: 512 });
    assert.deepEqual(
      [
        config.fanout,
        config.evaluator_budget,
        config.credit.estimator,
        config.credit.group_normalise,
        config.credit.return_clip,
      ],
      [[2, 4], 8, 'loo', false, 10],
    );
    assert.deepEqual(
      [
        config.ppo.learning_rate,
        config.ppo.warmup_fraction,
        config.ppo.final_fraction,
        config.ppo.epochs,
        config.ppo.kl_coefficient,
        config.ppo.kl_estimator,
      ],
      [1e-6, 0.03, 0.1, 1, 0.01, 'k1'],
    );
    assert.equal(config.evaluation.instances, evaluated);
    assert.equal(config.task.refuse_overlap, true);
    // Five epochs, to within one step; the last snapshot is kept.
    assert.ok(Math.abs(config.steps * config.instances_per_step - 5 * trained) < config.instances_per_step);
    assert.equal(config.snapshot_every, config.steps);
    const { roles, occurrences } = parseRecipeProtocol(recipe);
    assert.deepEqual(
      roles.map(({ name, maxNewTokens }) => [name, maxNewTokens]),
      [
        ['reasoner', 512],
        ['actor', 512],
      ],
    );
    assert.deepEqual(
      occurrences.map(({ ancestors, scored }) => [[...ancestors], scored]),
      [
        [[], false],
        [[0], true],
      ],
    );
  }
});

test('copied into a folder with data in their published forms they load', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'c3-configurations-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'data'));
  for (const name of await readdir(FOLDER)) {
    await writeFile(join(folder, name), await readFile(join(FOLDER, name)));
  }
  const math = { problem: 'p', level: 'Level 1', type: 'Algebra', solution: '$\\boxed{1}$' };
  const mbpp = {
    task_id: 601,
    text: 'Write one.',
    code: 'def f(): return 1',
    test_list: ['assert f() == 1'],
    test_setup_code: '',
    challenge_test_list: [],
  };
  const data: Readonly<Record<string, readonly object[]>> = {
    'math-cmath-train.jsonl': [math, { question: 'c', golden: '2', grade: 1 }],
    'math500.jsonl': [{ problem: 'm', solution: 's', answer: '3', subject: 'x', level: 1, unique_id: 'test/x/1.json' }],
    'cmath-test.jsonl': [{ question: 'd', golden: '4', grade: 1 }],
    'gsm8k-test.jsonl': [{ question: 'g', answer: 'so\n#### 5' }],
    'mbpp-train.jsonl': [mbpp],
    'mbpp-test.jsonl': [{ ...mbpp, task_id: 11, text: 'Write two.' }],
    'mbppplus.jsonl': [
      {
        task_id: 2,
        code: mbpp.code,
        prompt: 'Write two.',
        test_imports: [],
        test_list: mbpp.test_list,
        test: 'assert f() == 1',
      },
    ],
  };
  for (const [name, rows] of Object.entries(data)) {
    await writeFile(join(folder, 'data', name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
  const answers: string[] = [];
  for (const file of Object.keys(BENCHMARKS)) {
    const { train, evaluation } = await loadData(await readRecipe(join(folder, file), [], folder, { complete: false }));
    answers.push(
      train.map(({ answer, tests }) => `${answer} ${tests === undefined ? 'answer' : 'tests'}`).join('; '),
      evaluation.map(({ answer }) => answer).join('; '),
    );
  }
  const code = `${mbpp.code} tests`;
  assert.deepEqual(answers, [
    '1 answer; 2 answer',
    '3',
    '1 answer; 2 answer',
    '4',
    '1 answer; 2 answer',
    '5',
    code,
    mbpp.code,
    code,
    mbpp.code,
  ]);
});
