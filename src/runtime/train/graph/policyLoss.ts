/** The parts of a policy loss: the clipping of PPO and the penalized divergence. */

import type { Graph, Value } from '../../graph/graph.ts';
import {
  abs,
  add,
  cast,
  clip,
  equal,
  exp,
  lessOrEqual,
  logicalAnd,
  minimum,
  mul,
  neg,
  select,
  sub,
} from '../../graph/ops/elementwise.ts';
import { matmul, swapLast } from '../../graph/ops/linear.ts';
import { klDivergence, klDivergenceFrom } from '../../graph/ops/normalise.ts';
import { maxAll, sumAll } from '../../graph/ops/reduce.ts';
import type { KlTerm } from './klTerm.ts';

/** PPO clip range epsilon (C3 Appendix D) and the bound on log-ratios of the KL term. */
export const CLIP_EPSILON = 0.2;
const LOG_RATIO_BOUND = 10;

/**
 * The clipping and the penalty of PPO. Without it: the ratio of each token, clipped at 1 - 0.2 and 1 +
 * 0.2, and k3 from the reference.
 */
export interface PolicyLoss {
  /**
   * token: the ratio of each token. message: for each token, the ratio of its message, which is the
   * product of its tokens' ratios. message-mean: their geometric mean. The logarithm of a message's
   * ratio is clipped to +-10. none: -A logp replaces the clipped term (REINFORCE); ratios are only
   * reported, and nothing is clipped.
   */
  readonly ratio?: 'token' | 'message' | 'message-mean' | 'none';
  /** Ratios are clipped at 1 - clipLow and 1 + clipHigh. */
  readonly clipLow?: number;
  readonly clipHigh?: number;
  /** Largest ratio that counts for negative advantages (dual clip, Ye et al. 2020); default no bound. */
  readonly dualClip?: number;
  readonly kl?: KlTerm;
}

/** The values that the loss is computed from. */
interface Predicted {
  /** [targets, 1] */
  readonly logprobs: Value;
  /** logits / temperature, [targets, vocabulary], for an exact penalty. */
  readonly scores?: Value | undefined;
}

/**
 * Token-level PPO, the weighted sum over tokens of
 *
 *   -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A) + beta KL
 *
 *   r     = exp(logp - behaviour)
 *   k3    = exp(d) - d - 1,                  d = anchor - logp, clipped to +-10
 *   exact = sum over v of p(v) (log p(v) - log anchor(v))
 *
 * k3 is Schulman's low-variance estimator of KL(policy || anchor). The anchor is the reference policy or
 * the one that sampled. `fromLast` exchanges the two, which gives KL(sampled || policy). With ratios of
 * messages, r is exp of the sum, or mean, of logp - behaviour over the message. Without ratios the first
 * term is -logp A. With dualClip it is at most -dualClip A if A < 0.
 */
export function ppoLoss(
  g: Graph,
  { logprobs, scores }: Predicted,
  weights: Value,
  { ratio: unit = 'token', clipLow = CLIP_EPSILON, clipHigh = CLIP_EPSILON, dualClip, kl }: PolicyLoss,
): Value {
  const column = ['targets', 1] as const;
  const advantages = g.floatInput('advantages', column);
  const behaviour = g.floatInput('behaviour', column);
  const logRatio = sub(g, logprobs, behaviour);
  const ratio = exp(g, unit === 'token' || unit === 'none' ? logRatio : pooledByMessage(g, logRatio));
  const clippedRatio = unit === 'none' ? ratio : clip(g, ratio, 1 - clipLow, 1 + clipHigh);
  const [free, held] = [mul(g, ratio, advantages), mul(g, clippedRatio, advantages)];
  const single = neg(g, unit === 'none' ? mul(g, logprobs, advantages) : minimum(g, free, held));
  const most = dualClip === undefined ? undefined : mul(g, advantages, g.scalar(-dualClip));
  const surrogate =
    most === undefined ? single : select(g, lessOrEqual(g, g.scalar(0), advantages), single, minimum(g, single, most));
  const fromReference = k3(g, g.floatInput('reference', column), logprobs);
  const divergence = (): Value => {
    if (kl?.estimator === 'exact' && scores !== undefined) {
      const anchor = g.floatInput('anchor', ['targets', Number(scores.shape[1])]);
      return kl.fromLast === true ? klDivergenceFrom(g, scores, anchor) : klDivergence(g, scores, anchor);
    }
    if (kl?.against !== 'last') {
      return fromReference;
    }
    return kl.fromLast === true ? k3(g, logprobs, behaviour) : k3(g, behaviour, logprobs);
  };
  const penalized = divergence();
  const penalty = mul(g, g.floatInput('klCoefficient', [1]), penalized);
  g.output('kl', sumAll(g, mul(g, weights, fromReference)));
  if (kl !== undefined) {
    g.output('penalty', sumAll(g, mul(g, weights, penalized)));
  }
  // A target with weight 0 is only a filler.
  g.output(
    'deviation',
    maxAll(g, select(g, lessOrEqual(g, weights, g.scalar(0)), undefined, abs(g, sub(g, ratio, g.scalar(1))))),
  );
  g.output('clipped', sumAll(g, mul(g, weights, sub(g, g.scalar(1), cast(g, equal(g, ratio, clippedRatio), g.float)))));
  const isFree = lessOrEqual(g, free, held);
  const moves = most === undefined ? isFree : logicalAnd(g, isFree, lessOrEqual(g, single, surrogate));
  g.output('effective', sumAll(g, mul(g, weights, sub(g, g.scalar(1), cast(g, moves, g.float)))));
  return sumAll(g, mul(g, weights, add(g, surrogate, penalty)));
}

/** Returns k3 from log-probabilities [targets, 1] of the sampled tokens. */
function k3(g: Graph, anchor: Value, logprobs: Value): Value {
  const difference = clip(g, sub(g, anchor, logprobs), -LOG_RATIO_BOUND, LOG_RATIO_BOUND);
  return sub(g, sub(g, exp(g, difference), difference), g.scalar(1));
}

/** Returns for each target the clipped sum or mean of the log-ratios [targets, 1] of its message. */
function pooledByMessage(g: Graph, logRatio: Value): Value {
  const members = g.floatInput('members', ['messages', 'targets']);
  const sums = matmul(g, g.floatInput('shares', ['messages', 'targets']), logRatio);
  return matmul(g, swapLast(g, members), clip(g, sums, -LOG_RATIO_BOUND, LOG_RATIO_BOUND));
}
