/** Advantages of whole episodes as standard scores of their returns. */

import { mean, populationVariance } from './describe.ts';

/**
 * The divisor of a distance from the mean. variance: the root of variance plus epsilon, as published.
 * deviation: the root of the variance, plus epsilon, as in the appendix. none: 1.
 */
export type ScoreScale = 'variance' | 'deviation' | 'none';

export interface Standardization {
  readonly scale: ScoreScale;
  /** Added to the variance or to the deviation. */
  readonly epsilon: number;
  /** Scores are clipped to plus and minus this value; null for no clipping. */
  readonly clip: number | null;
}

/**
 * Returns a function for the advantages of the episodes of one problem (TeamTR reference section 3),
 * with the population variance:
 *
 *   A_g = clip((R_g - mean R) / s, -clip, clip)
 *
 *   s = sqrt(var R + epsilon)   (variance)
 *   s = sqrt(var R) + epsilon   (deviation)
 *   s = 1                       (none)
 *
 * @param returns R of all episodes; all may be shifted by one number
 * @returns the advantage of a return with the same shift
 */
export function standardScore(
  returns: readonly number[],
  { scale, epsilon, clip }: Standardization,
): (value: number) => number {
  const [centre, width] = returns.length === 0 ? [0, 1] : [mean(returns), findScoreWidth(returns, scale, epsilon)];
  const most = clip ?? Infinity;
  return (value) => Math.min(most, Math.max(-most, (value - centre) / width));
}

function findScoreWidth(returns: readonly number[], scale: ScoreScale, epsilon: number): number {
  const variance = populationVariance(returns);
  return { variance: Math.sqrt(variance + epsilon), deviation: Math.sqrt(variance) + epsilon, none: 1 }[scale];
}
