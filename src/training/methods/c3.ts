/**
 * C3 (Algorithm 1). In a context h the policy says J alternatives a_1 ... a_J, and each is replayed to the end of the
 * episode. With c_j replays of alternative j, and R_m the return of replay m:
 *
 *   R_j  = 1 / c_j * sum over m of R_m                            (11)  what the alternative is worth
 *   b_-j = sum over i != j of c_i R_i / sum over i != j of c_i    (14)  leave-one-out: what the others are worth
 *   A_j  = R_j - b_-j                                             (15)  its credit
 *
 * then PPO on A (16). With `credit.estimator: value_assisted` a learned q(h, a_i) takes the place of alpha of R_i in
 * b_-j; with `full_mean` b is the mean of all alternatives (26).
 */
import { estimatorNamed, type CreditEstimator } from '../../credit/estimators.ts';
import { alternativeReturns, type TreeNode } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import { contextsOf, type Method } from './method.ts';
import { comparedCredits } from '../../credit/compared.ts';
import { ppoEpochs, valueEpochs } from './ppo.ts';
import { replayTrees, treeProblem } from './tree.ts';

const takesValues = (estimator: CreditEstimator): boolean => estimatorNamed(estimator).needs === 'alternative values';

export const c3: Method = {
  words: {
    label: 'C3',
    help: 'Replays the messages of one context: the credit of a message is its return against that of its siblings.',
    summary:
      'credits a message against alternatives from the same context, each continued to the end by replay; its baseline leaves the message itself out.',
    reads: ['fanout', 'credit.estimator', 'credit.alpha', 'credit.common_random_numbers', 'value_head'],
    trains: true,
  },
  compared: 'context',
  estimator: ({ credit }) => credit.estimator,
  valueTarget: ({ credit }) => (takesValues(credit.estimator) ? 'message' : null),
  problem: treeProblem,
  remarks: () => [],

  plan: replayTrees,

  credit({ instances, settings: { credit }, values }) {
    const credits = new Map<TreeNode, Credit>();
    for (const alternatives of instances.flatMap((trees) => [...contextsOf(trees)])) {
      const returns = alternatives.map((node) => ({
        ...alternativeReturns(node, credit.return_clip),
        value: values.get(node),
      }));
      comparedCredits(returns, credit.estimator, credit.alpha).forEach((own, j) => {
        const message = alternatives[j];
        if (own !== null && message !== undefined) {
          credits.set(message, own);
        }
      });
    }
    return { credits };
  },

  *updates(step) {
    if (takesValues(step.settings.credit.estimator)) {
      yield* valueEpochs(step);
    }
    yield* ppoEpochs(step);
  },
};
