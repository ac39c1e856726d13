/** Held-out accuracy: one episode per instance, greedy or sampled. */
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { Policy } from '../policy/policy.ts';
import { EvaluatorBudget } from '../replay/budget.ts';
import { grow, leavesOf, returnOf, type TreeNode } from '../replay/tree.ts';
import type { EvaluationKind, Instance, Sampling } from '../shared/records.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';

export interface EvaluationSettings {
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly policy: Policy;
  readonly evaluator: Evaluator;
  readonly sampling: Sampling;
  readonly seed: number;
  readonly kind: EvaluationKind;
  /** Instances answered together: bounds memory and the time between two looks at a cancel. */
  readonly batch: number;
}

export interface EvaluationControl {
  readonly cancelled: () => boolean;
  /** Hears of a batch before its evaluator calls are made. */
  readonly onBegin: (calls: number) => void;
  readonly onBatch: (done: number, roots: readonly TreeNode[]) => void;
}

/** 1 where an episode's return reaches the number of its scored messages, else 0; null where it is masked. */
export const solved = (value: number | null, scored: number): number | null => (value === null ? null : value >= scored ? 1 : 0);

/**
 * Evaluates every instance once. The sampled streams depend on the seed and the instance alone, so two policies are compared on the same numbers.
 * @returns 1 or 0 for each instance in order (1 where the return reaches the number of scored messages), null where masked
 */
export async function evaluate(settings: EvaluationSettings, instances: readonly Instance[], control: EvaluationControl): Promise<(number | null)[]> {
  const scored = settings.protocol.occurrences.filter((occurrence) => occurrence.scored).length;
  const positions = settings.protocol.occurrences.map(({ position }) => position);
  const sampling = settings.kind === 'greedy' ? { ...settings.sampling, temperature: 0 } : settings.sampling;
  const results: (number | null)[] = [];
  for (let start = 0; start < instances.length; start += settings.batch) {
    const members = instances.slice(start, start + settings.batch);
    control.onBegin(members.length * scored);
    const roots = await grow(
      {
        protocol: settings.protocol,
        render: settings.render,
        policy: settings.policy,
        evaluator: settings.evaluator,
        budget: new EvaluatorBudget(members.length * scored),
        sampling,
        seed: settings.seed,
        scope: `evaluation:${settings.kind}`,
        // One continuation each: nothing is shared within an evaluation, and two evaluations compare on the same numbers.
        commonRandomNumbers: true,
      },
      members.map((instance) => ({ instance, node: null })),
      positions,
      positions.map(() => 1),
      { cancelled: control.cancelled },
    );
    for (const root of roots) {
      const leaf = leavesOf(root)[0];
      results.push(solved(leaf === undefined ? null : returnOf(leaf), scored));
    }
    control.onBatch(Math.min(instances.length, start + members.length), roots);
  }
  return results;
}
