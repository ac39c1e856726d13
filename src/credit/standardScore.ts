/** Advantages of whole episodes as standard scores of their returns. */
import { mean, populationVariance } from './describe.ts';

export interface Standardisation {
  /** Added to the variance. */
  readonly epsilon: number;
  /** Scores are cut to plus and minus this; null: they are not. */
  readonly clip: number | null;
}

/**
 * Advantages of the episodes of one instance (TeamTR reference section 3), with the population variance:
 *
 *   A_g = clip((R_g - mean R) / sqrt(var R + epsilon), -clip, clip)
 *
 * @param returns R of all episodes, or what is as far from each other: they may all be shifted by one number
 * @returns the advantage of a return, shifted as they are
 */
export function standardScore(
  returns: readonly number[],
  { epsilon, clip }: Standardisation,
): (value: number) => number {
  const [centre, scale] =
    returns.length === 0 ? [0, 1] : [mean(returns), Math.sqrt(populationVariance(returns) + epsilon)];
  const most = clip ?? Infinity;
  return (value) => Math.min(most, Math.max(-most, (value - centre) / scale));
}
