/** Measures held-out accuracy with one greedy episode per problem, or with sampled ones. */

import { mean } from '../../credit/describe.ts';
import type { EvaluationKind } from '../../domain/evaluation.ts';
import type { Sampling } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { Policy } from '../../policy/policy.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { growEpisodes } from '../../replay/episodes.ts';
import { findLeaves, computeReturn, type TreeMessage } from '../../replay/tree.ts';
import type { Environments } from '../../replay/unfold.ts';
import { isSolved } from '../../shared/credit/returns.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { Renderer } from '../../team/render.ts';
import { countMostScores, solvedReturn } from '../../team/rounds.ts';
import { requireMeasured } from './measured.ts';

export interface EvaluationSettings {
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly policy: Policy;
  readonly evaluator: Evaluator;
  readonly sampling: Sampling;
  readonly seed: number;
  readonly kind: EvaluationKind;
  /** Episodes per problem; a greedy evaluation has one. */
  readonly samples: number;
  /**
   * Episodes sampled together, but never fewer than those of one problem. Bounds memory and the time
   * between two checks for cancellation.
   */
  readonly batch: number;
  /** False makes every evaluator call, even with a determined result; for comparisons. */
  readonly reuse?: boolean;
  /** The source of environments; the bundled ones by default. */
  readonly environments?: Environments;
}

export interface EvaluationControl {
  readonly signal: AbortSignal;
  /** Called before the evaluator calls of a batch are made. */
  readonly onBegin: (calls: number) => void;
  readonly onBatch: (done: number, roots: readonly TreeMessage[]) => void;
}

/** Returns the number of episodes per problem in an evaluation. */
export const countSamples = ({ kind, samples }: Pick<EvaluationSettings, 'kind' | 'samples'>): number =>
  kind === 'greedy' ? 1 : samples;

/**
 * Returns the mean of each problem over its episodes, in order; null for a problem whose episodes are
 * all masked.
 * @param episodes 1, 0 or null, with the episodes of each problem adjacent
 */
export function averageProblems(episodes: readonly (number | null)[], samples: number): (number | null)[] {
  return Array.from({ length: Math.ceil(episodes.length / samples) }, (_, index) => {
    const measured = episodes.slice(index * samples, (index + 1) * samples).filter((value) => value !== null);
    return measured.length === 0 ? null : mean(measured);
  });
}

/**
 * Returns 1 for each problem that is solved at least once, else 0; null if no episode is known to be
 * solved and some are masked. The mean is pass@k for k samples.
 * @param episodes as for averageProblems
 */
export function listSolvedOnce(episodes: readonly (number | null)[], samples: number): (number | null)[] {
  return Array.from({ length: Math.ceil(episodes.length / samples) }, (_, index) => {
    const own = episodes.slice(index * samples, (index + 1) * samples);
    return own.includes(1) ? 1 : own.includes(null) ? null : 0;
  });
}

/** Returns 1 if an episode's return reaches that of a solved one, else 0; null if it is masked. */
export const toSolved = (value: number | null, least: number): number | null =>
  value === null ? null : isSolved(value, least) ? 1 : 0;

/**
 * Evaluates every problem. The sampled streams depend only on the seed and the problem, so two
 * policies are compared on the same random numbers.
 * @returns for each problem in order, the share of its episodes whose return reaches solvedReturn, or
 *   null if all are masked
 * @throws CancelledError; EvaluatorLost
 */
export async function evaluate(
  settings: EvaluationSettings,
  problems: readonly Problem[],
  control: EvaluationControl,
): Promise<(number | null)[]> {
  const most = countMostScores(settings.protocol);
  const least = solvedReturn(settings.protocol);
  const sampling = settings.kind === 'greedy' ? { ...settings.sampling, temperature: 0 } : settings.sampling;
  const samples = countSamples(settings);
  const together = Math.max(1, Math.floor(settings.batch / samples));
  const episodes: (number | null)[] = [];
  for (let start = 0; start < problems.length; start += together) {
    const members = problems.slice(start, start + together);
    const calls = members.length * samples * most;
    control.onBegin(calls);
    const roots = await growEpisodes(
      {
        protocol: settings.protocol,
        render: settings.render,
        policy: settings.policy,
        evaluator: settings.evaluator,
        budget: new EvaluatorBudget(calls),
        sampling,
        seed: settings.seed,
        scope: `evaluation:${settings.kind}`,
        // Several episodes of a problem need different random numbers; single ones share theirs between
        // evaluations.
        commonRandomNumbers: samples === 1,
        ...(settings.reuse !== undefined && { reuse: settings.reuse }),
        ...(settings.environments !== undefined && { environments: settings.environments }),
      },
      members.map((problem) => ({ problem, message: null })),
      [samples],
      { signal: control.signal },
    );
    requireMeasured(roots);
    for (const root of roots) {
      const leaf = findLeaves(root)[0];
      episodes.push(toSolved(leaf === undefined ? null : computeReturn(leaf), least));
    }
    control.onBatch(Math.min(problems.length, start + members.length), roots);
  }
  return averageProblems(episodes, samples);
}
