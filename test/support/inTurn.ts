/**
 * A method for tests, similar to TeamTR with one set of episodes: it updates one role after
 * another, limits the divergence of each, and stops or reverts a role that exceeds the limit.
 */

import type { PolicyLoss } from '../../src/runtime/train/graph/policyLoss.ts';
import type { Divergence } from '../../src/training/divergence.ts';
import { magrpo } from '../../src/training/methods/magrpo.ts';
import type { Method } from '../../src/training/methods/method.ts';

export interface TurnSettings {
  /** Maximum divergence per message by which a role may move in a step. */
  readonly radius: number;
  /** Passes over a role's messages. */
  readonly passes: number;
  /** The loss with its clipping. */
  readonly loss?: Omit<PolicyLoss, 'kl'>;
  /** True if the limit applies to the exact divergence over the whole vocabulary. */
  readonly exact?: boolean;
  /** Share of the update that is kept of a role that left the radius: 0 reverts it completely. */
  readonly share: number;
  /** Receives the result of each role's turn. */
  readonly onTurn?: (role: string, divergence: Divergence, reverted: boolean) => void;
}

export const inTurn = ({ radius, passes, share, loss, exact = false, onTurn }: TurnSettings): Method => ({
  ...magrpo,

  *updates({ settings, roles, iteration }) {
    // The order changes from step to step.
    for (const [place, role] of (iteration % 2 === 1 ? roles : roles.toReversed()).entries()) {
      yield { kind: 'keep' };
      let moved: Divergence = { messages: 0, k1: 0, k3: 0, gain: 0 };
      const isFar = (): boolean => (exact ? (moved.exact ?? 0) : moved.k3) > radius;
      for (let pass = 0; pass < passes && !isFar(); pass++) {
        // Each role has its own learning rate.
        yield {
          kind: 'policy',
          roles: [role],
          learningRate: settings.ppo.learning_rate * (1 + place),
          ...(loss !== undefined && { loss }),
        };
        moved = (yield { kind: 'divergence', exact }).divergence?.get(role) ?? moved;
      }
      const reverted = isFar();
      if (reverted) {
        yield { kind: 'revert', share };
      }
      onTurn?.(role, moved, reverted);
    }
  },
});
