/**
 * The two orders in which credits are listed: the clearest first, and the lowest first. Every list, panel, command and
 * statement of the store takes them from here; what a statement sorts by is tested against these functions. Pure.
 */
import { isDecided, type Headline } from './headline.ts';

/** What both orders read of a credit. */
export type Ordered = Pick<Headline, 'value' | 'low' | 'high' | 'verdict'>;

/** An interval is taken to be at least this wide on either side, so that one without width still has an order. */
export const LEAST_HALF_WIDTH = 1e-9;

/**
 * A credit in units of its uncertainty: its value over half the width of its interval, which stands for the standard
 * error times a factor that all credits share. Signed, without unit. A value near 0 in a wide interval says the least.
 * @returns null where the interval has no bounds
 */
export function standardized({ value, low, high }: Omit<Ordered, 'verdict'>): number | null {
  return low === null || high === null ? null : value / Math.max((high - low) / 2, LEAST_HALF_WIDTH);
}

/**
 * How clear a credit is; more is clearer. From 1 on where its interval leaves 0, below 0 where it does not, and among
 * those by its amount in units of its uncertainty, z: 1 + z, and -1 / (1 + z), which lies in [-1, 0).
 * @returns null where nothing is to be said: of a message that is alone, and of an undecided one without bounds
 */
export function clearness(credit: Ordered): number | null {
  const own = standardized(credit);
  if (credit.verdict === 'alone' || (own === null && !isDecided(credit))) {
    return null;
  }
  const z = Math.abs(own ?? 0);
  return isDecided(credit) ? 1 + z : -1 / (1 + z);
}

/** A message with its credit; its id is what decides between equals. */
export interface OrderedMessage {
  readonly id: number;
  readonly credit: Ordered | null;
}

/** The clearest first; where nothing is to be said, last. A total order: equals are in the order of their ids. */
export function clearestFirst(a: OrderedMessage, b: OrderedMessage): number {
  const of = ({ credit }: OrderedMessage): number => (credit === null ? null : clearness(credit)) ?? -Infinity;
  const [left, right] = [of(a), of(b)];
  return left === right ? a.id - b.id : right - left;
}

/** The clearest of some; null where nothing is to be said of any. */
export function clearestOf<M extends OrderedMessage>(messages: readonly M[]): M | null {
  const said = messages.filter(({ credit }) => credit !== null && clearness(credit) !== null);
  return said.toSorted(clearestFirst)[0] ?? null;
}

/**
 * Whether a message can be the one of the lowest credit: one that hurt, or of which that is not decided. The others
 * helped, or were not compared.
 */
export const mayBeLowest = (credit: Ordered | null): credit is Ordered =>
  credit !== null && (credit.verdict === 'hurt' || credit.verdict === 'undecided');

/**
 * The lowest first: those that hurt, then those that are undecided, and among each those that lie the most below 0 in
 * units of their uncertainty. Without bounds nothing is said, as if that were 0: after all that lie below 0. Equals are
 * in the order of their values, then of their ids, so that the order is total. Only for those that may be lowest.
 */
export function lowestFirst(
  a: { readonly id: number; readonly credit: Ordered },
  b: { readonly id: number; readonly credit: Ordered },
): number {
  const of = ({ id, credit }: typeof a): readonly number[] => [
    credit.verdict === 'hurt' ? 0 : 1,
    standardized(credit) ?? 0,
    credit.value,
    id,
  ];
  const [left, right] = [of(a), of(b)];
  const at = left.findIndex((value, index) => value !== right[index]);
  return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
