/** The pretraining recipes of the bundled teams: everything that decides their weights. */

import type { TeamTask } from '../../shared/runNames.ts';
import type { PretrainSettings } from './pretrain.ts';

export interface PretrainRecipe extends Pick<
  PretrainSettings,
  'task' | 'seed' | 'phases' | 'problemsPerStep' | 'vocabularySize' | 'architecture'
> {
  /** The task whose bundled team provides the first weights and the tokenizer; by default new ones. */
  readonly begins?: TeamTask;
}

/** Settings that the teams share: about 1.8 million parameters. */
const COMMON: Omit<PretrainRecipe, 'task' | 'phases'> = {
  seed: 1,
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
};

/** First careful work; then demonstrations of mixed care, at the levels that the team is trained on. */
const PHASES: Readonly<Record<TeamTask, PretrainRecipe['phases']>> = {
  arithmetic: [
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
  // If a problem allows only one slip, careless work mostly makes that one. The team then makes it
  // although it knows better, and reinforcement learning can choose.
  python: [
    {
      steps: 500,
      levels: [1, 1, 1, 1, 1, 1],
      hasty: { short: 0, long: 0 },
      peak: 2.5e-3,
      warmupFraction: 0.03,
      floorFraction: 0.1,
    },
    {
      steps: 100,
      levels: [1, 1, 1, 1, 1, 1],
      hasty: { short: 0.85, long: 0.85 },
      peak: 5e-4,
      warmupFraction: 0,
      floorFraction: 0.5,
    },
  ],
  // All levels and team sizes equally: first the form, with random piles, then the rules, a little.
  dealer: [
    {
      steps: 1600,
      levels: [1, 1, 1, 1, 1, 1, 1, 1],
      hasty: { short: 1, long: 1 },
      peak: 4e-3,
      warmupFraction: 0.03,
      floorFraction: 0.05,
    },
    // The last seats of the largest team are learned last.
    {
      steps: 500,
      levels: [1, 1, 1, 1, 1, 1, 1, 1],
      hasty: { short: 1, long: 1 },
      peak: 3e-3,
      warmupFraction: 0.03,
      floorFraction: 0.05,
    },
    {
      steps: 400,
      levels: [1, 1, 1, 1, 1, 1, 1, 1],
      hasty: { short: 0, long: 0 },
      peak: 2e-3,
      warmupFraction: 0.03,
      floorFraction: 0.05,
    },
  ],
  // All team sizes equally. The team learns where the steps lead, and hardly anything about the goal.
  chain: [
    {
      steps: 1500,
      levels: [1, 1, 1, 1],
      hasty: { short: 0, long: 0 },
      peak: 5e-3,
      warmupFraction: 0.03,
      floorFraction: 0.1,
    },
    {
      steps: 800,
      levels: [1, 1, 1, 1],
      hasty: { short: 0, long: 0 },
      peak: 2e-3,
      warmupFraction: 0.03,
      floorFraction: 0.1,
    },
  ],
  // The arithmetic team learns to answer without a plan too. Slips of the thinker, and some right plans
  // on the misleading level, leave reinforcement learning something to choose from.
  hints: [
    {
      steps: 150,
      levels: [1, 1, 1],
      hasty: { short: 0.35, long: 0.35 },
      peak: 6e-4,
      warmupFraction: 0.03,
      floorFraction: 0.2,
    },
  ],
  // The easier half first; then also hasty answers, mostly guesses, so that there is a better way to
  // choose.
  logic: [
    {
      steps: 1500,
      levels: [3, 3, 1, 1],
      hasty: { short: 0, long: 0 },
      peak: 2.5e-3,
      warmupFraction: 0.03,
      floorFraction: 0.05,
    },
    {
      steps: 1500,
      levels: [3, 3, 3, 3, 1, 1],
      hasty: { short: 0, long: 0 },
      peak: 2.5e-3,
      warmupFraction: 0.03,
      floorFraction: 0.05,
    },
    {
      steps: 60,
      levels: [1, 1, 1, 1],
      hasty: { short: 0.6, long: 0.6 },
      peak: 1e-3,
      warmupFraction: 0,
      floorFraction: 0.5,
    },
  ],
  // The form and the task; then the slips of haste, each of which costs a level of the reward.
  functions: [
    {
      steps: 500,
      decaySteps: 1400,
      levels: [1, 1, 1, 1],
      hasty: { short: 0, long: 0 },
      peak: 4e-3,
      warmupFraction: 0.03,
      floorFraction: 0.05,
    },
    {
      steps: 60,
      levels: [1, 1, 1, 1],
      hasty: { short: 0.85, long: 0.85 },
      peak: 1e-3,
      warmupFraction: 0,
      floorFraction: 0.5,
    },
    // Revisions of a draft after feedback, beside first turns as before.
    {
      steps: 150,
      levels: [1, 1, 1, 1],
      hasty: { short: 0.75, long: 0.75 },
      revised: 0.5,
      peak: 2e-3,
      warmupFraction: 0.05,
      floorFraction: 0.1,
    },
    {
      steps: 150,
      levels: [1, 1, 1, 1],
      hasty: { short: 0.95, long: 0.95 },
      revised: 0.6,
      peak: 1.5e-3,
      warmupFraction: 0.05,
      floorFraction: 0.1,
    },
    // A little less haste: greedy first turns are right a little less than half the time.
    {
      steps: 40,
      levels: [1, 1, 1, 1],
      hasty: { short: 0.85, long: 0.85 },
      revised: 0.5,
      peak: 5e-4,
      warmupFraction: 0,
      floorFraction: 0.5,
    },
  ],
};

/** Teams whose answers are single words need less: about 0.2 million parameters. */
const SMALLER: Readonly<Partial<Record<TeamTask, Partial<PretrainRecipe>>>> = {
  dealer: {
    problemsPerStep: 16,
    architecture: {
      ...COMMON.architecture,
      hiddenSize: 96,
      intermediateSize: 192,
      layers: 2,
      heads: 6,
      keyValueHeads: 6,
      headDim: 16,
      maxPositions: 512,
    },
  },
  chain: {
    problemsPerStep: 16,
    vocabularySize: 300,
    architecture: {
      ...COMMON.architecture,
      hiddenSize: 96,
      intermediateSize: 192,
      layers: 3,
      heads: 6,
      keyValueHeads: 6,
      headDim: 16,
      maxPositions: 256,
    },
  },
  logic: {
    vocabularySize: 512,
    architecture: {
      ...COMMON.architecture,
      hiddenSize: 96,
      intermediateSize: 192,
      layers: 3,
      heads: 6,
      keyValueHeads: 6,
      headDim: 16,
      maxPositions: 512,
    },
  },
  // About 0.45 million parameters.
  functions: {
    vocabularySize: 512,
    architecture: {
      ...COMMON.architecture,
      hiddenSize: 96,
      intermediateSize: 224,
      layers: 4,
      heads: 6,
      keyValueHeads: 6,
      headDim: 16,
    },
  },
};

const BEGINNINGS: Readonly<Partial<Record<TeamTask, TeamTask>>> = { hints: 'arithmetic' };

/** Returns the recipe of a task's bundled team. */
export function getPretrainRecipe(task: TeamTask): PretrainRecipe {
  const begins = BEGINNINGS[task];
  return { task, ...COMMON, ...SMALLER[task], phases: PHASES[task], ...(begins !== undefined && { begins }) };
}

/** Ratios of a smaller team to the full one. Narrower layers take higher learning rates. */
const WIDTH = 2 / 3;
const RATE = 1.5;
/** Ratio of its share of haste: with the full share, voters would begin below 30 %. */
const HASTE = 0.5;

/**
 * The same for a team with about half of the weights: two thirds as wide, with as many layers and
 * steps. With fewer layers or steps it does not learn to look up what a rule names, and its loss stays
 * at the level of the letters alone.
 */
export function makeSmallRecipe(task: TeamTask): PretrainRecipe {
  const { architecture, phases, begins: _, ...recipe } = getPretrainRecipe(task);
  const { hiddenSize, intermediateSize, heads, keyValueHeads } = architecture;
  const part = (count: number): number => Math.max(1, Math.round(WIDTH * count));
  return {
    ...recipe,
    architecture: {
      ...architecture,
      hiddenSize: part(hiddenSize),
      intermediateSize: part(intermediateSize),
      heads: part(heads),
      keyValueHeads: part(keyValueHeads),
    },
    phases: phases.map((phase) => ({
      ...phase,
      peak: RATE * phase.peak,
      hasty: { short: HASTE * phase.hasty.short, long: HASTE * phase.hasty.long },
    })),
  };
}
