/** The counting of votes: the vote of a message, and the answers with the most votes. */

import { parseRational } from '../evaluate/math/exact/rational.ts';
import { extractAnswer } from '../evaluate/math/extract.ts';

/**
 * The rules for several answers with the most votes; the first is the default. expected: each of them
 * has an equal chance, so that the score is their mean.
 */
export const TIE_RULES = ['first', 'expected', 'abstain', 'seeded'] as const;

/** The vote of one message. */
export interface Ballot {
  /** The answer as the message states it. */
  readonly answer: string;
  /** Equal for all forms of an answer that count as one. */
  readonly name: string;
}

/** Returns the vote of a message, or null if it states no answer. */
export function readBallot(text: string): Ballot | null {
  const { answer } = extractAnswer(text);
  return answer === null ? null : { answer, name: nameAnswer(answer) };
}

/** Returns a name that is equal for equal numbers, and for texts that differ only in case and blanks. */
function nameAnswer(answer: string): string {
  const number = parseRational(answer);
  if (number === null) {
    return `text ${answer.normalize('NFC').replace(/\s+/gu, ' ').trim().toLowerCase()}`;
  }
  return `number ${String(number.numerator)}/${String(number.denominator)}`;
}

/** The votes for one answer. */
export interface Tally<B> {
  /** The first ballot for it. */
  readonly first: B;
  readonly count: number;
}

/** Counts the votes of each answer, in the order of their first ballots. */
export function tallyBallots<B extends Pick<Ballot, 'name'>>(ballots: readonly B[]): Tally<B>[] {
  const votes = new Map<string, Tally<B>>();
  for (const ballot of ballots) {
    const known = votes.get(ballot.name);
    votes.set(ballot.name, { first: known?.first ?? ballot, count: (known?.count ?? 0) + 1 });
  }
  return [...votes.values()];
}

/**
 * Returns the first ballots of the winning answers: none without votes, several only with `expected`.
 * @param rule of ties
 * @param uniform returns numbers in [0, 1) by their place; `seeded` uses the first
 */
export function chooseWinners<B>(
  votes: readonly Tally<B>[],
  rule: string | undefined,
  uniform: (place: number) => number,
): B[] {
  const most = Math.max(0, ...votes.map(({ count }) => count));
  const tied = votes.filter(({ count }) => count === most).map(({ first }) => first);
  return tied.length < 2 ? tied : resolveTie(tied, rule, uniform);
}

function resolveTie<B>(tied: readonly B[], rule: string | undefined, uniform: (place: number) => number): B[] {
  switch (rule) {
    case 'expected':
      return [...tied];
    case 'abstain':
      return [];
    case 'seeded':
      return tied.slice(Math.floor(uniform(0) * tied.length)).slice(0, 1);
    default:
      return tied.slice(0, 1);
  }
}
