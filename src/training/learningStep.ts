/** Inputs of a method's step, besides its messages and its state. */

import { Stream, streamKey } from '../runtime/random.ts';
import { isLearningRole } from '../shared/rolePolicies.ts';
import type { Protocol } from '../team/protocol.ts';
import type { RunConfig } from './config/config.ts';
import type { LearningStep } from './methods/method.ts';

/** The roles of a protocol that learn, in its order. */
export const listLearningRoles = ({ policies }: Pick<RunConfig, 'policies'>, { roles }: Protocol): readonly string[] =>
  roles.map(({ name }) => name).filter((role) => isLearningRole(policies, role));

/** The random numbers of a step, one stream for each purpose. */
export const makeStepRandom =
  ({ seed }: Pick<RunConfig, 'seed'>, iteration: number): LearningStep['random'] =>
  (purpose) => {
    const scope = `iteration:${iteration}`;
    const stream = new Stream(streamKey({ seed, scope, uidSha: '', role: purpose, turn: 0, sibling: 0 }));
    return (position) => stream.uniform(position);
  };
