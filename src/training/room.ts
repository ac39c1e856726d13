/** Checks that the contexts of a run fit into its model, as far as that can be known in advance. */

import type { Sampling } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import { checkPositions } from '../policy/policy.ts';
import type { Tokenizer } from '../policy/tokenizer.ts';
import { describePlace, findRoleSampling } from '../replay/grow.ts';
import { findCapabilities, type RolePolicies } from '../shared/rolePolicies.ts';
import type { Protocol } from '../team/protocol.ts';
import { renderContext, type Renderer } from '../team/render.ts';
import type { RunConfig } from './config/config.ts';

/** Returns all problems that a run may use. */
export const listRunProblems = (
  { steps, instances_per_step: perStep }: RunConfig,
  { train, evaluation }: { readonly train: readonly Problem[]; readonly evaluation: readonly Problem[] },
): Problem[] => [...evaluation, ...train.slice(0, steps * perStep)];

export interface RoomInput {
  readonly protocol: Protocol;
  /** The policies of roles that the run's model does not answer for. */
  readonly policies?: RolePolicies | undefined;
  readonly render: Renderer;
  readonly tokenizer: Tokenizer;
  readonly sampling: Sampling;
  /** The number of positions of the model. */
  readonly maxPositions: number;
  /** The models of roles that another model answers for. */
  readonly others?: ReadonlyMap<string, Pick<RoomInput, 'tokenizer' | 'maxPositions'>>;
}

/**
 * The largest number of tokens per byte that a tokenizer of the supported families makes of a text:
 * byte-level tokens after Unicode normalization.
 */
const TOKENS_PER_BYTE = 3;
/** The number of contexts rendered at once. */
const TOGETHER = 256;

/**
 * Checks every context of these problems with blank messages; longer contexts are refused when they
 * come up.
 * @throws C3Error('input') with the role and the problem of the first context that cannot fit whatever
 *   is said
 */
export async function checkContexts(
  { protocol, policies, render, sampling, others, ...own }: RoomInput,
  problems: readonly Problem[],
): Promise<void> {
  for (const { ancestors, position, id, role } of protocol.occurrences) {
    if (!findCapabilities(policies, role).tokens) {
      continue;
    }
    const { tokenizer, maxPositions } = others?.get(role) ?? own;
    const { maxNewTokens } = findRoleSampling({ protocol, sampling }, position);
    const blank = new Map(ancestors.map((ancestor) => [ancestor, '']));
    for (let from = 0; from < problems.length; from += TOGETHER) {
      const some = problems.slice(from, from + TOGETHER);
      const contexts = await Promise.all(
        some.map(async ({ question }) => render(renderContext(protocol, position, question, blank), role)),
      );
      for (const [index, context] of contexts.entries()) {
        if (TOKENS_PER_BYTE * Buffer.byteLength(context) + maxNewTokens <= maxPositions) {
          continue;
        }
        checkPositions(
          (await tokenizer.encode(context)).length,
          maxNewTokens,
          maxPositions,
          describePlace(id, some[index]?.uid ?? ''),
        );
      }
    }
  }
}
