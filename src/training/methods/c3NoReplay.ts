/**
 * The ablation "w/o replay" as in the published code (C3 reference section 3.3, `c3_no_replay`): whole
 * episodes, so each alternative has one continuation. All messages of a role form one group, whatever
 * came before them, and each is credited by leave-one-out. For G episodes:
 *
 *   A_g = R_g - 1 / (G - 1) * sum over i != g of R_i
 *
 * This is the credit of MAGRPO times G / (G - 1); then PPO on A.
 */

import { creditEpisodes, makeEpisodesCheck, planWholeEpisodes } from './episodes.ts';
import type { Method } from './method.ts';
import { updateByPpo } from './ppo.ts';

export const c3NoReplay: Method = {
  words: {
    label: 'C3 without replay',
    help: 'c3 without replays: compares whole episodes of one problem, leave-one-out.',
    summary:
      'whole episodes instead of replays: a message is compared with those of its role in other episodes, leave-one-out.',
    reads: [],
    trains: true,
  },
  compared: 'problem',
  estimator: () => 'loo',
  valueTarget: () => null,
  fault: makeEpisodesCheck(2),
  remarks: ({ credit }) => [
    credit.group_normalise
      ? 'With credit.group_normalise c3_no_replay and magrpo give the same advantages: scaling erases the factor between them.'
      : 'c3_no_replay gives the advantages of magrpo times n / (n - 1), n episodes of a problem: ' +
        'the two differ by that factor only, and AdamW, which scales its steps, leaves little of it.',
  ],

  plan: planWholeEpisodes,

  credit: (step) => ({ credits: creditEpisodes(step, 'loo') }),

  updates: updateByPpo,
};
