import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Evaluators } from '../../../../../src/engine/recipe/evaluators.ts';
import { parseRecipe, readRecipe } from '../../../../../src/engine/recipe/recipe.ts';
import { EngineService } from '../../../../../src/engine/service.ts';
import { generateSplit } from '../../../../../src/tasks/split.ts';
import { readConfig } from '../../../../../src/training/config/readConfig.ts';

test('the bundled Python task is scored in the sandbox, and its verdicts outlive the sandbox', async (t) => {
  const evaluators = new Evaluators();
  t.after(() => evaluators.close());
  const config = readConfig('task: {name: python}', 'test');
  const [problem] = generateSplit({
    task: 'python',
    seed: 'evaluators',
    train: 1,
    evaluation: 0,
    levels: config.task.levels,
  }).train;
  assert.ok(problem);
  const score = async (text: string): Promise<(number | null)[]> => {
    using by = evaluators.take({ config, folder: '/' });
    return [(await by.evaluator.evaluate(problem, text)).score];
  };
  assert.deepEqual(await score(problem.answer), [1]);
  assert.deepEqual(await score('def'), [0]);
  evaluators.close();
  assert.deepEqual(await score(problem.answer), [1]);
});

test('a command scores where commands are allowed, and is not started elsewhere', async (t) => {
  const evaluators = new Evaluators();
  t.after(() => {
    evaluators.close();
    delete process.env['C3_ALLOW_COMMANDS'];
  });
  const command = JSON.stringify([process.execPath, '-e', 'console.log(process.cwd() === process.argv[1] ? 1 : 0.5)']);
  const config = readConfig(`evaluator: command\nscorer: {command: ${command}}`, 'test');
  const [problem] = generateSplit({
    task: 'arithmetic',
    seed: 'c',
    train: 1,
    evaluation: 0,
    levels: config.task.levels,
  }).train;
  assert.ok(problem);
  const score = async (): Promise<number | null> => {
    using by = evaluators.take({ config, folder: tmpdir() });
    return (await by.evaluator.evaluate(problem, '')).score;
  };
  delete process.env['C3_ALLOW_COMMANDS'];
  await assert.rejects(score(), /would run with your rights: if you trust it, set C3_ALLOW_COMMANDS=1\.$/);
  process.env['C3_ALLOW_COMMANDS'] = '1';
  assert.equal(await score(), 0.5);
  for (const wrong of ['evaluator: command', `scorer: {command: ${command}}`]) {
    assert.throws(() => readConfig(wrong, 'test'), /command needs the command|belongs to evaluator: command or judge/);
  }
});

test('a run of the Python task goes to its end, its returns are those of the sandbox, and re-execution finds them again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'c3-python-'));
  const service = new EngineService(join(folder, 'c3.sqlite'));
  t.after(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });
  const recipe = await readRecipe(
    null,
    ['task.name=python', 'steps=1', 'instances_per_step=2', 'evaluation.instances=2', 'sampling.max_new_tokens=16'],
    folder,
  );
  const { run } = await service.run(recipe, { signal: new AbortController().signal, onProgress: () => undefined });
  const episodes = service.reading((store) =>
    store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 100 }),
  );
  assert.equal(episodes.length, 16);
  assert.ok(episodes.every((episode) => episode.return === 0 || episode.return === 1));
  const report = await service.verify(run, null, { signal: new AbortController().signal });
  assert.deepEqual([report.different, report.notComparable], [0, 0]);
  assert.ok(report.checked > 0);
});

test('a run that was stored before evaluators could be chosen is scored as it was', async () => {
  const recipe = await readRecipe(null, [], tmpdir());
  const { evaluator, ...config } = recipe.config;
  assert.equal(evaluator, 'auto');
  assert.equal(parseRecipe(JSON.stringify({ ...recipe, config }), 'run').config.evaluator, 'answer');
});
