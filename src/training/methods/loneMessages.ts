/** Credit of messages that have no sibling to be compared with. */

import type { TreeMessage } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { MethodSettings } from './method.ts';

/**
 * Returns true if a message without a sibling gets the credit of the message before it. This is not so
 * with common random numbers: the message and the baseline of its parent would come from the same
 * numbers, and a baseline that depends on the message biases the gradient.
 */
export const inheritsCredit = ({
  lone_messages: lone,
  common_random_numbers: common,
}: MethodSettings['credit']): boolean => lone === 'parent' && !common;

/**
 * Yields the credits of messages without siblings. Each gets the credit of the message before it: its
 * returns are the same, and their baseline does not depend on it. With one continuation of each
 * alternative this is the credit of whole episodes.
 * @param own credits of messages with siblings, by their own returns
 */
export function* creditLoneMessages(
  siblings: readonly TreeMessage[],
  own: ReadonlyMap<TreeMessage, Credit>,
  above?: Credit,
): Generator<readonly [TreeMessage, Credit]> {
  for (const message of siblings) {
    const isLone = siblings.length === 1 && above !== undefined;
    if (isLone) {
      yield [message, above];
    }
    yield* creditLoneMessages(message.children, own, isLone ? above : own.get(message));
  }
}
