/** The measures of `shape: auto`: the tree of a step, and why it was chosen. */

import type { StepMeasure } from './stepMeasure.ts';

interface TreeMeasure extends StepMeasure {
  readonly everyStep: false;
}

/** Levels of a tree with measures of their own; deeper ones have none. */
const LEVELS = [1, 2, 3, 4, 5, 6] as const;

type Level = (typeof LEVELS)[number];

export const MEASURED_TREE_LEVELS: readonly Level[] = LEVELS;

const byLevel = <Name extends string>(name: Name, title: string, written: number): [`${Name}${Level}`, TreeMeasure][] =>
  LEVELS.map((level) => [
    `${name}${level}`,
    { title: `${title}, level ${level}`, written, everyStep: false, figure: { beside: 'treeRatio' } },
  ]);

type LevelName = `${'treeMessages' | 'treeVariance'}${Level}`;

export const TREE_MEASURES = {
  /**
   * The predicted variance of the gradient, divided by that of whole episodes with as many evaluator
   * calls. At steps that measure all levels it may be above 1.
   */
  treeRatio: {
    title: 'Chosen tree : whole episodes',
    written: 3,
    everyStep: false,
    figure: {
      id: 'tree',
      title: 'Predicted gradient variance of the chosen tree',
      unit: 'ratio to whole episodes',
      always: [0, 1],
      digits: 2,
    },
  },
  /** The same, divided by that of the configured `fanout`. */
  treeFanoutRatio: { title: 'Chosen tree : fanout', written: 3, everyStep: false, figure: { beside: 'treeRatio' } },
  ...(Object.fromEntries([
    ...byLevel('treeMessages', 'Messages in a context', 0),
    ...byLevel('treeVariance', 'Variance of returns that messages cause', 4),
  ]) as Readonly<Record<LevelName, TreeMeasure>>),
} as const satisfies Readonly<Record<string, TreeMeasure>>;

export type TreeMeasureName = keyof typeof TREE_MEASURES;
