/** The vocabulary of the zebra task. */

/** One attribute of the houses. */
export interface Attribute {
  /** Its key in an answer. */
  readonly name: string;
  /** How the question introduces its values. */
  readonly intro: string;
  readonly values: readonly string[];
  /** Who has a value, as clues say it. */
  readonly who: (value: string) => string;
}

const attribute = (name: string, intro: string, values: string, who: (value: string) => string): Attribute => ({
  name,
  intro,
  values: values.split(', '),
  who,
});

/** The first attribute of every puzzle. */
export const NAMES = attribute(
  'Name',
  'Each person has a unique name',
  'Alice, Arnold, Bob, Carol, Eric, Peter',
  (value) => value,
);

/** The others, of which a puzzle has one or two. */
export const ATTRIBUTES: readonly Attribute[] = [
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

/** Houses by their numbers from 1, as clues say them. */
export const ORDINALS: readonly string[] = ['', 'first', 'second', 'third'];
