/** How long runs take: counted by hand, and from runs of a store. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Problem } from '../../../../../src/domain/problem.ts';
import type { StepMetrics } from '../../../../../src/domain/step.ts';
import { parseRecipeProtocol, readRecipe, type Recipe } from '../../../../../src/engine/recipe/recipe.ts';
import {
  estimateTime,
  findMedianPace,
  computePace,
  countPlannedWork,
} from '../../../../../src/engine/run/time/estimate.ts';
import { extrapolateEpisodeSeconds } from '../../../../../src/engine/run/time/trial.ts';
import { readEarlierPaces } from '../../../../../src/engine/run/timing.ts';
import type { StoreWriter } from '../../../../../src/store/write/writer.ts';
import { readConfig } from '../../../../../src/training/config/readConfig.ts';
import { ENVIRONMENT, filledStore, INSTANCE, newMessage, newEpisode, WEIGHTS } from '../../../store/helpers.ts';

const recipeWith = (...overrides: string[]): Promise<Recipe> => readRecipe(null, overrides, '/');
const questions = (count: number, code = false): Problem[] =>
  Array.from({ length: count }, (_, index) => ({
    ...INSTANCE,
    uid: String(index),
    ...(code && { tests: { tests: ['assert f(1) == 1'], test: '', entryPoint: null, setup: '', prefix: '' } }),
  }));

describe('the work of a run', () => {
  it('of the bundled team, counted by hand', async () => {
    const recipe = await recipeWith();
    const data = { train: questions(40), evaluation: questions(10) };
    // 32 problems with 2 plans and 8 answers each; greedily and by sampling, before and after.
    assert.deepEqual(countPlannedWork(recipe.config, parseRecipeProtocol(recipe), data, 6), {
      episodes: 40,
      steps: 30,
      episodeMessages: 2,
      stepMessages: 32 * (2 + 8),
      episodePrograms: 0,
      stepPrograms: 0,
    });
  });

  it('counts the programs that are run, and only where something runs them', async () => {
    const recipe = await recipeWith('task.name=python');
    const data = { train: questions(40, true), evaluation: questions(10, true) };
    const programs = (overrides: string): readonly number[] => {
      const { episodePrograms, stepPrograms } = countPlannedWork(
        readConfig(overrides, 'test'),
        parseRecipeProtocol(recipe),
        data,
      );
      return [episodePrograms, stepPrograms];
    };
    assert.deepEqual(programs('{task: {name: python}}'), [1, 32 * 8]);
    assert.deepEqual(programs('{evaluator: math}'), [0, 0]);
  });

  it('takes the sum of its parts, and starts the sandbox once', () => {
    const work = { episodes: 40, steps: 3, episodeMessages: 2, stepMessages: 10, episodePrograms: 0, stepPrograms: 0 };
    const pace = computePace(work, { sampled: 0.25, trained: 0.75 });
    assert.deepEqual(pace, { episode: 0.5, step: 10 });
    const estimate = estimateTime(work, [pace], 'model');
    assert.deepEqual([estimate?.value, estimate?.runs], [40 * 0.5 + 3 * 10, 0]);
    assert.ok(estimate !== null && estimate.low < estimate.value && estimate.high > estimate.value);
    const code = estimateTime({ ...work, episodePrograms: 1, stepPrograms: 8 }, [pace], 'model');
    assert.ok((code?.value ?? 0) > estimate.value);
    assert.equal(estimateTime(work, [], 'earlier-runs'), null);
  });

  it('is estimated by the middle one of several runs, with a range that holds them all', () => {
    const work = { episodes: 10, steps: 1, episodeMessages: 2, stepMessages: 10, episodePrograms: 0, stepPrograms: 0 };
    const paces = [
      { episode: 1, step: 10 },
      { episode: 9, step: 90 },
      { episode: 2, step: 20 },
    ];
    assert.deepEqual(estimateTime(work, paces, 'earlier-runs'), {
      value: 40,
      low: 20,
      high: 180,
      basis: 'earlier-runs',
      runs: 3,
    });
    assert.deepEqual(findMedianPace(paces), { episode: 2, step: 20 });
    assert.equal(findMedianPace([]), null);
  });
});

const METRICS: StepMetrics = {
  meanReturn: 0,
  loss: 0,
  kl: 0,
  clipFraction: 0,
  gradientNorm: 0,
  learningRate: 0,
  ratioDeviation: 0,
  creditVariance: 0,
  generateSeconds: 1,
  trainSeconds: 1,
};
const LEDGER = { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {}, seconds: 0 };

/** A run with 4 evaluated episodes that took 8 s in all, and 2 steps that took 30 s. */
function ranBefore(
  store: StoreWriter,
  id: string,
  recipe: Recipe,
  { environment = ENVIRONMENT, steps = 2, slower = 1 } = {},
): void {
  store.insertRun({
    id,
    method: recipe.config.method,
    seed: 1,
    title: id,
    config: JSON.stringify(recipe),
    plannedSteps: steps,
    createdAt: `2026-01-02T00:00:0${store.countRuns()}.000Z`,
  });
  store.insertSnapshot({ id: WEIGHTS, run: id, iteration: 0, base: recipe.modelFolder, file: null });
  for (let index = 0; index < 4; index++) {
    const leaf = store.insertMessage(
      newMessage({
        run: id,
        phase: 'evaluate',
        iteration: 1,
        environment: store.environmentId(environment),
        siblingIndex: index,
        streamKey: String(index),
      }),
    );
    store.insertEpisode(newEpisode(leaf, 1, { run: id, phase: 'evaluate', iteration: 1 }));
  }
  for (let iteration = 1; iteration <= steps; iteration++) {
    store.insertStep({ run: id, iteration, snapshot: WEIGHTS, ledger: LEDGER });
    store.finishStep(id, iteration, METRICS, LEDGER);
  }
  store.writeAccount(id, {
    pendingCalls: 0,
    lostCalls: 0,
    seconds: 38 * slower,
    trainingSeconds: 30 * slower,
    samplingSeconds: 0,
  });
}

describe('earlier runs', () => {
  const here = ENVIRONMENT;
  const paces = (
    t: TestContext,
    recipe: Recipe,
    fill: (store: StoreWriter) => void,
    problems = 32,
  ): readonly { episode: number; step: number }[] => {
    const store = filledStore(t);
    fill(store);
    return readEarlierPaces(store, recipe, here, problems, recipe.config.steps > 0);
  };

  it('like this one predict its pace, whatever their length; a step is scaled by its problems', async (t) => {
    const recipe = await recipeWith();
    const [other, longer] = [
      await recipeWith('instances_per_step=8'),
      await recipeWith('steps=99', 'evaluation.instances=7', 'seed=4'),
    ];
    // The run of the fixture has a configuration that cannot be read: it is passed over.
    assert.deepEqual(
      paces(t, recipe, (store) => {
        ranBefore(store, 'a', other);
        ranBefore(store, 'b', longer, { slower: 2 });
      }),
      [
        { episode: 4, step: 30 },
        { episode: 2, step: 60 },
      ],
    );
  });

  it('with another model, team, task, fan-out or machine say nothing', async (t) => {
    const recipe = await recipeWith();
    const others = await Promise.all([
      recipeWith('task.name=python'),
      recipeWith('fanout=[4,2]'),
      recipeWith('method=magrpo'),
      recipeWith('adapter={rank: 4}'),
      recipeWith('sampling.max_new_tokens=20'),
    ]);
    assert.deepEqual(
      paces(t, recipe, (store) => {
        others.forEach((one, index) => ranBefore(store, String(index), one));
        ranBefore(store, 'model', { ...recipe, modelFolder: '/another' });
        ranBefore(store, 'machine', recipe, { environment: { ...here, device: 'another' } });
      }),
      [],
    );
  });

  it('that never finished a step say nothing of training, and enough of an evaluation', async (t) => {
    const fill =
      (recipe: Recipe) =>
      (store: StoreWriter): void =>
        ranBefore(store, 'a', recipe, { steps: 0 });
    const [trains, evaluates] = [await recipeWith(), await recipeWith('steps=0')];
    assert.deepEqual(paces(t, trains, fill(trains)), []);
    assert.deepEqual(paces(t, evaluates, fill(evaluates)), [{ episode: 2, step: 0 }]);
  });

  it('are looked at newest first, and five are enough', async (t) => {
    const recipe = await recipeWith();
    const found = paces(t, recipe, (store) => {
      for (let index = 1; index <= 7; index++) {
        ranBefore(store, String(index), recipe, { slower: index });
      }
    });
    assert.deepEqual(
      found.map(({ episode }) => episode),
      [14, 12, 10, 8, 6],
    );
  });
});

describe('a trial', () => {
  const round = (episodes: number, sampling: number): Parameters<typeof extrapolateEpisodeSeconds>[0][number] => ({
    episodes,
    sampling,
    scoring: 2 * sampling,
  });

  it('knows from two rounds what one of many episodes takes', () => {
    // 2 s and 0.25 s for each: 6 s for 16, 14 s for 48, 66 s for 256.
    assert.equal(extrapolateEpisodeSeconds([round(16, 6), round(48, 14)], 'sampling', 256), 66 / 256);
    assert.equal(extrapolateEpisodeSeconds([round(16, 6), round(48, 14)], 'scoring', 256), 132 / 256);
    assert.equal(extrapolateEpisodeSeconds([round(16, 6), round(48, 14)], 'sampling', 20), 14 / 48);
  });

  it('takes a single round as it is, and believes no line that falls or climbs too steeply', () => {
    assert.equal(extrapolateEpisodeSeconds([], 'sampling', 256), null);
    assert.equal(extrapolateEpisodeSeconds([round(4, 2)], 'sampling', 256), 0.5);
    // The second round took less than the first: half of its time for each further episode.
    assert.equal(extrapolateEpisodeSeconds([round(16, 9), round(32, 8)], 'sampling', 64), (8 + 0.125 * 32) / 64);
    assert.equal(extrapolateEpisodeSeconds([round(16, 1), round(32, 8)], 'sampling', 64), 0.25);
  });
});
