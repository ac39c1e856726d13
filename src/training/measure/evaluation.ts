/** Held-out accuracy: one greedy episode per problem, or some sampled ones. */
import { mean } from '../../credit/describe.ts';
import type { EvaluationKind } from '../../domain/evaluation.ts';
import type { Sampling } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { Policy } from '../../policy/policy.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { grow } from '../../replay/episodes.ts';
import { findLeaves, returnOf, type TreeMessage } from '../../replay/tree.ts';
import type { Environments } from '../../replay/unfold.ts';
import { isSolved } from '../../shared/credit/returns.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { Renderer } from '../../team/render.ts';
import { scoredAtMost, solvedReturn } from '../../team/rounds.ts';
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
   * Episodes sampled together, though never less than one problem's: bounds memory and the time between two looks at a
   * cancel.
   */
  readonly batch: number;
  /** False: every result is paid for, also one that is determined by an equal one; to compare with. */
  readonly reuse?: boolean;
  /** Where environments come from; the bundled ones unless given. */
  readonly environments?: Environments;
}

export interface EvaluationControl {
  readonly signal: AbortSignal;
  /** Hears of a batch before its evaluator calls are made. */
  readonly onBegin: (calls: number) => void;
  readonly onBatch: (done: number, roots: readonly TreeMessage[]) => void;
}

/** Episodes of one problem in an evaluation. */
export const samplesOf = ({ kind, samples }: Pick<EvaluationSettings, 'kind' | 'samples'>): number =>
  kind === 'greedy' ? 1 : samples;

/**
 * A problem's mean over its episodes in order, for every problem; null where all of its are masked.
 * @param episodes 1, 0 or null, the episodes of a problem beside each other
 */
export function problemMeans(episodes: readonly (number | null)[], samples: number): (number | null)[] {
  return Array.from({ length: Math.ceil(episodes.length / samples) }, (_, index) => {
    const measured = episodes.slice(index * samples, (index + 1) * samples).filter((value) => value !== null);
    return measured.length === 0 ? null : mean(measured);
  });
}

/**
 * Whether a problem is solved at least once, for every problem: 1 or 0; null where none is known to be solved and
 * some are masked. Its mean is pass@k of k samples.
 * @param episodes as of problemMeans
 */
export function solvedOnce(episodes: readonly (number | null)[], samples: number): (number | null)[] {
  return Array.from({ length: Math.ceil(episodes.length / samples) }, (_, index) => {
    const own = episodes.slice(index * samples, (index + 1) * samples);
    return own.includes(1) ? 1 : own.includes(null) ? null : 0;
  });
}

/** 1 where an episode's return reaches what a solved one has, else 0; null where it is masked. */
export const solved = (value: number | null, least: number): number | null =>
  value === null ? null : isSolved(value, least) ? 1 : 0;

/**
 * Evaluates every problem. The sampled streams depend on the seed and the problem alone, so two policies are compared
 * on the same numbers.
 * @returns the share of solved episodes of each problem in order (solved: the return reaches that of solvedReturn),
 *   null where all are masked
 * @throws CancelledError; EvaluatorLost
 */
export async function evaluate(
  settings: EvaluationSettings,
  problems: readonly Problem[],
  control: EvaluationControl,
): Promise<(number | null)[]> {
  const most = scoredAtMost(settings.protocol);
  const least = solvedReturn(settings.protocol);
  const sampling = settings.kind === 'greedy' ? { ...settings.sampling, temperature: 0 } : settings.sampling;
  const samples = samplesOf(settings);
  const together = Math.max(1, Math.floor(settings.batch / samples));
  const episodes: (number | null)[] = [];
  for (let start = 0; start < problems.length; start += together) {
    const members = problems.slice(start, start + together);
    const calls = members.length * samples * most;
    control.onBegin(calls);
    const roots = await grow(
      {
        protocol: settings.protocol,
        render: settings.render,
        policy: settings.policy,
        evaluator: settings.evaluator,
        budget: new EvaluatorBudget(calls),
        sampling,
        seed: settings.seed,
        scope: `evaluation:${settings.kind}`,
        // The episodes of one problem share no numbers; two evaluations compare on the same ones.
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
      episodes.push(solved(leaf === undefined ? null : returnOf(leaf), least));
    }
    control.onBatch(Math.min(problems.length, start + members.length), roots);
  }
  return problemMeans(episodes, samples);
}
