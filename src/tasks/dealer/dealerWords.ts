/** The vocabulary of the dealer task: the seats with their cards, and the piles on both sides of the table. */

/** Seats in the order in which they speak, by the names of their roles. */
export const SEAT_NAMES = ['dealer', 'first', 'second', 'third', 'fourth', 'fifth'] as const;

/** The cards of each seat; no two seats share one. */
export const SEATS: readonly (readonly string[])[] = [
  'owl fox bear wolf hare crow deer goat'.split(' '),
  'oak elm ash fir pine palm teak yew'.split(' '),
  'gold iron lead zinc tin jade opal ruby'.split(' '),
  'saw axe file nail bolt vise drill hammer'.split(' '),
  'pear plum lime fig kiwi date grape lemon'.split(' '),
  'harp drum lute horn flute cello viola oboe'.split(' '),
];

/** Both sides of the table; each pile is on one. */
export const SIDES: readonly [readonly string[], readonly string[]] = [
  ['A', 'B', 'C', 'D'],
  ['E', 'F', 'G', 'H'],
];
