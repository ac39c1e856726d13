/**
 * MAGRPO (reference section 4.2, unit `joint_action`, baseline `group_mean`). For each problem, G whole
 * episodes are sampled, with returns R_1 ... R_G:
 *
 *   A_g = R_g - 1 / G * sum over i of R_i
 *
 * for every message of episode g; then PPO on A. With the section `magrpo` of a configuration it
 * samples a rollout tree of turns instead (joint.ts).
 */

import { creditEpisodes, makeEpisodesCheck, planWholeEpisodes } from './episodes.ts';
import { creditTrees, findJointFault, planJointRollouts, updateNodes } from './joint.ts';
import type { Method } from './method.ts';
import { updateByPpo } from './ppo.ts';

export const magrpo: Method = {
  words: {
    label: 'MAGRPO',
    help: 'Compares whole episodes with the mean of their group; all roles get the same credit.',
    summary: 'an episode\u2019s return less the mean of its group, for every message of the episode alike.',
    reads: ['magrpo'],
    trains: true,
  },
  compared: 'problem',
  byNode: ({ magrpo: joint }) => joint !== null,
  estimator: () => 'magrpo',
  valueTarget: () => null,
  fault: (settings, protocol) =>
    settings.magrpo === null
      ? makeEpisodesCheck(2)(settings, protocol)
      : findJointFault(settings.magrpo, settings, protocol),
  remarks: () => [],

  plan: (settings, protocol, stage) =>
    settings.magrpo === null
      ? planWholeEpisodes(settings, protocol, stage)
      : planJointRollouts(settings.magrpo, protocol),

  credit(step) {
    const joint = step.settings.magrpo;
    return { credits: joint === null ? creditEpisodes(step, 'magrpo') : creditTrees(step.problems, joint, 'magrpo') };
  },

  updates: (step) => (step.settings.magrpo === null ? updateByPpo(step) : updateNodes(step)),
};
