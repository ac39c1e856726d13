/**
 * The ablation "w/o replay" as the published code has it (C3 reference section 3.3, `c3_no_replay`): whole episodes, so one continuation of each alternative;
 * all messages of a role form one group, whatever stood before them, and each is credited by leave-one-out.
 *
 * With B episodes that is MAGRPO's credit times B / (B - 1).
 */
import { wholeEpisodes } from './episodes.ts';
import { episodeCredits, type Method } from './method.ts';

export const c3NoReplay: Method = {
  ...wholeEpisodes,
  estimator: () => 'loo',
  credits: (roots, { credit }) => episodeCredits(roots, 'loo', credit.return_clip),
};
