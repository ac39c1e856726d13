/** What each token counts in the loss of an update. */
import type { TrainingContext, TrainingMessage } from '../runtime/train/graph/pack.ts';
import type { RunConfig } from './config/config.ts';

/** What counts the same, each with any other. */
export type LossWeight = RunConfig['ppo']['loss_weight'] | 'sequence';

/**
 * The contexts of an update with the weights that a configuration asks for. Each role's adapter takes its own step.
 * @param parts of how many optimizer steps they are: the weights of each come to 1, or nearly, as those of all would
 * @param whole whether no message is left out of them
 * @param unit in the place of the one that the configuration names
 */
export function weightedFor(
  { ppo, adapter }: Pick<RunConfig, 'ppo' | 'adapter'>,
  contexts: readonly TrainingContext[],
  {
    parts = 1,
    whole = true,
    unit = ppo.loss_weight,
  }: { readonly parts?: number; readonly whole?: boolean; readonly unit?: LossWeight | undefined } = {},
): readonly TrainingContext[] {
  // The mean over its tokens is what a step takes where nothing is said.
  return unit === 'token' && parts === 1 && whole
    ? contexts
    : weighted(contexts, unit, { apart: adapter?.per === 'role', parts });
}

/**
 * The contexts, each message with what every one of its tokens counts; the weights of all together come to 1, but for
 * `sequence`.
 *
 *   token    w = 1 / T
 *   message  w = 1 / (M |a|)
 *   role     w = 1 / (M_v S),    S = sum over roles u of T_u / M_u
 *   sequence w = 1 / M
 *
 * T tokens and M messages, T_v and M_v of them of role v, |a| tokens in the message. `role` is C3's equation 18, for
 * every role v alike:
 *
 *   J_v = E over h of E over a ~ policy(. | h) of Q(h, a)
 *
 * Its gradient is estimated by the mean over the M_v messages of A times the gradient of log policy(a | h), which is a
 * sum over the tokens of a: each counts 1 / M_v, however many messages a role was sampled. S is the same for all
 * tokens: with it loss and KL penalty stay means per token. Where all roles have as many messages, `role` is `token`.
 * `sequence` is the mean over messages of the sum over tokens: all weights together come to T / M.
 *
 * A message whose credit is 0 counts as any other, and equal messages that are learned from at once as so many.
 *
 * @param apart whether each role takes steps of its own
 * @param parts in how many steps they are learned from: as many times the weight, for one of them
 */
export function weighted(
  contexts: readonly TrainingContext[],
  unit: LossWeight,
  { apart = false, parts = 1 }: { readonly apart?: boolean; readonly parts?: number } = {},
): TrainingContext[] {
  const stepOf = ({ role }: TrainingContext): string | undefined => (apart ? role : undefined);
  const steps = new Map([...Map.groupBy(contexts, stepOf)].map(([step, own]) => [step, weightsBy(unit, own)]));
  return contexts.map((context) => ({
    ...context,
    messages: context.messages.map((message) => ({
      ...message,
      weight: parts * (steps.get(stepOf(context))?.(context, message) ?? 0),
    })),
  }));
}

/** What a message's tokens count, by its context. */
type WeightOf = (context: Pick<TrainingContext, 'role'>, message: Pick<TrainingMessage, 'tokens'>) => number;

function weightsBy(unit: LossWeight, contexts: readonly TrainingContext[]): WeightOf {
  const totals = totalsOf(contexts);
  switch (unit) {
    case 'token':
      return () => 1 / totals.tokens;
    case 'sequence':
      return () => 1 / totals.messages;
    case 'message':
      return (_, { tokens }) => 1 / (totals.messages * tokens.length);
    case 'role': {
      const roles = new Map([...Map.groupBy(contexts, ({ role }) => role)].map(([role, own]) => [role, totalsOf(own)]));
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

const totalsOf = (contexts: readonly TrainingContext[]): Totals =>
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
 * The contexts of an update whose loss is the mean over messages, of M messages with T tokens in all: every token
 * counts 1 / T, and a message's advantage is divided by its length, so that with ratios of messages w
 *
 *   sum over tokens of w A / |a| * (T / M) / T = 1 / M * sum over messages of w A
 *
 * (TeamTR reference section 3). A divergence per token times T / M is 1 / M times the sums over the messages' tokens.
 * @returns the contexts, and T / M: the mean length of a message, 0 without one
 */
export function messageMean(contexts: readonly TrainingContext[]): {
  readonly contexts: TrainingContext[];
  readonly length: number;
} {
  const { tokens, messages } = totalsOf(contexts);
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
