/** Reports of optimizer steps. */

import type { StepResult } from './trainingState.ts';

/** The result of a step without its state, which stays in the runtime. */
export type StepReport = Omit<StepResult, 'state'>;

/** Combines the steps of several roles: means over all tokens, and the norm of all gradients. */
export function combineReports(results: readonly StepResult[]): StepReport {
  const tokens = results.reduce((total, result) => total + result.tokens, 0);
  const averaged = (key: 'loss' | 'kl' | 'penalty' | 'clipFraction' | 'effectiveClip' | 'padding'): number =>
    tokens === 0 ? 0 : results.reduce((total, result) => total + (result[key] ?? 0) * (result.tokens / tokens), 0);
  return {
    ...(results.some(({ penalty }) => penalty !== undefined) && { penalty: averaged('penalty') }),
    loss: averaged('loss'),
    kl: averaged('kl'),
    clipFraction: averaged('clipFraction'),
    effectiveClip: averaged('effectiveClip'),
    padding: averaged('padding'),
    ratioDeviation: Math.max(0, ...results.map(({ ratioDeviation }) => ratioDeviation)),
    gradientNorm: Math.hypot(...results.map(({ gradientNorm }) => gradientNorm)),
    tokens,
  };
}
