/**
 * MAGRPO (reference section 4.2, unit `joint_action`, baseline `group_mean`). Of each instance G whole episodes are
 * sampled, with returns R_1 ... R_G:
 *
 *   A_g = R_g - 1 / G * sum over i of R_i
 *
 * for every message of episode g alike; then PPO on A.
 */
import { episodeCredits, episodesProblem, wholeEpisodes } from './episodes.ts';
import type { Method } from './method.ts';
import { ppoEpochs } from './ppo.ts';

export const magrpo: Method = {
  words: {
    label: 'MAGRPO',
    help: 'Compares whole episodes with the mean of their group; all roles get the same credit.',
    summary: 'an episode\u2019s return less the mean of its group, for every message of the episode alike.',
    reads: [],
    trains: true,
  },
  compared: 'instance',
  estimator: () => 'magrpo',
  valueTarget: () => null,
  problem: episodesProblem(2),
  remarks: () => [],

  plan: wholeEpisodes,

  credit: (step) => ({ credits: episodeCredits(step, 'magrpo') }),

  updates: ppoEpochs,
};
