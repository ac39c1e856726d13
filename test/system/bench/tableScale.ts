/** The size of the paper table in tests. */

import type { Scale } from '../../../src/bench/experiments/paper/paperScale.ts';

/** Of each evaluated question; the table has 10. */
export const SAMPLES = 3;

export const TABLE_TASK = { name: 'arithmetic', seeds: [0, 1], steps: 2, searchSteps: 1, rates: [1e-4, 1e-3] } as const;

/** One step of the bundled team at a size that shows nothing but that all of it is there. */
export const TABLE_SCALE: Scale = {
  tasks: [TABLE_TASK],
  methods: ['sft', 'mappo', 'magrpo', 'c3'],
  budgets: ['calls', 'tokens'],
  first: { methods: ['magrpo', 'c3'], budgets: ['calls'] },
  sampledSeeds: 2,
  searchSeeds: [1000],
  ratesKept: 1,
  run: { instances_per_step: 2, evaluator_budget: 8, 'evaluation.instances': 4, 'evaluation.samples': SAMPLES },
  search: { 'evaluation.samples': 1 },
  sample: { contexts: 2, alternatives: 2, replays: 2, valueSamples: 2 },
};
