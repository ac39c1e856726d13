/**
 * A method for tests, similar to TeamTR: it updates one role after another, each on fresh rollouts
 * of the current team, with group-normalized and clipped advantages, a monitored divergence, early
 * stop and revert.
 */

import type { Json } from '../../src/domain/episode.ts';
import { findLeaves, computeReturn, type TreeMessage } from '../../src/replay/tree.ts';
import type { Credit } from '../../src/shared/credit/credit.ts';
import type { Divergence } from '../../src/training/divergence.ts';
import { magrpo } from '../../src/training/methods/magrpo.ts';
import { walkEpisode, type Method } from '../../src/training/methods/method.ts';

export interface StagesSettings {
  /** Maximum exact divergence per message by which a role may move in its stage. */
  readonly radius: number;
  readonly passes: number;
  /** Receives the result of each role's turn. */
  readonly onTurn?: (turn: { role: string; stage: number; moved: Divergence; reverted: boolean }) => void;
  /** Asks for more stages than it declares. */
  readonly tooMany?: boolean;
}

const AGENTS = 2;
const CLIP = 1.5;

/** Returns the number of credited stages so far and the sum of their mean returns. */
export const readSeenStages = (json: Json): readonly number[] => (Array.isArray(json) ? json.map(Number) : []);

export const inStages = ({ radius, passes, onTurn, tooMany = false }: StagesSettings): Method => ({
  ...magrpo,
  state: () => ({ name: 'stages', version: 1, initial: () => ({ json: [0, 0], tensors: {} }) }),

  stages: () => AGENTS,

  // One budget for all stages. The last stage also measures one episode that is not used for
  // learning.
  plan: ({ evaluator_budget: budget }, _, stage) => {
    const episodes = Math.floor(budget / AGENTS);
    return stage === 0
      ? [{ fanout: [episodes], commonRandomNumbers: false }]
      : [
          { fanout: [episodes - 1], commonRandomNumbers: false },
          { fanout: [1], commonRandomNumbers: false, measured: true },
        ];
  },

  credit({ problems, settings: { credit }, state }) {
    const credits = new Map<TreeMessage, Credit>();
    let total = 0;
    for (const episodes of problems) {
      const returns = episodes.map(
        (first) => findLeaves(first).map((leaf) => computeReturn(leaf, credit.return_clip) ?? 0)[0] ?? 0,
      );
      const mean = returns.reduce((sum, one) => sum + one, 0) / returns.length;
      const variance = returns.reduce((sum, one) => sum + (one - mean) ** 2, 0) / returns.length;
      total += mean / problems.length;
      episodes.forEach((first, index) => {
        const advantage = ((returns[index] ?? 0) - mean) / Math.sqrt(variance + 1e-6);
        const value = Math.min(CLIP, Math.max(-CLIP, advantage));
        for (const message of walkEpisode(first)) {
          credits.set(message, {
            estimator: 'magrpo',
            value,
            low: null,
            high: null,
            n: 1,
            evaluatorCalls: 1,
            interval: 'none',
          });
        }
      });
    }
    const [stages = 0, sum = 0] = readSeenStages(state.json);
    return { credits, state: { json: [stages + 1, sum + total], tensors: {} } };
  },

  *updates({ settings, roles, random, state }) {
    const order = random('order')(0) < 0.5 ? roles : roles.toReversed();
    let [, seen = 0] = readSeenStages(state.json);
    for (const [stage, role] of order.entries()) {
      if (stage > 0) {
        const fresh = yield { kind: 'rollouts' };
        seen = readSeenStages(fresh.state?.json ?? null)[1] ?? NaN;
      }
      yield { kind: 'keep' };
      let moved: Divergence = { messages: 0, k1: 0, k3: 0, exact: 0, gain: 0 };
      const isFar = (): boolean => (moved.exact ?? 0) > radius;
      for (let pass = 0; pass < passes && !isFar(); pass++) {
        yield {
          kind: 'policy',
          roles: [role],
          // The state that the stages pass on affects the weights.
          learningRate: settings.ppo.learning_rate * (1 + seen / 10),
          kl: { against: 'last', estimator: 'exact', coefficient: 0.1 * (1 + pass) },
        };
        moved = (yield { kind: 'divergence', exact: true }).divergence?.get(role) ?? moved;
      }
      if (isFar()) {
        yield { kind: 'revert', share: stage === 0 ? 0.5 : 0 };
      }
      onTurn?.({ role, stage, moved, reverted: isFar() });
    }
    if (tooMany) {
      yield { kind: 'rollouts' };
    }
  },
});
