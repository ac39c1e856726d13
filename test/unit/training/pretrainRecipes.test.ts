import assert from 'node:assert/strict';
import { it } from 'node:test';
import { getPretrainRecipe, makeSmallRecipe } from '../../../src/training/pretrain/pretrainRecipes.ts';

it('the recipe of the arithmetic team is the one that made its weights', () => {
  assert.deepEqual(getPretrainRecipe('arithmetic'), {
    task: 'arithmetic',
    seed: 1,
    phases: [
      {
        steps: 1200,
        levels: [0, 0, 0, 0, 1, 1, 1, 1],
        hasty: { short: 0, long: 0 },
        peak: 2.5e-3,
        warmupFraction: 0.03,
        floorFraction: 0.1,
      },
      {
        steps: 100,
        levels: [1, 1, 1, 1],
        hasty: { short: 0.4, long: 0.7 },
        peak: 5e-4,
        warmupFraction: 0,
        floorFraction: 0.5,
      },
    ],
    problemsPerStep: 32,
    vocabularySize: 1024,
    architecture: {
      hiddenSize: 192,
      intermediateSize: 512,
      layers: 4,
      heads: 6,
      keyValueHeads: 3,
      headDim: 32,
      rmsEpsilon: 1e-6,
      ropeTheta: 10000,
      maxPositions: 2048,
      tieEmbeddings: true,
    },
  });
});

it('a smaller team keeps its layers, the size of a head, steps and problems, in two thirds of the width', () => {
  const [whole, small] = [getPretrainRecipe('logic'), makeSmallRecipe('logic')];
  const { hiddenSize, intermediateSize, heads, keyValueHeads, headDim, layers } = small.architecture;
  assert.deepEqual([hiddenSize, intermediateSize, heads, keyValueHeads, headDim, layers], [64, 128, 4, 4, 16, 3]);
  assert.deepEqual(
    small.phases.map(({ steps, levels }) => [steps, levels]),
    whole.phases.map(({ steps, levels }) => [steps, levels]),
  );
  assert.deepEqual(
    small.phases.map(({ peak, hasty }) => [peak, hasty.long]),
    [
      [3.75e-3, 0],
      [3.75e-3, 0],
      [1.5e-3, 0.3],
    ],
  );
  assert.equal(small.problemsPerStep, whole.problemsPerStep);
});
