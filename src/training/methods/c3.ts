/**
 * C3 (Algorithm 1). In a context h the policy samples J alternatives a_1 ... a_J, and each is replayed
 * to the end of the episode. With c_j replays of alternative j, and the return R_m of replay m:
 *
 *   R_j  = 1 / c_j * sum over m of R_m                            (11)  value of the alternative
 *   b_-j = sum over i != j of c_i R_i / sum over i != j of c_i    (14)  leave-one-out: value of the others
 *   A_j  = R_j - b_-j                                             (15)  its credit
 *
 * then PPO on A (16). With `credit.merge_contexts` the alternatives of h are those of all its groups
 * in the step, and equal ones share one credit. With `credit.lone_messages` a message without
 * alternatives takes the credit of the message before it. With `fanout_unique` the last messages of a
 * context are drawn until enough are distinct (redrawn.ts). With `credit.estimator: value_assisted` a
 * learned q(h, a_i) replaces the share alpha of R_i in b_-j; with `full_mean` b is the mean of all
 * alternatives (26); with `loo_two_level` it is b_-j combined with the mean return of the problem's
 * other contexts (looTwoLevel.ts). With `shape: auto` earlier steps choose the tree (autoTree.ts).
 * With the section `magrpo` of a configuration the alternatives are a
 * role's messages at a node of MAGRPO's rollout tree (joint.ts).
 */

import { creditIfComparable } from '../../credit/compared.ts';
import { requireEstimator, type CreditEstimator } from '../../credit/estimators.ts';
import { creditEqualMessages } from '../../credit/merged.ts';
import { creditRedrawnMessages } from '../../credit/redrawn.ts';
import { alternativeReturns, makeMessageKey, type TreeMessage } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { Protocol } from '../../team/protocol.ts';
import { messagesPerTurn } from '../../team/rounds.ts';
import { addAutoStep, AUTO_STATE, measureChoice } from './autoTree.ts';
import { creditTrees, findJointFault, planJointRollouts, updateNodes } from './joint.ts';
import { inheritsCredit, creditLoneMessages } from './loneMessages.ts';
import { listComparedMessages, type Method, type MethodSettings } from './method.ts';
import { updateByPpo, listTaughtAfterWarmup, updateValuesAndPolicy } from './ppo.ts';
import { planReplayTrees, findTreeFault, findUniqueFault } from './tree.ts';
import { measureOutside, measureSums, toTwoLevelState, TWO_LEVEL_STATE } from './twoLevel.ts';

const needsAlternativeValues = (estimator: CreditEstimator): boolean =>
  requireEstimator(estimator).needs === 'alternative values';

const isTwoLevel = ({ credit, magrpo }: Pick<MethodSettings, 'credit' | 'magrpo'>): boolean =>
  magrpo === null && credit.estimator === 'loo_two_level';

const isAuto = ({ shape, magrpo }: Pick<MethodSettings, 'shape' | 'magrpo'>): boolean =>
  magrpo === null && shape === 'auto';

export const c3: Method = {
  words: {
    label: 'C3',
    help: 'Replays the messages of one context: the credit of a message is its return against that of its siblings.',
    summary:
      'credits a message against alternatives from the same context, each continued to the end by replay; its baseline leaves the message itself out.',
    reads: [
      'shape',
      'fanout',
      'fanout_unique',
      'credit.estimator',
      'credit.alpha',
      'credit.common_random_numbers',
      'credit.merge_contexts',
      'credit.lone_messages',
      'magrpo',
      'value_head',
    ],
    trains: true,
  },
  state: (settings) => (isAuto(settings) ? AUTO_STATE : isTwoLevel(settings) ? TWO_LEVEL_STATE : null),
  measures: (state, settings) => (isAuto(settings) ? measureChoice(state) : {}),
  compared: 'context',
  byNode: ({ magrpo: joint }) => joint !== null,
  estimator: ({ credit }) => credit.estimator,
  valueTarget: ({ credit }) => (needsAlternativeValues(credit.estimator) ? 'message' : null),
  fault: (settings, protocol) =>
    settings.magrpo === null
      ? (findUniqueFault(settings, protocol) ?? findTreeFault(settings, protocol))
      : (findAlternativesFault(protocol) ?? findJointFault(settings.magrpo, settings, protocol)),
  remarks: () => [],

  plan: (settings, protocol, stage, earlier) =>
    settings.magrpo === null
      ? planReplayTrees(settings, protocol, stage, earlier)
      : planJointRollouts(settings.magrpo, protocol),

  credit(step) {
    const {
      problems,
      settings: { credit, magrpo: joint },
      values,
    } = step;
    if (joint !== null) {
      return { credits: creditTrees(problems, joint, 'loo') };
    }
    const { estimator, alpha, return_clip: bound, merge_contexts: merged } = credit;
    const measured = isTwoLevel(step.settings) ? measureOutside(step) : null;
    const credits = new Map<TreeMessage, Credit>();
    const inherited = new Map<TreeMessage, Credit>();
    const give = (to: Map<TreeMessage, Credit>, message: TreeMessage, value: Credit | null): void => {
      if (value !== null) {
        to.set(message, value);
      }
    };
    for (const compared of problems.flatMap((trees) => listComparedMessages(trees, merged))) {
      // In the order in which they were drawn.
      const alternatives = [
        ...compared.filter(({ redraw }) => redraw !== true),
        ...compared.filter(({ redraw }) => redraw === true),
      ];
      const planned = compared.filter(({ redraw }) => redraw !== true).length;
      const members = alternatives.map((message, index) => ({
        ...alternativeReturns(message, bound),
        value: values.get(message),
        outside: measured?.outside.get(message),
        ...identifyDraw(message, index),
      }));
      if (planned < alternatives.length) {
        creditRedrawnMessages(members, planned).forEach((credit, j) => {
          const message = alternatives[j];
          if (message !== undefined) {
            give(credits, message, credit);
          }
        });
        continue;
      }
      const found = merged
        ? creditEqualMessages(members, estimator, alpha)
        : creditIfComparable(members, estimator, alpha).map((own) => ({ own, shared: own }));
      for (const [j, message] of alternatives.entries()) {
        give(credits, message, found[j]?.shared ?? null);
        give(inherited, message, found[j]?.own ?? null);
      }
    }
    if (inheritsCredit(credit)) {
      for (const [message, value] of creditLoneMessages(problems.flat(), inherited)) {
        credits.set(message, value);
      }
    }
    if (isAuto(step.settings)) {
      return { credits, state: addAutoStep(step, measured?.sums ?? measureSums(step)) };
    }
    return { credits, ...(measured !== null && { state: toTwoLevelState(measured.sums) }) };
  },

  updates(step) {
    const { credit, magrpo: joint } = step.settings;
    return joint !== null
      ? updateNodes(step)
      : needsAlternativeValues(credit.estimator)
        ? updateValuesAndPolicy(step)
        : updateByPpo(step);
  },
  taught: (step) => {
    const { credit, magrpo: joint } = step.settings;
    return joint === null && needsAlternativeValues(credit.estimator) ? listTaughtAfterWarmup(step) : step.roles;
  },
};

/** Returns the reason why a role's messages at a node do not share a context, or null if they do. */
function findAlternativesFault(protocol: Protocol): string | null {
  const { name, occurrences } = protocol;
  return occurrences.slice(0, messagesPerTurn(protocol)).some(({ ancestors }) => ancestors.length > 0)
    ? `c3 compares messages of one context, and in a turn of the protocol ${name} some roles see others, so that each message has a context of its own; choose method magrpo, or omit the section magrpo.`
    : null;
}

/**
 * Returns the text of a message and the identity of its draw. A message that used no random stream of
 * this product counts as its own draw.
 */
function identifyDraw(message: TreeMessage, index: number): { readonly text: string; readonly draw: string } {
  const { streamKey } = message;
  const said = makeMessageKey(message);
  return { text: said, draw: `${streamKey === '' ? String(index) : streamKey} ${said}` };
}
