/**
 * A bundled task: hands of a card game whose first message, the dealer's, decides how much a hand can
 * score. The share of the first message in the variance of the return (rho) is known and can be
 * chosen.
 *
 * A hand shows one card for each seat. Each role names a pile for its own card and repeats the
 * messages before it: `dealer owl C, first oak F, second tin B`. The last message is scored by its
 * points:
 * - a player's pile on the side of the table that is right for the card scores `player`. The house's rule for a card is
 *   fixed and never shown: a team can learn it;
 * - the dealer's pile on the right side scores `dealer`, in the same way;
 * - half of the dealer's piles are lucky and score `luck`. They depend on the hash of the hand, so that they cannot be
 *   learned.
 *
 * In a team that chooses all piles with equal chances, the dealer adds (luck^2 + dealer^2) / 4 to the
 * variance of the points, and each of the n - 1 players adds player^2 / 4: so rho = (luck^2 +
 * dealer^2) / ((n - 1) player^2).
 */

import { C3Error } from '../../shared/errors.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { HashedStream } from '../hashedStream.ts';
import { distinctQuestions, uidSha } from '../uid.ts';

/** Seats in the order in which they speak, by the names of their roles. */
const SEAT_NAMES = ['dealer', 'first', 'second', 'third', 'fourth', 'fifth'] as const;

/** The cards of each seat; no two seats share a card. */
export const SEATS: readonly (readonly string[])[] = [
  'owl fox bear wolf hare crow deer goat'.split(' '),
  'oak elm ash fir pine palm teak yew'.split(' '),
  'gold iron lead zinc tin jade opal ruby'.split(' '),
  'saw axe file nail bolt vise drill hammer'.split(' '),
  'pear plum lime fig kiwi date grape lemon'.split(' '),
  'harp drum lute horn flute cello viola oboe'.split(' '),
];

/** The piles on both sides of the table. */
export const SIDES: readonly [readonly string[], readonly string[]] = [
  ['A', 'B', 'C', 'D'],
  ['E', 'F', 'G', 'H'],
];

/** Points of a player's right pile. */
const PLAYER = 60;
/** Points of the dealer's right pile at levels with luck: a third of a player's. */
const DEALER = 20;

export interface LevelRule {
  readonly level: number;
  /** Rho in a team that chooses all words with equal chances. */
  readonly rho: number;
  /** The part of the dealer's message that counts: mostly luck, or only the learnable right side. */
  readonly by: 'luck' | 'skill';
}

const LEVEL_RULES: readonly LevelRule[] = [
  { level: 1, rho: 0.2, by: 'luck' },
  { level: 2, rho: 1, by: 'luck' },
  { level: 3, rho: 3, by: 'luck' },
  { level: 4, rho: 8, by: 'luck' },
  { level: 5, rho: 0.2, by: 'skill' },
  { level: 6, rho: 1, by: 'skill' },
  { level: 7, rho: 3, by: 'skill' },
  { level: 8, rho: 8, by: 'skill' },
];

/** The house's rule: the cards of each seat for which the first side of the table is right. */
const RULES: readonly ReadonlySet<string>[] = SEATS.map((cards, seat) =>
  drawHalf(cards, new HashedStream(`dealer rule\0${seat}`)),
);

/** Share of careful demonstrations that name a pile on the right side. */
const CAREFUL_SHARE = 0.7;

const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];

/** The points of a hand. */
export interface Stakes {
  readonly luck: number;
  readonly dealer: number;
  readonly player: number;
  /** Points of a lucky hand in which all roles are right. */
  readonly total: number;
}

/** Returns the rule of a level. @throws C3Error('input') for an unknown level */
export function findLevelRule(level: number): LevelRule {
  const rule = LEVEL_RULES.find((one) => one.level === level);
  if (rule === undefined) {
    throw new C3Error('input', `The dealer task has the levels 1 to ${LEVEL_RULES.length}, not ${level}.`);
  }
  return rule;
}

/**
 * Returns the stakes at a level, in whole points.
 * @param roles number of roles in the team, including the dealer
 * @throws C3Error('input') for an unknown level
 */
export function computeStakes(level: number, roles: number): Stakes {
  const { rho, by } = findLevelRule(level);
  const upstream = rho * (roles - 1) * PLAYER ** 2;
  const [luck, dealer] =
    by === 'luck' ? [Math.round(Math.sqrt(upstream - DEALER ** 2)), DEALER] : [0, Math.round(Math.sqrt(upstream))];
  return { luck, dealer, player: PLAYER, total: luck + dealer + PLAYER * (roles - 1) };
}

/**
 * Returns the learned share of a return: the points of piles on the right side divided by all such
 * points, without the luck of the hand. Null for a return that no well-formed message has.
 * @param value a return in [0, 1]
 */
export function measureLearnedShare(value: number, level: number, roles: number): number | null {
  const { luck, dealer, player, total } = computeStakes(level, roles);
  const points = Math.round(value * total);
  for (const lucky of [0, luck]) {
    for (const right of [0, dealer]) {
      const players = (points - lucky - right) / player;
      if (Number.isInteger(players) && players >= 0 && players < roles) {
        return (right + players * player) / (total - luck);
      }
    }
  }
  return null;
}

/**
 * Yields every distinct hand of a seed, without end.
 * @param levels weights of the levels 1 to 8, by position; missing ones are 0
 * @param sizes team sizes, with equal chances
 * @throws C3Error('input') for invalid levels, or a team larger than the table
 */
export function yieldHands(
  seed: string,
  levels: readonly number[] = DEFAULT_MIX,
  sizes: readonly number[] = [2],
): Iterable<DemonstratedProblem> {
  checkLevels(levels);
  if (sizes.length === 0 || !sizes.every((size) => Number.isInteger(size) && size >= 2 && size <= SEATS.length)) {
    throw new C3Error('input', `The dealer task has teams of 2 to ${SEATS.length} roles, not ${sizes.join(', ')}.`);
  }
  return distinctQuestions(drawHands(seed, levels, sizes));
}

function* drawHands(
  seed: string,
  levels: readonly number[],
  sizes: readonly number[],
): Generator<DemonstratedProblem, never, undefined> {
  for (let index = 0; ; index++) {
    yield drawHand(seed, index, levels, sizes);
  }
}

/** Returns draw `index` of a seed; depends only on its arguments. */
function drawHand(
  seed: string,
  index: number,
  levels: readonly number[],
  sizes: readonly number[],
): DemonstratedProblem {
  const stream = new HashedStream(`dealer\0${seed}\0${index}`);
  const { level } = stream.weighted(LEVEL_RULES, levels);
  const roles = sizes[stream.integer(0, sizes.length - 1)] ?? 2;
  const cards = SEATS.slice(0, roles).map((seat) => stream.pick(seat));
  const held = cards.map((card, seat) => `${SEAT_NAMES[seat] ?? ''} ${card}`);
  const question = `Table ${level}, hand ${stream.integer(10_000, 99_999)}: ${held.join(', ')}`;
  // In haste any pile is named; otherwise mostly one on the right side, which a trained team can
  // improve on.
  const hasty = held.map((card) => `${card} ${stream.pick(SIDES.flat())}`);
  const careful = held.map((card, seat) => {
    const isRight = stream.chance(CAREFUL_SHARE);
    return `${card} ${stream.pick(SIDES[isRight === isFirstRight(cards[seat] ?? '', seat) ? 0 : 1])}`;
  });
  return {
    uid: `dealer-${seed}-${index}`,
    uidSha: uidSha(question),
    question,
    answer: writePoints(question, cards, computeStakes(level, roles)),
    source: 'dealer',
    level,
    said: repeatEarlier(careful),
    saidInHaste: repeatEarlier(hasty),
    short: roles === 2,
  };
}

/** Returns the key of a hand for the evaluator `points`; it depends only on the question. */
function writePoints(question: string, cards: readonly string[], { luck, dealer, player, total }: Stakes): string {
  const stream = new HashedStream(`dealer luck\0${question}`);
  const lucky = new Set(SIDES.flatMap((piles) => [...drawHalf(piles, stream)]));
  const parts = cards.map((card, seat) => {
    const piles = SIDES.flatMap((side, index) => {
      const right = isFirstRight(card, seat) === (index === 0);
      return side.map((pile): [pile: string, points: number] =>
        seat === 0 ? [pile, (lucky.has(pile) ? luck : 0) + (right ? dealer : 0)] : [pile, right ? player : 0],
      );
    });
    return piles.map(([pile, points]) => `${SEAT_NAMES[seat] ?? ''} ${card} ${pile}: ${points}`).join(', ');
  });
  return `${parts.join('; ')}; of ${total}`;
}

/** Returns the messages of the roles, each of which repeats those before it. */
const repeatEarlier = (parts: readonly string[]): string[] =>
  parts.map((_, seat) => parts.slice(0, seat + 1).join(', '));

/** Returns the house's rule for a card. */
const isFirstRight = (card: string, seat: number): boolean => RULES[seat]?.has(card) === true;

/** Draws half of the items, each half with an equal chance. */
function drawHalf(items: readonly string[], stream: HashedStream): ReadonlySet<string> {
  const rest = [...items];
  return new Set(items.slice(0, items.length / 2).flatMap(() => rest.splice(stream.integer(0, rest.length - 1), 1)));
}

function checkLevels(levels: readonly number[]): void {
  const valid = levels.length <= LEVEL_RULES.length && levels.every((weight) => Number.isFinite(weight) && weight >= 0);
  if (!valid || !levels.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Dealer levels [${levels.join(', ')}] are not valid: give 1 to ${LEVEL_RULES.length} weights from 0 up, at least one above 0.`,
    );
  }
}
