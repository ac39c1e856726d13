/**
 * The variance of the estimated gradient of the player, measured on the credits of an untrained
 * team. Pure: numbers in, numbers out.
 *
 * Piles on one side of the table score alike. The gradient of the policy between two of them is
 * therefore nearly 0, and its estimate is noise. With A the credit of a message, the estimate of
 * the gradient by the logit of a pile from the n messages of a hand is
 *
 *   G_pile = 1 / n * sum over the messages that name the pile of A
 *
 * and the noise of a hand is the sum of (G_p - G_q)^2 over neighbors p, q on one side. The baseline
 * of MAGRPO includes the message itself, which shortens its gradient to (n - 1) / n. Both methods
 * are compared at the length of the true gradient.
 */

import { ratioOfMeans } from '../../../credit/ratio.ts';
import type { Interval } from '../../../domain/credit.ts';
import type { MapMethod, MapPlace } from './mapTable.ts';

/** A message of the player with its credit. */
export interface PlayerMessage {
  /** Key of its hand, the same for both methods. */
  readonly hand: string;
  readonly text: string;
  readonly credit: number;
}

/** The ratio of the variances of the player's gradient, C3 over MAGRPO, at a place. */
export interface MapVariance extends MapPlace {
  /** Fieller's interval over hands. */
  readonly ratio: Interval;
}

/** Neighboring piles on one side of the table. */
const PAIRS = ['AB', 'CD', 'EF', 'GH'];

/** Returns the noise of each hand. */
export function computeHandNoise(messages: readonly PlayerMessage[], method: MapMethod): ReadonlyMap<string, number> {
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

/** Returns C3's noise over MAGRPO's on common hands, or null if MAGRPO has no noise there. */
export function computeNoiseRatio(
  c3: ReadonlyMap<string, number>,
  magrpo: ReadonlyMap<string, number>,
): Interval | null {
  const hands = [...c3.keys()].filter((hand) => magrpo.has(hand));
  const of = (noise: ReadonlyMap<string, number>): number[] => hands.map((hand) => noise.get(hand) ?? 0);
  return of(magrpo).some((value) => value > 0) ? ratioOfMeans(of(c3), of(magrpo)) : null;
}
