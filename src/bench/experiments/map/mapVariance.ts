/**
 * How much the estimated gradient of the player varies, as the credits of an untrained team show it. Pure: numbers in,
 * numbers out.
 *
 * Piles on one side of the table score alike, so between two of them the gradient of the policy is nearly 0 and what is
 * estimated is noise. With A the credit of a message, the gradient by the logit of a pile is, as far as a hand's n
 * messages estimate it,
 *
 *   G_pile = 1 / n * sum over the messages that name the pile of A
 *
 * and the noise of a hand is the sum of (G_p - G_q)^2 over neighbors p, q on one side. MAGRPO's baseline holds the
 * message itself, which shortens its gradient to (n - 1) / n: both are compared at the length of the true one.
 */
import { ratioOfMeans } from '../../../credit/ratio.ts';
import type { Interval } from '../../../domain/credit.ts';
import type { MapMethod, MapPlace } from './mapTable.ts';

/** A message of the player with its credit. */
export interface PlayerMessage {
  /** Names its hand: equal for both methods. */
  readonly hand: string;
  readonly text: string;
  readonly credit: number;
}

/** The variance of C3's gradient of the player over MAGRPO's, in a place. */
export interface MapVariance extends MapPlace {
  /** Fieller's interval over hands. */
  readonly ratio: Interval;
}

/** Neighbors on one side of the table. */
const PAIRS = ['AB', 'CD', 'EF', 'GH'];

/** The noise of each hand, by hand. */
export function handNoise(messages: readonly PlayerMessage[], method: MapMethod): ReadonlyMap<string, number> {
  return new Map(
    [...Map.groupBy(messages, ({ hand }) => hand)].map(([hand, own]) => {
      const length = method === 'magrpo' ? (own.length - 1) / own.length : 1;
      const ofPile = (pile: string): number =>
        own.reduce((sum, { text, credit }) => sum + (text.trimEnd().endsWith(` ${pile}`) ? credit : 0), 0);
      const noise = PAIRS.reduce((sum, [one = '', other = '']) => sum + (ofPile(one) - ofPile(other)) ** 2, 0);
      return [hand, noise / (own.length * length) ** 2];
    }),
  );
}

/** C3's noise over MAGRPO's on the hands that both have; null where there are none or MAGRPO has no noise. */
export function noiseRatio(c3: ReadonlyMap<string, number>, magrpo: ReadonlyMap<string, number>): Interval | null {
  const hands = [...c3.keys()].filter((hand) => magrpo.has(hand));
  const of = (noise: ReadonlyMap<string, number>): number[] => hands.map((hand) => noise.get(hand) ?? 0);
  return of(magrpo).some((value) => value > 0) ? ratioOfMeans(of(c3), of(magrpo)) : null;
}
