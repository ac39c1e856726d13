/** Copies of training states that training can return to. */

import { C3Error } from '../../shared/errors.ts';
import type { TrainingStates } from './checkpoint.ts';
import type { TrainingState } from './trainingState.ts';

/**
 * Copies states whose moments are in ordinary memory. It copies only the moments: a step changes them
 * in place, but never the parameters.
 */
export const copyStates = (states: TrainingStates): TrainingStates =>
  new Map([...states].map(([role, state]) => [role, copyState(state)]));

const copyState = (state: TrainingState): TrainingState => ({
  ...state,
  momentum: state.momentum.slice(),
  variance: state.variance.slice(),
});

/**
 * Returns states between the kept and the current ones.
 * @param share 0: the kept states with their optimizer; above 0, up to 1: the parameters at this
 *   share of the way from kept to current, with the current optimizer
 * @throws C3Error('input') for a share outside [0, 1]
 */
export function interpolateStates(kept: TrainingStates, now: TrainingStates, share: number): TrainingStates {
  if (!(share >= 0 && share <= 1)) {
    throw new C3Error(
      'input',
      `A share of ${share} is not a point between the saved state and the current one; give 0 to 1.`,
    );
  }
  if (share === 0) {
    return copyStates(kept);
  }
  return new Map(
    [...now].map(([role, state]) => {
      const from = kept.get(role)?.parameters ?? state.parameters;
      const parameters = state.parameters.map((value, index) => interpolateNumber(from[index] ?? value, value, share));
      return [role, { ...copyState(state), parameters }];
    }),
  );
}

const interpolateNumber = (from: number, to: number, share: number): number => from + share * (to - from);
