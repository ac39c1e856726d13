/** The sampling part of one iteration: fan out, score, credit as the method says (C3: Algorithm 1, equations 7 to 14), stored as one. */
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { Policy } from '../policy/policy.ts';
import { EvaluatorBudget } from '../replay/budget.ts';
import { recordTrainingTree, type RoundRecord } from '../replay/record.ts';
import { callsOfFanout, grow, type TreeNode } from '../replay/tree.ts';
import type { Instance } from '../shared/records/records.ts';
import type { StoreWriter } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';
import { runSampling, type RunConfig } from './config.ts';
import { requireMeasured } from './measured.ts';
import type { Judged } from './methods/method.ts';
import { methodNamed } from './methods/methods.ts';

export interface IterationInput {
  readonly config: RunConfig;
  readonly instances: readonly Instance[];
  readonly policy: Policy;
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly evaluator: Evaluator;
  readonly store: StoreWriter;
  readonly round: RoundRecord;
  /** False: every result is paid for, also one that is determined by an equal one; to compare with. */
  readonly reuse?: boolean;
  readonly cancelled: () => boolean;
  /** The value of every message of some trees, or of its state, for methods that take it. */
  readonly valuesOf: (roots: readonly TreeNode[], judged: Judged) => Promise<ReadonlyMap<TreeNode, number>>;
  /** Hears how many evaluator calls are about to be made. */
  readonly onBegin: (calls: number) => void;
  /** Stores what belongs to the finished trees, in the transaction that stores them, before their rows. */
  readonly onTree: (roots: readonly TreeNode[]) => void;
}

/** Why a configuration's method cannot sample with a protocol, in one sentence; null where it can, and where nothing is trained. */
export const samplingProblem = (config: RunConfig, protocol: Protocol): string | null => (config.steps === 0 ? null : methodNamed(config.method).problem(config, protocol));

/** Grows the trees of an iteration and stores them with their buckets, replays, episodes and credits in one transaction. @throws CancelledError; EvaluatorLost; C3Error */
export async function sampleIteration(input: IterationInput): Promise<void> {
  const { config, protocol, policy, store, instances, cancelled } = input;
  const method = methodNamed(config.method);
  const fanout = method.fanout(config, protocol);
  const positions = protocol.occurrences.map(({ position }) => position);
  input.onBegin(instances.length * callsOfFanout(protocol, positions, fanout));
  const roots = await grow(
    {
      protocol,
      render: input.render,
      policy,
      evaluator: input.evaluator,
      budget: new EvaluatorBudget(instances.length * config.evaluator_budget),
      sampling: runSampling(config),
      seed: config.seed,
      scope: `iteration:${String(input.round.iteration)}`,
      commonRandomNumbers: method.commonRandomNumbers(config),
      ...(input.reuse !== undefined && { reuse: input.reuse }),
    },
    instances.map((instance) => ({ instance, node: null })),
    positions,
    fanout,
    { cancelled },
  );
  requireMeasured(roots);
  const judged = method.judged(config);
  const values = judged === null ? new Map<TreeNode, number>() : await input.valuesOf(roots, judged);
  const siblings = fanout[0] ?? 1;
  store.transaction(() => {
    input.onTree(roots);
    for (const index of instances.keys()) {
      const own = roots.slice(index * siblings, (index + 1) * siblings);
      recordTrainingTree(store, own, protocol, input.round, method.credits(own, config, values));
    }
  });
}
