/** What messages are worth that have no sibling to be compared with. */
import type { TreeMessage } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { MethodSettings } from './method.ts';

/**
 * Whether a message without a sibling has the credit of the message before it. Not on shared numbers: what it says and
 * what its parent is compared with would come from the same ones, and a baseline that knows the message biases the
 * gradient.
 */
export const inheritsCredit = ({
  lone_messages: lone,
  common_random_numbers: common,
}: MethodSettings['credit']): boolean => lone === 'parent' && !common;

/**
 * A message without a sibling has what the message before it is worth: its returns are the same, and what they are
 * compared with does not depend on it. With one continuation of each alternative that is the credit of whole episodes.
 * @param own what messages with siblings are worth by their own returns
 */
export function* loneCredits(
  siblings: readonly TreeMessage[],
  own: ReadonlyMap<TreeMessage, Credit>,
  above?: Credit,
): Generator<readonly [TreeMessage, Credit]> {
  for (const message of siblings) {
    const isLone = siblings.length === 1 && above !== undefined;
    if (isLone) {
      yield [message, above];
    }
    yield* loneCredits(message.children, own, isLone ? above : own.get(message));
  }
}
