/** The stored messages that the updates of a run learned from. */

import type { StoreReader } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { RunConfig } from './config/config.ts';
import { listLearningRoles, makeStepRandom } from './learningStep.ts';
import { getMethod } from './methods/methods.ts';
import { readStageAdvantages, type AdvantagedMessage } from './stageMessages.ts';
import { readStateAfter } from './state/methodStates.ts';

export interface LearnedMessage extends AdvantagedMessage {
  readonly iteration: number;
  /** The stage of the step; 0 is the sampling at its beginning. */
  readonly stage: number;
}

export interface LearnedRun {
  readonly store: StoreReader;
  readonly run: string;
  readonly config: RunConfig;
  readonly protocol: Protocol;
}

/**
 * Yields the messages that the updates of a run's finished steps learned from, with their advantages,
 * step by step. Includes a TeamTR turn whose update was taken back, and the held-out part of a turn.
 * @throws C3Error as readStateAfter
 */
export function* listLearnedMessages({ store, run, config, protocol }: LearnedRun): Generator<LearnedMessage> {
  const method = getMethod(config.method);
  const roles = listLearningRoles(config, protocol);
  const finished = store.steps(run, 0, store.countSteps(run)).filter(({ metrics }) => metrics !== null);
  for (const { iteration } of finished) {
    for (const stage of [0, ...store.stages(run, iteration).map((one) => one.stage)]) {
      const state = readStateAfter({ store, run, method, config }, iteration, 0);
      const step = { settings: config, iteration, state, roles, random: makeStepRandom(config, iteration) };
      const taught = method.taught?.(step, stage) ?? roles;
      for (const message of readStageAdvantages({ store, run, config, method, protocol }, iteration, stage)) {
        if (taught.includes(message.role)) {
          yield { ...message, iteration, stage };
        }
      }
    }
  }
}
