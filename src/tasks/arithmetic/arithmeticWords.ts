/**
 * The vocabulary of the arithmetic task: {x} is the person asked about, {y} another, {o} the objects,
 * {n} the number.
 */

export const NAMES: readonly string[] = [
  'Tom',
  'Ana',
  'Ben',
  'Mia',
  'Leo',
  'Eva',
  'Sam',
  'Zoe',
  'Max',
  'Ivy',
  'Jon',
  'Amy',
  'Dan',
  'Kim',
  'Ray',
  'Liz',
  'Ned',
  'Sue',
  'Tim',
  'Joy',
  'Bob',
  'Meg',
  'Gus',
  'Pam',
];

export const OBJECTS: readonly string[] = [
  'apples',
  'marbles',
  'stickers',
  'coins',
  'books',
  'pencils',
  'cards',
  'shells',
  'buttons',
  'cookies',
  'beads',
  'stamps',
  'ribbons',
  'candles',
  'oranges',
  'pears',
  'eggs',
  'stones',
  'toys',
  'balloons',
  'cups',
  'keys',
  'flowers',
  'nuts',
];

export const STARTS: readonly string[] = [
  '{x} has {n} {o}.',
  '{x} starts with {n} {o}.',
  'At first {x} owns {n} {o}.',
  'In the morning {x} has {n} {o}.',
];

/** A start that is already multiplied: {s} groups of {n}. */
export const GROUPED_STARTS: readonly string[] = [
  '{x} buys {s} packs of {n} {o} each.',
  '{x} has {s} boxes with {n} {o} in each.',
  '{x} fills {s} bags with {n} {o} each.',
];

export const EVENTS: Readonly<Record<'+' | '-' | '*' | '/', readonly string[]>> = {
  '+': [
    '{x} buys {n} more {o}.',
    '{y} gives {x} {n} {o}.',
    'Then {x} finds {n} {o}.',
    '{x} gets {n} {o} from {y}.',
    '{x} wins {n} {o}.',
    '{x} takes {n} {o} from {y}.',
  ],
  '-': [
    '{x} gives {n} {o} to {y}.',
    '{x} gives {y} {n} {o}.',
    'Then {x} loses {n} {o}.',
    '{x} sells {n} {o}.',
    '{y} takes {n} {o} from {x}.',
    '{y} gets {n} {o} from {x}.',
  ],
  '*': [
    'A week later {x} has {n} times as many {o}.',
    'Then {x} ends up with {n} times as many {o}.',
    '{x} swaps each of the {o} for {n} new {o}.',
    'The pile of {o} grows to {n} times its size.',
  ],
  '/': [
    '{x} puts the {o} equally into {n} bags and keeps one bag.',
    '{x} splits the {o} into {n} equal piles and keeps one pile.',
    '{n} friends, {x} included, share the {o} equally.',
    'The {o} are shared equally by {n} people, {x} included.',
  ],
};

export const QUESTIONS: readonly string[] = [
  'How many {o} does {x} have now?',
  'How many {o} does {x} have in the end?',
  'Now how many {o} does {x} have?',
];

export interface Ending {
  readonly event: string;
  readonly question: string;
}

/** A division that ends the story, so that the question may ask for one share. */
export const SHARED_ENDINGS: readonly Ending[] = [
  { event: '{x} shares the {o} equally among {n} friends.', question: 'How many {o} does each friend get?' },
  { event: '{x} packs the {o} equally into {n} boxes.', question: 'How many {o} are in each box?' },
];

/** Sentences with an irrelevant number; {p} are objects other than {o}. */
export const DISTRACTORS: readonly string[] = [
  '{x} is {n} years old.',
  '{y} is {n} years old.',
  '{y} has {n} {p}.',
  '{x} also has {n} {p}.',
  '{y} has {n} {o} as well.',
  'It is {n} degrees outside.',
];
