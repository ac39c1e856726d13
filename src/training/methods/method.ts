/** What sets the methods apart: how an iteration samples under the evaluator budget, and which credit each message gets. Prompts, decoding, optimiser, clipping and KL are the same for all. */
import { creditGroup, type CreditEstimator } from '../../credit/estimators.ts';
import { alternativeReturns, type AlternativeReturns, type TreeCreditRule } from '../../replay/record.ts';
import type { TreeNode } from '../../replay/tree.ts';
import type { Credit } from '../../shared/records/records.ts';
import type { Protocol } from '../../team/protocol.ts';

/** What a method reads of a run's configuration. */
export interface MethodSettings {
  readonly fanout: readonly number[];
  readonly evaluator_budget: number;
  readonly credit: { readonly estimator: CreditEstimator; readonly alpha: number; readonly group_normalise: boolean; readonly common_random_numbers: boolean; readonly return_clip: number };
}

/** What the value head judges: the state in which a message is said, V(s), or the message in its state, q(s, a). */
export type Judged = 'state' | 'message';

export interface Method {
  /** Messages sampled per position of the protocol, for one instance. */
  readonly fanout: (settings: MethodSettings, protocol: Protocol) => readonly number[];
  /** Why that cannot be had, in one sentence; null where it can. */
  readonly problem: (settings: MethodSettings, protocol: Protocol) => string | null;
  /** Whether replay m of one alternative draws the random numbers of replay m of its siblings. */
  readonly commonRandomNumbers: (settings: MethodSettings) => boolean;
  /** The name under which credits are stored and learned from. */
  readonly estimator: (settings: MethodSettings) => CreditEstimator;
  /** Whether what is compared is the messages of one context, or those of one role in all episodes of an instance. */
  readonly compared: 'context' | 'instance';
  /** What credits take a value of, of each message, and the value head learns; null where there is none. */
  readonly judged: (settings: MethodSettings) => Judged | null;
  /** The credits of one instance's trees, group of siblings by group of siblings. @param roots all of the instance's @param values by message, where the method has something judged */
  readonly credits: (roots: readonly TreeNode[], settings: MethodSettings, values: ReadonlyMap<TreeNode, number>) => TreeCreditRule;
}

/** Credits of a group; all are null while fewer than two members have a return, for there is nothing to compare with. */
export function comparedCredits(members: readonly (AlternativeReturns & { readonly value?: number | undefined })[], estimator: CreditEstimator, alpha?: number): readonly (Credit | null)[] {
  const measured = members.filter(({ returns }) => returns.some((value) => value !== null)).length;
  return measured < 2 ? members.map(() => null) : creditGroup({ alternatives: members, alpha }, estimator);
}

/** Every message gets the credit of the episode that it stands in; the group is all episodes of the instance. Each root begins one episode. */
export function episodeCredits(roots: readonly TreeNode[], estimator: CreditEstimator, bound: number): TreeCreditRule {
  const credits = comparedCredits(roots.map((root) => alternativeReturns(root, bound)), estimator);
  return (_, siblings) => siblings.map(({ alternative }) => credits[alternative] ?? null);
}
