/**
 * The two orders in which credits are listed: the clearest first, and the lowest first. Every list,
 * panel, command and statement of the store uses them; the sort keys of a statement are tested against
 * these functions. Pure.
 */

import { isDecided, type Headline } from './headline.ts';

/** The fields of a credit that both orders use. */
export type Ordered = Pick<Headline, 'value' | 'low' | 'high' | 'verdict'>;

/** Least half width of an interval in both orders, so that an interval without width has an order. */
export const LEAST_HALF_WIDTH = 1e-9;

/**
 * Returns a credit in units of its uncertainty, signed: its value divided by half the width of its
 * interval, which is the standard error times a factor that all credits share. A value near 0 in a
 * wide interval has the smallest amount.
 * @returns null if the interval has no bounds
 */
export function standardizeCredit({ value, low, high }: Omit<Ordered, 'verdict'>): number | null {
  return low === null || high === null ? null : value / Math.max((high - low) / 2, LEAST_HALF_WIDTH);
}

/**
 * Returns the clearness of a credit; more is clearer. It is at least 1 if the interval excludes 0,
 * else below 0. Within both groups it increases with the amount in units of the uncertainty, z: 1 + z,
 * and -1 / (1 + z), which is in [-1, 0).
 * @returns null for a message that is alone, and for an undecided one without bounds
 */
export function measureClearness(credit: Ordered): number | null {
  const own = standardizeCredit(credit);
  if (credit.verdict === 'alone' || (own === null && !isDecided(credit))) {
    return null;
  }
  const z = Math.abs(own ?? 0);
  return isDecided(credit) ? 1 + z : -1 / (1 + z);
}

/** A message with its credit. The id decides between equal credits. */
export interface OrderedMessage {
  readonly id: number;
  readonly credit: Ordered | null;
}

/**
 * Compares by clearness, the clearest first, and null last. The order is total: equal messages are in
 * the order of ids.
 */
export function compareClearness(a: OrderedMessage, b: OrderedMessage): number {
  const of = ({ credit }: OrderedMessage): number => (credit === null ? null : measureClearness(credit)) ?? -Infinity;
  const [left, right] = [of(a), of(b)];
  return left === right ? a.id - b.id : right - left;
}

/** Returns the clearest of some messages, or null if none has a clearness. */
export function findClearest<M extends OrderedMessage>(messages: readonly M[]): M | null {
  const said = messages.filter(({ credit }) => credit !== null && measureClearness(credit) !== null);
  return said.toSorted(compareClearness)[0] ?? null;
}

/**
 * Returns true if a message may have the lowest credit: it hurt, or is undecided. Other messages
 * helped, or were not compared.
 */
export const mayBeLowest = (credit: Ordered | null): credit is Ordered =>
  credit !== null && (credit.verdict === 'hurt' || credit.verdict === 'undecided');

/**
 * Compares by credit, the lowest first: messages that hurt, then undecided ones, and in each group
 * those farthest below 0 in units of their uncertainty. A credit without bounds counts as 0. Equal
 * credits are in the order of their values, then of their ids, so that the order is total. Only for
 * messages that may be lowest.
 */
export function compareLowness(
  a: { readonly id: number; readonly credit: Ordered },
  b: { readonly id: number; readonly credit: Ordered },
): number {
  const of = ({ id, credit }: typeof a): readonly number[] => [
    credit.verdict === 'hurt' ? 0 : 1,
    standardizeCredit(credit) ?? 0,
    credit.value,
    id,
  ];
  const [left, right] = [of(a), of(b)];
  const at = left.findIndex((value, index) => value !== right[index]);
  return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
