/** MAGRPO (reference section 4.2, unit `joint_action`, baseline `group_mean`): an episode's return minus its group's mean, for every message of the episode. */
import { wholeEpisodes } from './episodes.ts';
import { episodeCredits, type Method } from './method.ts';

export const magrpo: Method = {
  ...wholeEpisodes,
  estimator: () => 'magrpo',
  credits: (roots, { credit }) => episodeCredits(roots, 'magrpo', credit.return_clip),
};
