/** The vocabulary of the logic task. */

/** The letters of the options, in order. */
export const LETTERS = ['A', 'B', 'C', 'D'] as const;

/** The people that are put in an order. */
export const PEOPLE: readonly string[] = 'Ann Ben Cleo Dan Eva Finn Gia Hugo Ida Jon Kim Leo'.split(' ');

/** The places of an order in questions. */
export const PLACES: readonly string[] = ['first', 'second', 'third', 'fourth', 'fifth'];

/** The subjects of implications, each present or absent. */
export const WEATHER: readonly string[] = 'rain wind snow fog hail frost dew thunder sleet haze smoke dust'.split(' ');
