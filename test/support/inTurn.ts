/**
 * A method for tests, in the manner of TeamTR with one set of episodes: one role after the other, each held within a
 * divergence, stopped or taken back.
 */
import type { PolicyLoss } from '../../src/runtime/train/graph/policyLoss.ts';
import type { Divergence } from '../../src/training/divergence.ts';
import { magrpo } from '../../src/training/methods/magrpo.ts';
import type { Method } from '../../src/training/methods/method.ts';

export interface TurnSettings {
  /** The largest divergence of a message that a role may move in a step. */
  readonly radius: number;
  /** Passes over a role's messages. */
  readonly passes: number;
  /** What a pass clips. */
  readonly loss?: Omit<PolicyLoss, 'kl'>;
  /** Whether the divergence is computed over the whole vocabulary, which then bounds it. */
  readonly exact?: boolean;
  /** Of a role that left the radius: 0 takes it back whole. */
  readonly share: number;
  /** Hears what each role's turn came to. */
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
        // Each role has a rate of its own.
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
