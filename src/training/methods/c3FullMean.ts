/** The paper's ablation "w/o LOO" (equation 26): C3 with the mean of all alternatives, the own one included, as the baseline. */
import { treeMethod } from './tree.ts';

export const c3FullMean = treeMethod(() => 'full_mean');
