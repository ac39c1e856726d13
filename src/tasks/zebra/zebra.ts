/**
 * A bundled task: logic grids of 2 and 3 houses in the form of ZebraLogic, whose clues leave exactly
 * one solution. It comes without a team: its questions are English and its answers JSON, for the
 * user's own model.
 */

import { writeZebraForm, writeZebra, type ZebraGrid } from '../../evaluate/puzzles/zebra.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { checkLevels, drawDistinct } from '../drawDistinct.ts';
import { HashedStream } from '../hashedStream.ts';
import { uidSha } from '../uid.ts';

/** Largest number of placings of a grid. */
const MOST_PLACINGS = 1_000_000;

interface LevelRule {
  readonly level: number;
  readonly houses: number;
  /** Number of attributes, including the names of the people. */
  readonly attributes: number;
}

/** The sizes that ZebraLogic calls easy, up to 3*3. */
const LEVEL_RULES: readonly LevelRule[] = [
  { level: 1, houses: 2, attributes: 2 },
  { level: 2, houses: 2, attributes: 3 },
  { level: 3, houses: 3, attributes: 2 },
  { level: 4, houses: 3, attributes: 3 },
];

const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];

const ALL = new Map(LEVEL_RULES.map(({ level, houses, attributes }) => [level, placings(houses, attributes)]));

/**
 * Yields every distinct grid of a seed, until there are no more.
 * @param levels weights of the levels 1 to 4 (2*2, 2*3, 3*2, 3*3 houses and attributes), by position
 * @param sizes team sizes, with equal chances
 * @throws C3Error('input') for invalid levels; during iteration, if all grids of the mix were drawn
 */
export function distinctZebras(
  seed: string,
  levels: readonly number[] = DEFAULT_MIX,
  sizes: readonly number[] = [2],
): Iterable<DemonstratedProblem> {
  checkLevels('zebra', levels, LEVEL_RULES.length);
  return drawDistinct('zebra', levels, (index) => drawZebra(seed, index, levels, sizes));
}

/** Returns draw `index` of a seed; depends only on its arguments. */
function drawZebra(
  seed: string,
  index: number,
  levels: readonly number[],
  sizes: readonly number[],
): DemonstratedProblem {
  const stream = new HashedStream(`zebra\0${seed}\0${index}`);
  const { level, houses, attributes: count } = stream.weighted(LEVEL_RULES, levels);
  const roles = sizes[stream.integer(0, sizes.length - 1)] ?? 2;
  const attributes = [NAMES, ...stream.some(ATTRIBUTES, count - 1)].map((one) => ({
    ...one,
    values: stream.some(one.values, houses),
  }));
  const all = ALL.get(level) ?? [];
  const placing = all[stream.integer(0, all.length - 1)] ?? [];
  const clues = stream.some(fewest(trueClues(stream, attributes, houses, placing), all), Infinity);
  const said = clues.map((clue) => clueWords(clue, attributes));
  const grid = gridOf(attributes, houses, placing);
  const question = `${introWords(attributes, houses)}\n\n## Clues:\n${said.map((one, at) => `${at + 1}. ${one}`).join('\n')}\n\n${writeZebraForm(grid)}`;
  const answer = writeZebra(grid);
  const notes = attributes
    .flatMap(({ values, who }, one) =>
      values.map((value, at) => `${who(value)}: house ${(placing[one]?.[at] ?? 0) + 1}`),
    )
    .join('; ');
  const solved = `{"reasoning": ${JSON.stringify(notes)}, "solution": ${answer}}`;
  const messages = [notes, ...Array.from({ length: roles - 1 }, () => solved)];
  return {
    uid: `zebra-${seed}-${index}`,
    uidSha: uidSha(question),
    question,
    answer,
    source: 'zebra',
    level,
    said: messages,
    saidInHaste: messages,
    short: houses === 2,
  };
}

/** Returns the clues that hold in a placing, those that name a house first, in random order. */
function trueClues(stream: HashedStream, attributes: readonly Attribute[], houses: number, placing: Placing): Clue[] {
  const cells = attributes.flatMap(({ values }, one) => values.map((_, value): Cell => [one, value]));
  const at = ([one, value]: Cell): number => placing[one]?.[value] ?? 0;
  const clues = cells.flatMap((one): Clue[] => [
    ...Array.from({ length: houses }, (_, house): Clue => ({ kind: at(one) === house ? 'at' : 'notAt', one, house })),
    ...cells.flatMap((other): Clue[] => {
      const step = at(other) - at(one);
      const pair = (kind: Exclude<Clue['kind'], 'at' | 'notAt'>, isTrue: boolean): Clue[] =>
        isTrue ? [{ kind, one, other }] : [];
      const isFirst = one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
      return [
        ...pair('same', step === 0 && one[0] < other[0]),
        ...pair('directlyLeft', step === 1),
        ...pair('left', step > 0),
        ...pair('nextTo', isFirst && Math.abs(step) === 1),
        ...pair('oneBetween', isFirst && Math.abs(step) === 2),
      ];
    }),
  ]);
  // Clues that give away a house are removed first, so that puzzles consist mostly of relations.
  const isGiven = ({ kind }: Clue): boolean => kind === 'at';
  return [
    ...stream.some(clues.filter(isGiven), Infinity),
    ...stream.some(
      clues.filter((clue) => !isGiven(clue)),
      Infinity,
    ),
  ];
}

function clueWords(clue: Clue, attributes: readonly Attribute[]): string {
  const who = ([one, value]: Cell): string => attributes[one]?.who(attributes[one].values[value] ?? '') ?? '';
  const first = who(clue.one);
  const begin = first.slice(0, 1).toUpperCase() + first.slice(1);
  switch (clue.kind) {
    case 'at':
      return `${begin} is in the ${ORDINALS[clue.house + 1] ?? ''} house.`;
    case 'notAt':
      return `${begin} is not in the ${ORDINALS[clue.house + 1] ?? ''} house.`;
    case 'same':
      return `${begin} is ${who(clue.other)}.`;
    case 'directlyLeft':
      return `${begin} is directly left of ${who(clue.other)}.`;
    case 'left':
      return `${begin} is somewhere to the left of ${who(clue.other)}.`;
    case 'nextTo':
      return `${begin} and ${who(clue.other)} are next to each other.`;
    case 'oneBetween':
      return `There is one house between ${first} and ${who(clue.other)}.`;
  }
}

function introWords(attributes: readonly Attribute[], houses: number): string {
  // In alphabetical order, so that the list reveals nothing of the solution.
  const lists = attributes.map(
    ({ intro, values }) =>
      ` - ${intro}: ${values
        .toSorted()
        .map((one) => `\`${one}\``)
        .join(', ')}`,
  );
  return [
    `There are ${houses} houses, numbered 1 to ${houses} from left to right, as seen from across the street. Each house is occupied by a different person. Each house has a unique attribute for each of the following characteristics:`,
    ...lists,
  ].join('\n');
}

const gridOf = (attributes: readonly Attribute[], houses: number, placing: Placing): ZebraGrid =>
  new Map(
    Array.from({ length: houses }, (_, house) => [
      `House ${house + 1}`,
      new Map(attributes.map(({ name, values }, one) => [name, values[placing[one]?.indexOf(house) ?? 0] ?? ''])),
    ]),
  );

/** A value of a puzzle: the index of its attribute, and its own index among the attribute's values. */
type Cell = readonly [attribute: number, value: number];

/** A clue about one value and a house, or about two values; houses count from 0. */
type Clue =
  | { readonly kind: 'at' | 'notAt'; readonly one: Cell; readonly house: number }
  | {
      readonly kind: 'same' | 'directlyLeft' | 'left' | 'nextTo' | 'oneBetween';
      readonly one: Cell;
      readonly other: Cell;
    };

/** The house of each value, by attribute and value. */
type Placing = readonly (readonly number[])[];

/** Returns every order of the numbers below a count. */
function orders(count: number): number[][] {
  const longer = (order: readonly number[]): number[][] =>
    order.length === count
      ? [[...order]]
      : Array.from({ length: count }, (_, next) => next)
          .filter((next) => !order.includes(next))
          .flatMap((next) => longer([...order, next]));
  return longer([]);
}

/**
 * Returns every placing of a puzzle, in a fixed order.
 * @throws RangeError if there are more than a million
 */
function placings(houses: number, attributes: number): Placing[] {
  const each = orders(houses);
  if (each.length ** attributes > MOST_PLACINGS) {
    throw new RangeError(`A grid of ${houses} houses and ${attributes} attributes has too many placings.`);
  }
  return Array.from({ length: attributes }).reduce<Placing[]>(
    (before) => before.flatMap((placing) => each.map((order): Placing => [...placing, order])),
    [[]],
  );
}

/** Returns true if a clue holds. */
function holds(clue: Clue, placing: Placing): boolean {
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

/**
 * Returns clues that leave one placing, none of which can be removed.
 * @param clues that together leave one placing; the first are removed first
 */
function fewest(clues: readonly Clue[], all: readonly Placing[]): Clue[] {
  // The placings that each clue excludes. A clue is needed if it is the only one that excludes a
  // placing.
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

/** One attribute of the houses. */
interface Attribute {
  /** Its key in an answer. */
  readonly name: string;
  /** The introduction of its values in the question. */
  readonly intro: string;
  readonly values: readonly string[];
  /** Names the person with a value, for clues. */
  readonly who: (value: string) => string;
}

const attribute = (name: string, intro: string, values: string, who: (value: string) => string): Attribute => ({
  name,
  intro,
  values: values.split(', '),
  who,
});

/** The first attribute of every puzzle. */
const NAMES = attribute(
  'Name',
  'Each person has a unique name',
  'Alice, Arnold, Bob, Carol, Eric, Peter',
  (value) => value,
);

/** The other attributes; a puzzle has one or two of them. */
const ATTRIBUTES: readonly Attribute[] = [
  attribute(
    'Drink',
    'Each person has a unique favorite drink',
    'coffee, juice, milk, tea, water',
    (value) => `the one who drinks ${value}`,
  ),
  attribute(
    'Pet',
    'Each person keeps a unique pet',
    'bird, cat, dog, fish, horse',
    (value) => `the owner of the ${value}`,
  ),
  attribute(
    'Color',
    'Each person likes a unique color',
    'blue, green, red, white, yellow',
    (value) => `the person who likes ${value}`,
  ),
  attribute(
    'Hobby',
    'Each person has a unique hobby',
    'cooking, gardening, knitting, painting, photography',
    (value) => `the person who enjoys ${value}`,
  ),
  attribute(
    'Food',
    'Each person has a unique favorite lunch',
    'pizza, soup, spaghetti, stew, stir fry',
    (value) => `the person who eats ${value}`,
  ),
  attribute(
    'Job',
    'Each person has a unique job',
    'artist, doctor, engineer, lawyer, teacher',
    (value) => `the ${value}`,
  ),
];

/** Houses by their numbers from 1, in the wording of clues. */
const ORDINALS: readonly string[] = ['', 'first', 'second', 'third'];
