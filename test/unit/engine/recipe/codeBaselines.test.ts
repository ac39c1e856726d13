/** The baselines of code in two functions: who has seen what when it writes, and which program is scored. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Problem } from '../../../../src/domain/problem.ts';
import { parseRecipeProtocol, readRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { makeLadderEvaluator, type Evaluator } from '../../../../src/evaluate/evaluator.ts';
import { EvaluatorBudget } from '../../../../src/replay/budget.ts';
import { growEpisodes } from '../../../../src/replay/episodes.ts';
import { renderPlain } from '../../../../src/team/render.ts';
import { problems, NEVER, SAMPLING, ScriptedPolicy, starts } from '../../replay/helpers.ts';

const FOLDER = join(import.meta.dirname, '../../../../media/examples');
const [ONE] = problems(1);
const INSTANCE: Problem = {
  ...(ONE as Problem),
  question: 'Write f.',
  tests: { tests: ['assert f(1) == 1'], test: '', entryPoint: 'f', setup: '', prefix: '' },
};

/** Every program that is scored of one episode, whose roles write how many functions they have seen. */
async function scoredBy(name: string): Promise<readonly string[]> {
  const recipe = await readRecipe(`${name}.c3.yaml`, [], FOLDER);
  assert.deepEqual([recipe.config.steps, recipe.config.task.name], [0, 'functions']);
  const scored: string[] = [];
  const unused = { functions: () => Promise.reject(new Error('Nothing is executed.')) };
  const evaluator: Evaluator = {
    ...makeLadderEvaluator(unused, 'ladder', 'checked'),
    evaluate: (_, text) => {
      scored.push(text);
      return Promise.resolve({ score: 1, rule: 'seen' });
    },
  };
  const policy = new ScriptedPolicy(({ role, context }) => {
    const seen = String(context.split('def ').length - 1);
    return role === 'aux' ? `def aux(n):\n    return ${seen}` : `def f(n):\n    return aux(n) + ${seen}`;
  });
  const protocol = parseRecipeProtocol(recipe);
  await growEpisodes(
    {
      protocol,
      render: renderPlain,
      policy,
      evaluator,
      budget: new EvaluatorBudget(10),
      sampling: SAMPLING,
      seed: 0,
      scope: 'evaluation:greedy',
      commonRandomNumbers: false,
    },
    starts([INSTANCE]),
    [],
    NEVER,
  );
  return scored.map((text) => text.replace(/^```python\n|\n```$/gu, ''));
}
const program = (aux: number, main: number): string =>
  `def aux(n):\n    return ${aux}\n\n\ndef f(n):\n    return aux(n) + ${main}`;

describe('a baseline on code', () => {
  it('of a single agent scores its function alone', async () =>
    assert.deepEqual(await scoredBy('code-alone'), ['def f(n):\n    return aux(n) + 0']));

  it('in parallel joins what two roles wrote that saw nothing', async () =>
    assert.deepEqual(await scoredBy('code-parallel'), [program(0, 0)]));

  it('in sequence lets the main role see the helper', async () =>
    assert.deepEqual(await scoredBy('code-sequential'), [program(0, 1)]));

  it('with one round of discussion scores only what both write after they saw each other', async () =>
    assert.deepEqual(await scoredBy('code-discussion'), [program(2, 2)]));
});
