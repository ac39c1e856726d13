/** Weights of tokens in the loss of an update. */

import type { TrainingContext, TrainingMessage } from '../runtime/train/graph/pack.ts';
import type { RunConfig } from './config/config.ts';

/** The unit whose instances all count the same in the loss. */
export type LossWeight = RunConfig['ppo']['loss_weight'] | 'sequence';

/**
 * Returns the contexts of an update with the weights that a configuration asks for. Each role's
 * adapter takes its own step.
 * @param parts the number of optimizer steps that share the contexts; the weights of each step sum to
 *   about 1
 * @param whole true if the contexts include all messages
 * @param unit replaces the unit that the configuration names
 */
export function applyLossWeights(
  { ppo, adapter }: Pick<RunConfig, 'ppo' | 'adapter'>,
  contexts: readonly TrainingContext[],
  {
    parts = 1,
    whole = true,
    unit = ppo.loss_weight,
  }: { readonly parts?: number; readonly whole?: boolean; readonly unit?: LossWeight | undefined } = {},
): readonly TrainingContext[] {
  // A step uses the mean over its tokens if no weights are given.
  return unit === 'token' && parts === 1 && whole
    ? contexts
    : weightMessages(contexts, unit, { apart: adapter?.per === 'role', parts });
}

/**
 * Returns the contexts with the weight of each message's tokens. All weights together sum to 1, except
 * for `sequence`.
 *
 *   token    w = 1 / T
 *   message  w = 1 / (M |a|)
 *   role     w = 1 / (M_v S),    S = sum over roles u of T_u / M_u
 *   sequence w = 1 / M
 *
 * T is the number of tokens and M the number of messages; T_v and M_v are those of role v, and |a| is
 * the number of tokens in the message. `role` is C3's equation 18, which treats all roles v alike:
 *
 *   J_v = E over h of E over a ~ policy(. | h) of Q(h, a)
 *
 * Its gradient is estimated by the mean over the M_v messages of A times the gradient of
 * log policy(a | h), which is a sum over the tokens of a. Each token counts 1 / M_v, so the number of
 * messages that a role was sampled does not matter. S is the same for all tokens and keeps loss and KL
 * penalty means per token. If all roles have the same number of messages, `role` equals `token`.
 * `sequence` is the mean over messages of the sum over tokens: its weights sum to T / M.
 *
 * A message with credit 0 counts like any other, and a message with copies counts once per copy.
 *
 * @param apart true if each role takes its own optimizer steps
 * @param parts the number of optimizer steps that share the contexts; the weights are multiplied by it
 */
export function weightMessages(
  contexts: readonly TrainingContext[],
  unit: LossWeight,
  { apart = false, parts = 1 }: { readonly apart?: boolean; readonly parts?: number } = {},
): TrainingContext[] {
  const stepOf = ({ role }: TrainingContext): string | undefined => (apart ? role : undefined);
  const steps = new Map([...Map.groupBy(contexts, stepOf)].map(([step, own]) => [step, makeWeightFunction(unit, own)]));
  return contexts.map((context) => ({
    ...context,
    messages: context.messages.map((message) => ({
      ...message,
      weight: parts * (steps.get(stepOf(context))?.(context, message) ?? 0),
    })),
  }));
}

/** Returns the weight of a message's tokens, by its context. */
type WeightOf = (context: Pick<TrainingContext, 'role'>, message: Pick<TrainingMessage, 'tokens'>) => number;

function makeWeightFunction(unit: LossWeight, contexts: readonly TrainingContext[]): WeightOf {
  const totals = countTotals(contexts);
  switch (unit) {
    case 'token':
      return () => 1 / totals.tokens;
    case 'sequence':
      return () => 1 / totals.messages;
    case 'message':
      return (_, { tokens }) => 1 / (totals.messages * tokens.length);
    case 'role': {
      const roles = new Map(
        [...Map.groupBy(contexts, ({ role }) => role)].map(([role, own]) => [role, countTotals(own)]),
      );
      const weights = new Map(
        [...roles].map(([role, { messages }]) => [
          role,
          1 / [...roles.values()].reduce((sum, other) => sum + other.tokens * (messages / other.messages), 0),
        ]),
      );
      return ({ role }) => weights.get(role) ?? 0;
    }
  }
}

interface Totals {
  readonly tokens: number;
  readonly messages: number;
}

const countTotals = (contexts: readonly TrainingContext[]): Totals =>
  contexts
    .flatMap(({ messages }) => messages)
    .reduce<Totals>(
      (sum, { tokens, copies = 1 }) => ({
        tokens: sum.tokens + copies * tokens.length,
        messages: sum.messages + copies,
      }),
      { tokens: 0, messages: 0 },
    );

/**
 * Returns the contexts of an update whose loss is the mean over messages. With M messages and T tokens
 * in all, every token counts 1 / T and a message's advantage is divided by its length, so that with
 * the ratios w of messages
 *
 *   sum over tokens of w A / |a| * (T / M) / T = 1 / M * sum over messages of w A
 *
 * (TeamTR reference section 3). A divergence per token times T / M is 1 / M times the sums over the
 * messages' tokens.
 * @returns the contexts, and T / M: the mean length of a message, or 0 without messages
 */
export function scaleToMessageMean(contexts: readonly TrainingContext[]): {
  readonly contexts: TrainingContext[];
  readonly length: number;
} {
  const { tokens, messages } = countTotals(contexts);
  const length = messages === 0 ? 0 : tokens / messages;
  return {
    length,
    contexts: contexts.map((context) => ({
      ...context,
      messages: context.messages.map((message) => ({
        ...message,
        advantages: message.advantages.map((advantage) => (advantage * length) / message.tokens.length),
      })),
    })),
  };
}
