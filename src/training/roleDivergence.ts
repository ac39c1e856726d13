/** How far roles have moved from the policy that sampled their messages. */
import type { RankShift } from '../domain/step.ts';
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import type { RunConfig } from './config/config.ts';
import { messageDivergence, type Divergence, type Origin } from './divergence.ts';

interface DivergenceInput {
  readonly runtime: ModelRuntime;
  readonly config: RunConfig;
  readonly signal: AbortSignal;
}

/**
 * How far each role's messages have moved from the policy that sampled them.
 * @param origins where messages come from, by their tokens
 * @param last its snapshot, where the whole vocabulary is compared: for the exact KL, and for probabilities by rank
 */
export async function divergenceOf(
  { runtime, config, signal }: DivergenceInput,
  contexts: readonly TrainingContext[],
  origins: ReadonlyMap<Int32Array, Origin>,
  last: { readonly exact: string | null; readonly ranks: string | null },
): Promise<ReadonlyMap<string, Divergence>> {
  const held = await runtime.snapshots();
  const snapshot = await runtime.freeze();
  try {
    const scores = await runtime.score(snapshot, contexts, config.sampling.temperature, signal);
    const exact =
      last.exact === null
        ? null
        : await runtime.divergence(last.exact, snapshot, contexts, config.sampling.temperature, signal);
    const ranks = new Map<string, RankShift>();
    for (const [role, own] of last.ranks === null ? [] : Map.groupBy(contexts, (one) => one.role ?? '')) {
      ranks.set(role, await runtime.rankShift(last.ranks ?? '', snapshot, own, config.sampling.temperature, signal));
    }
    const moved = contexts.flatMap(({ role = '', messages }, index) =>
      messages.map(({ tokens, behaviour, advantages: [advantage = 0] }, number) => {
        const origin = origins.get(tokens);
        return {
          role,
          before: behaviour,
          advantage,
          after: scores[index]?.[number] ?? behaviour,
          ...(exact !== null && { exact: exact[index]?.[number] ?? new Float32Array() }),
          ...(origin !== undefined && { origin }),
        };
      }),
    );
    return new Map(
      [...Map.groupBy(moved, ({ role }) => role)].map(([role, own]) => {
        const shift = ranks.get(role);
        return [role, { ...messageDivergence(own), ...(shift !== undefined && { ranks: shift }) }];
      }),
    );
  } finally {
    if (!held.includes(snapshot)) {
      await runtime.releaseSnapshot(snapshot);
    }
  }
}
