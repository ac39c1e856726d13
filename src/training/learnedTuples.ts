/** The messages of a step as its updates learned from them: the contexts of the trainer, row by row. */

import { C3Error } from '../shared/errors.ts';
import type { TrainingMessage } from '../store/types.ts';
import { driveUpdates } from './learn.ts';
import { listLearningRoles, makeStepRandom } from './learningStep.ts';
import type { Outcome, PolicyUpdate, Update } from './methods/method.ts';
import { getPenalty } from './penalty.ts';
import { readStage, type StageInput } from './stageMessages.ts';
import { readStateAfter } from './state/methodStates.ts';
import { weighContexts } from './updateContexts.ts';

/** A message that updates of a step learned from. */
export interface LearnedTuple extends Omit<TrainingMessage, 'credit' | 'context' | 'promptTokens' | 'parent'> {
  readonly iteration: number;
  /** The stage of the step; 0 is the sampling at its beginning. */
  readonly stage: number;
  readonly prompt: Int32Array;
  /** Of each of its tokens, in the precision in which the trainer gets it. */
  readonly advantage: number;
  /** Of each of its tokens in the loss of an optimizer step. */
  readonly weight: number;
}

/**
 * Returns the messages that the updates of a finished step learned from, in the order of storage. The
 * method's own updates are made without a model: their contexts do not depend on its answers. Messages
 * with advantage 0 are included, because the weights of the others depend on their number; the trainer
 * leaves them out where they cannot move a weight. A TeamTR turn whose update was taken back is
 * included.
 * @throws C3Error('input') if the store does not have what an update used; C3Error as readStage and
 *   readStateAfter
 */
export async function readLearnedTuples(input: StageInput, iteration: number): Promise<LearnedTuple[]> {
  const { store, run, config, method, protocol } = input;
  const stages = new Set(store.stages(run, iteration).map((one) => one.stage));
  const found = new Map<number, LearnedTuple>();
  let stage = 0;
  let messages = await readStage(input, iteration, stage, false);
  let rows = new Map(messages.learned.map((message) => [message.tokens, message]));

  const learn = (update: PolicyUpdate): void => {
    const { estimator, coefficient } = update.kl ?? getPenalty(config);
    if (estimator === 'k1' && coefficient !== 0) {
      throw new C3Error(
        'input',
        `Run ${run} subtracted a penalty from its advantages (ppo.kl_estimator: k1), and the store does not keep ` +
          'the log-probabilities of the reference policy that it needs; export a run with another ppo.kl_estimator.',
      );
    }
    if (update.weights !== undefined) {
      throw new C3Error(
        'input',
        `Step ${iteration} of run ${run} weighted its episodes by the policy between two updates ` +
          '(teamtr.reuse: weighted), and the store does not keep these weights; export a run with teamtr.reuse: as_is.',
      );
    }
    for (const { prompt, messages: own } of weighContexts(config, update, messages, false).contexts) {
      for (const { tokens, advantages, weight } of own) {
        const row = rows.get(tokens);
        if (row !== undefined && weight !== undefined && !found.has(row.message)) {
          const { credit, context, promptTokens, parent, ...kept } = row;
          found.set(row.message, { ...kept, iteration, stage, prompt, advantage: advantages[0] ?? 0, weight });
        }
      }
    }
  };

  const make = async (update: Update): Promise<Outcome | null> => {
    if (update.kind === 'rollouts') {
      stage++;
      if (!stages.has(stage)) {
        throw new C3Error(
          'store',
          `The store ${store.path} has no stage ${stage} of step ${iteration} of run ${run}; put a copy back.`,
        );
      }
      messages = await readStage(input, iteration, stage, false);
      rows = new Map(messages.learned.map((message) => [message.tokens, message]));
      return { state: readStateAfter(input, iteration, stage) };
    }
    if (update.kind === 'policy') {
      learn(update);
    }
    return {};
  };

  await driveUpdates(
    method.updates({
      settings: config,
      iteration,
      state: readStateAfter(input, iteration, 0),
      nodes: messages.nodes,
      random: makeStepRandom(config, iteration),
      roles: listLearningRoles(config, protocol),
    }),
    make,
  );
  return [...found.values()].toSorted((one, other) => one.message - other.message);
}
