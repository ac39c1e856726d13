/** Held-out accuracy: one episode per instance, greedy or sampled. */
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { Policy } from '../policy/policy.ts';
import { EvaluatorBudget } from '../replay/budget.ts';
import { grow, leavesOf, returnOf, type TreeNode } from '../replay/tree.ts';
import type { EvaluationKind, Instance, Sampling } from '../shared/records.ts';
import type { Protocol } from '../team/protocol.ts';

export interface EvaluationSettings {
  readonly protocol: Protocol;
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
  readonly onBatch: (done: number, roots: readonly TreeNode[]) => void;
}

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
    const roots = await grow(
      {
        protocol: settings.protocol,
        policy: settings.policy,
        evaluator: settings.evaluator,
        budget: new EvaluatorBudget(members.length * scored),
        sampling,
        seed: settings.seed,
        scope: `evaluation:${settings.kind}`,
      },
      members.map((instance) => ({ instance, node: null })),
      positions,
      positions.map(() => 1),
      { cancelled: control.cancelled },
    );
    for (const root of roots) {
      const leaf = leavesOf(root)[0];
      const total = leaf === undefined ? null : returnOf(leaf);
      results.push(total === null ? null : total >= scored ? 1 : 0);
    }
    control.onBatch(Math.min(instances.length, start + members.length), roots);
  }
  return results;
}
