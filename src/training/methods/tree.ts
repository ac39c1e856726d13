/** What C3 and its ablation share: the configured fan-out as a tree, each message compared with the others of its context. */
import { estimatorNamed, type CreditEstimator } from '../../credit/estimators.ts';
import { callsOfFanout, type TreeNode } from '../../replay/tree.ts';
import type { Protocol } from '../../team/protocol.ts';
import { comparedCredits, type Method, type MethodSettings } from './method.ts';

/** A method that learns from trees (Algorithm 1): the leaves below a message are its replays, its siblings what it is compared with. */
export const treeMethod = (estimator: (settings: MethodSettings) => CreditEstimator): Method => ({
  fanout: ({ fanout }) => fanout,
  problem: treeProblem,
  commonRandomNumbers: ({ credit }) => credit.common_random_numbers,
  estimator,
  compared: 'context',
  judged: (settings) => (estimatorNamed(estimator(settings)).needs === 'alternative values' ? 'message' : null),
  credits: (_, settings, values) => (alternatives, siblings) =>
    comparedCredits(alternatives.map((alternative, index) => ({ ...alternative, value: valueOf(values, siblings[index]) })), estimator(settings), settings.credit.alpha),
});

const valueOf = (values: ReadonlyMap<TreeNode, number>, node: TreeNode | undefined): number | undefined => (node === undefined ? undefined : values.get(node));

function treeProblem({ fanout, evaluator_budget: budget }: MethodSettings, protocol: Protocol): string | null {
  const positions = protocol.occurrences.map(({ position }) => position);
  if (fanout.length !== positions.length) {
    return `fanout has ${String(fanout.length)} numbers where the protocol ${protocol.name} has ${String(positions.length)} decisions; give one for each.`;
  }
  const calls = callsOfFanout(protocol, positions, fanout);
  return calls <= budget ? null : `fanout [${fanout.join(', ')}] needs ${String(calls)} evaluator calls per instance with the protocol ${protocol.name}, more than evaluator_budget (${String(budget)}); change one of the two.`;
}
