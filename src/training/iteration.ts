/** The sampling part of one C3 iteration: fan out, score, credit (Algorithm 1, equations 7 to 14), stored as one. */
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { Policy } from '../policy/policy.ts';
import { EvaluatorBudget } from '../replay/budget.ts';
import { recordTrainingTree, type RoundRecord } from '../replay/record.ts';
import { callsOfFanout, grow, type TreeNode } from '../replay/tree.ts';
import type { Instance } from '../shared/records.ts';
import type { StoreWriter } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Renderer } from '../team/render.ts';
import { runSampling, type RunConfig } from './config.ts';
import { creditRule } from './credits.ts';

export interface IterationInput {
  readonly config: RunConfig;
  readonly instances: readonly Instance[];
  readonly policy: Policy;
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly evaluator: Evaluator;
  readonly store: StoreWriter;
  readonly round: RoundRecord;
  readonly cancelled: () => boolean;
  /** Hears how many evaluator calls are about to be made. */
  readonly onBegin: (calls: number) => void;
  /** Stores what belongs to the finished trees, in the transaction that stores them, before their rows. */
  readonly onTree: (roots: readonly TreeNode[]) => void;
}

/** Why a configuration's fan-out does not fit a protocol, in one sentence; null where it does, and where nothing is trained. */
export function fanoutProblem({ steps, fanout, evaluator_budget: budget }: RunConfig, protocol: Protocol): string | null {
  if (steps === 0) return null;
  const positions = protocol.occurrences.map(({ position }) => position);
  if (fanout.length !== positions.length) {
    return `fanout has ${String(fanout.length)} numbers where the protocol ${protocol.name} has ${String(positions.length)} decisions; give one for each.`;
  }
  const calls = callsOfFanout(protocol, positions, fanout);
  return calls <= budget ? null : `fanout [${fanout.join(', ')}] needs ${String(calls)} evaluator calls per instance with the protocol ${protocol.name}, more than evaluator_budget (${String(budget)}); change one of the two.`;
}

/** Grows the trees of an iteration and stores them with their buckets, replays, episodes and credits in one transaction. @throws CancelledError; C3Error */
export async function sampleIteration(input: IterationInput): Promise<void> {
  const { config, protocol, policy, store, instances, cancelled } = input;
  const positions = protocol.occurrences.map(({ position }) => position);
  input.onBegin(instances.length * callsOfFanout(protocol, positions, config.fanout));
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
      commonRandomNumbers: config.credit.common_random_numbers,
    },
    instances.map((instance) => ({ instance, node: null })),
    positions,
    config.fanout,
    { cancelled },
  );
  const siblings = config.fanout[0] ?? 1;
  const rule = creditRule(config.credit.estimator);
  store.transaction(() => {
    input.onTree(roots);
    for (const index of instances.keys()) recordTrainingTree(store, roots.slice(index * siblings, (index + 1) * siblings), protocol, input.round, rule);
  });
}
