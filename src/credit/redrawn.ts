/**
 * Credits of messages that were drawn until enough of them were distinct.
 *
 * In a context, messages are drawn one after another until N are distinct or a limit is reached. Let T
 * be the number of draws, c_x the number of draws of text x, and R_x its return. For any two draws
 * that are compared before the others, say the first two, the gradient of log policy(a_1) times (R_1 -
 * R_2) is an unbiased estimate of the gradient of the expected return. So is its expectation over all
 * orders in which these messages can have been drawn (Rao and Blackwell), which are equally likely:
 *
 *   if fewer than N are distinct: every order, so each pair counts 1 / (T (T - 1))
 *   if N are distinct: every order that ends with a text that was drawn once, since drawing ended
 *   with it. There are m such texts. For a pair of texts x, y of which s were drawn once, another
 *   text is last in 1 - s / m of the orders, so each pair of their draws counts
 *   (1 - s / m) / ((T - 1) (T - 2))
 *
 * The weight of a text is the sum over all pairs with it:
 * W_x = sum over y of count_xy c_x c_y (R_x - R_y). It is given to N messages in all, whatever was
 * drawn: first to one message of each text, then to further ones of the same texts. The mean over
 * credited messages then divides by a number that does not depend on the draws.
 */

import type { Credit } from '../shared/credit/credit.ts';
import { creditIfComparable } from './compared.ts';
import { mergeDraws, scaleCreditBounds, type MergedMember } from './merged.ts';

/**
 * Returns the credits of the messages of a context.
 * @param members in the order of their drawing
 * @param planned N: the number of first draws, and of distinct texts to reach
 * @returns in order; null for messages behind an equal one that are not credited, and if no return is
 *   known
 * @throws C3Error('input') as creditGroup
 */
export function creditRedrawnMessages(members: readonly MergedMember[], planned: number): readonly (Credit | null)[] {
  const texts = [...Map.groupBy(members.keys(), (index) => members[index]?.text ?? '').values()].map((indices) => {
    const draws = indices.flatMap((index) => members[index] ?? []);
    const returns = draws.flatMap((draw) => draw.returns).filter((value) => value !== null);
    const [first] = returns;
    // A text has one return. The first is taken because the mean of equal ones may differ from it
    // in the last bit.
    return { indices, count: draws.length, value: first ?? null, alternative: mergeDraws(draws) };
  });
  const draws = members.length;
  const isFull = texts.length >= planned;
  const once = texts.filter(({ count }) => count === 1).length;
  const differences = creditIfComparable(
    texts.map(({ alternative }) => alternative),
    'loo',
  );
  // If all are equal, there is no other text, and still `planned` messages get a credit of 0.
  const own = creditIfComparable(members, 'loo');
  const rows = chooseCreditedMessages(
    texts.map(({ indices }) => indices),
    planned,
  );
  const credits: (Credit | null)[] = members.map(() => null);
  for (const [place, { count, value }] of texts.entries()) {
    const credited = rows[place] ?? [];
    if (value === null) {
      continue;
    }
    let worth = 0;
    for (const other of texts) {
      if (other.value === null || other.indices === texts[place]?.indices) {
        continue;
      }
      const single = (count === 1 ? 1 : 0) + (other.count === 1 ? 1 : 0);
      const pair = isFull ? (1 - single / once) / ((draws - 1) * (draws - 2)) : 1 / (draws * (draws - 1));
      worth += pair * count * other.count * (value - other.value);
    }
    const each = (planned * worth) / credited.length;
    for (const index of credited) {
      const credit = own[index] ?? null;
      credits[index] =
        credit === null ? null : { ...credit, value: each, ...scaleCreditBounds(each, differences[place] ?? null) };
    }
  }
  return credits;
}

/** Returns the credited messages of each text: its first, then further ones up to `planned` in all. */
function chooseCreditedMessages(texts: readonly (readonly number[])[], planned: number): number[][] {
  const rows = texts.map(([first]) => (first === undefined ? [] : [first]));
  const further = texts
    .flatMap((indices, text) => indices.slice(1).map((index) => ({ index, text })))
    .toSorted((a, b) => a.index - b.index)
    .slice(0, Math.max(0, planned - texts.length));
  for (const { index, text } of further) {
    rows[text]?.push(index);
  }
  return rows;
}
