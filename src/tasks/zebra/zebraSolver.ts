/** Grids of houses as constraints, and all their solutions. */

/** A value of a puzzle: the index of its attribute, and its own index among the attribute's values. */
export type Cell = readonly [attribute: number, value: number];

/** What a clue says of one value and a house, or of two values; houses from 0. */
export type Clue =
  | { readonly kind: 'at' | 'notAt'; readonly one: Cell; readonly house: number }
  | {
      readonly kind: 'same' | 'directlyLeft' | 'left' | 'nextTo' | 'oneBetween';
      readonly one: Cell;
      readonly other: Cell;
    };

/** The house of each value, by attribute and value. */
export type Placing = readonly (readonly number[])[];

/** More placings than these are not looked at. */
const MOST_PLACINGS = 1_000_000;

/** Every order of the numbers below a count. */
export function orders(count: number): number[][] {
  const longer = (order: readonly number[]): number[][] =>
    order.length === count
      ? [[...order]]
      : Array.from({ length: count }, (_, next) => next)
          .filter((next) => !order.includes(next))
          .flatMap((next) => longer([...order, next]));
  return longer([]);
}

/**
 * Every placing of a puzzle, in a fixed order.
 * @throws RangeError where there are more than a million
 */
export function placings(houses: number, attributes: number): Placing[] {
  const each = orders(houses);
  if (each.length ** attributes > MOST_PLACINGS) {
    throw new RangeError(`A grid of ${houses} houses and ${attributes} attributes has too many placings.`);
  }
  return Array.from({ length: attributes }).reduce<Placing[]>(
    (before) => before.flatMap((placing) => each.map((order): Placing => [...placing, order])),
    [[]],
  );
}

/** Whether a clue holds. */
export function holds(clue: Clue, placing: Placing): boolean {
  const at = ([attribute, value]: Cell): number => placing[attribute]?.[value] ?? -1;
  const one = at(clue.one);
  if (clue.kind === 'at' || clue.kind === 'notAt') {
    return (one === clue.house) === (clue.kind === 'at');
  }
  const other = 'other' in clue ? at(clue.other) : -1;
  switch (clue.kind) {
    case 'same':
      return one === other;
    case 'directlyLeft':
      return one + 1 === other;
    case 'left':
      return one < other;
    case 'nextTo':
      return Math.abs(one - other) === 1;
    case 'oneBetween':
      return Math.abs(one - other) === 2;
  }
}

/** All placings in which every clue holds: an exact solver, since it looks at each of them. */
export const solutions = (clues: readonly Clue[], all: readonly Placing[]): Placing[] =>
  all.filter((placing) => clues.every((clue) => holds(clue, placing)));

/**
 * Clues that leave one placing, of which none can be left out.
 * @param clues that leave one placing all together; the first are left out first
 */
export function fewest(clues: readonly Clue[], all: readonly Placing[]): Clue[] {
  // What each clue excludes, as bits over the placings; a clue is needed where it alone excludes one of them.
  const excluded = clues.map((clue) => all.flatMap((placing, index) => (holds(clue, placing) ? [] : [index])));
  const by = new Uint16Array(all.length);
  for (const index of excluded.flat()) {
    by[index] = (by[index] ?? 0) + 1;
  }
  return clues.filter((_, place) => {
    const own = excluded[place] ?? [];
    if (own.some((index) => by[index] === 1)) {
      return true;
    }
    for (const index of own) {
      by[index] = (by[index] ?? 0) - 1;
    }
    return false;
  });
}
