/** Advantages of whole episodes as standard scores of their returns. */
import { mean, populationVariance } from './describe.ts';

/**
 * What a distance from the mean is divided by: the root of variance and epsilon, as published; the root of the variance
 * and epsilon, as in its appendix; nothing.
 */
export type ScoreScale = 'variance' | 'deviation' | 'none';

export interface Standardisation {
  readonly scale: ScoreScale;
  /** Added to the variance, or to the deviation. */
  readonly epsilon: number;
  /** Scores are cut to plus and minus this; null: they are not. */
  readonly clip: number | null;
}

/**
 * Advantages of the episodes of one problem (TeamTR reference section 3), with the population variance:
 *
 *   A_g = clip((R_g - mean R) / s, -clip, clip)
 *
 *   s = sqrt(var R + epsilon)   (variance)
 *   s = sqrt(var R) + epsilon   (deviation)
 *   s = 1                       (none)
 *
 * @param returns R of all episodes, or what is as far from each other: they may all be shifted by one number
 * @returns the advantage of a return, shifted as they are
 */
export function standardScore(
  returns: readonly number[],
  { scale, epsilon, clip }: Standardisation,
): (value: number) => number {
  const [centre, width] = returns.length === 0 ? [0, 1] : [mean(returns), widthOf(returns, scale, epsilon)];
  const most = clip ?? Infinity;
  return (value) => Math.min(most, Math.max(-most, (value - centre) / width));
}

function widthOf(returns: readonly number[], scale: ScoreScale, epsilon: number): number {
  const variance = populationVariance(returns);
  return { variance: Math.sqrt(variance + epsilon), deviation: Math.sqrt(variance) + epsilon, none: 1 }[scale];
}
