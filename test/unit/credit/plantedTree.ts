/** Trees with planted returns, and the credits that method c3 gives in them. */

import type { TreeMessage } from '../../../src/replay/tree.ts';
import { c3 } from '../../../src/training/methods/c3.ts';
import { readSettings, stateOf, treeOf } from '../training/twoLevelBias.ts';

export interface PlantedTree {
  readonly fanout: readonly number[];
  readonly roots: readonly TreeMessage[];
  /** In depth-first order. */
  readonly messages: readonly TreeMessage[];
  /** Makes the return of each leaf the sum of the effects of the messages on its path. */
  readonly plant: (effects: readonly number[]) => void;
}

export function plantedTree(fanout: readonly number[]): PlantedTree {
  const { roots, messages } = treeOf({ fanout }, () => 0);
  const all = messages.map(({ message }) => message);
  const places = new Map(all.map((message, index) => [message, index]));
  const sum = (message: TreeMessage | null, effects: readonly number[]): number =>
    message === null ? 0 : (effects[places.get(message) ?? -1] ?? NaN) + sum(message.parent, effects);
  const leaves = all.filter(({ children }) => children.length === 0);
  return {
    fanout,
    roots,
    messages: all,
    plant(effects) {
      for (const leaf of leaves) {
        leaf.score = { score: sum(leaf, effects), rule: 'planted' };
      }
    },
  };
}

/** The credits of all messages, null without one. @param variances those that earlier steps have shown */
export function creditsOf(
  { fanout, roots, messages }: PlantedTree,
  estimator: 'loo' | 'loo_two_level',
  variances: readonly number[],
): (number | null)[] {
  const { credits } = c3.credit({
    settings: readSettings(fanout, false, estimator),
    stage: 0,
    problems: [roots],
    measured: [],
    values: new Map(),
    state: stateOf(variances.slice(0, fanout.length)),
  });
  return messages.map((message) => credits.get(message)?.value ?? null);
}
