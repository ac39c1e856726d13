/** The means outside a context and the state of `credit.estimator: loo_two_level`. */

import type { OutsideMean } from '../../credit/estimator.ts';
import { weighOutside } from '../../credit/estimators/looTwoLevel.ts';
import {
  addNestedSums,
  estimateNestedVariances,
  makeLeafNode,
  makeParentNode,
  NO_SUMS,
  sumNestedSquares,
  type NestedSums,
  type ReturnNode,
} from '../../credit/nestedVariance.ts';
import type { MethodState } from '../../domain/step.ts';
import { computeReturn, countBefore, type TreeMessage } from '../../replay/tree.ts';
import { getJsonMember } from './ccpoStatistics.ts';
import { listComparedMessages, type SampledStep, type StateKind } from './method.ts';

/** The weight that earlier steps keep at each step: half of it is left after 7 steps. */
export const KEPT = 0.9;

/** The state: the sums of all earlier steps, from which the variances are estimated. */
export const TWO_LEVEL_STATE: StateKind = { name: 'two-level', version: 1, initial: () => toTwoLevelState(NO_SUMS) };

/** JSON keeps every bit of a number. */
export const toTwoLevelState = ({ squares, expected }: NestedSums): MethodState => ({
  json: { squares, expected },
  tensors: {},
});

export function readTwoLevelState({ json }: MethodState): NestedSums {
  const list = (value: unknown): number[] => (Array.isArray(value) ? value.map(Number) : []);
  const expected = getJsonMember(json, 'expected');
  return { squares: list(getJsonMember(json, 'squares')), expected: Array.isArray(expected) ? expected.map(list) : [] };
}

type Measured = Pick<SampledStep, 'problems' | 'settings' | 'state'>;

/**
 * Returns the mean outside of each message that has siblings, with the weights that the state gives,
 * and the sums after the step. A message without siblings has none: `credit.lone_messages` decides.
 */
export function measureOutside({ problems, settings, state }: Measured): {
  readonly outside: ReadonlyMap<TreeMessage, OutsideMean>;
  readonly sums: NestedSums;
} {
  const { return_clip: bound, merge_contexts: merged } = settings.credit;
  const before = readTwoLevelState(state);
  const variances = estimateNestedVariances(before);
  const outside = new Map<TreeMessage, OutsideMean>();
  let now = NO_SUMS;
  for (const trees of problems) {
    const nodes = new Map<TreeMessage, ReturnNode>();
    const roots = trees.map((root) => addNodes(root, bound, nodes));
    now = addNestedSums(now, sumNestedSquares(roots));
    for (const group of listComparedMessages(trees, merged).filter(({ length }) => length > 1)) {
      const above = new Set(group.flatMap(listAbove).flatMap((message) => nodes.get(message) ?? []));
      const members = group.flatMap((message) => nodes.get(message) ?? []);
      const level = Math.min(...group.map(countBefore));
      for (const [index, mean] of weighOutside(roots, members, { level, above }, variances).entries()) {
        const message = group[index];
        if (message !== undefined && mean !== undefined) {
          outside.set(message, mean);
        }
      }
    }
  }
  return { outside, sums: addNestedSums(before, now, KEPT) };
}

/** Returns the sums after a step, as `measureOutside` does. */
export const measureSums = ({ problems, settings, state }: Measured): NestedSums =>
  addNestedSums(
    readTwoLevelState(state),
    problems
      .map((trees) => sumNestedSquares(trees.map((root) => addNodes(root, settings.credit.return_clip, new Map()))))
      .reduce((sum, one) => addNestedSums(sum, one), NO_SUMS),
    KEPT,
  );

/** Adds the nodes of a message and of all that follow it, and returns its own. */
function addNodes(message: TreeMessage, bound: number, nodes: Map<TreeMessage, ReturnNode>): ReturnNode {
  const node =
    message.children.length === 0
      ? makeLeafNode(computeReturn(message, bound))
      : makeParentNode(message.children.map((child) => addNodes(child, bound, nodes)));
  nodes.set(message, node);
  return node;
}

/** Returns the messages before a message, the nearest one first. */
const listAbove = ({ parent }: TreeMessage): TreeMessage[] => (parent === null ? [] : [parent, ...listAbove(parent)]);
