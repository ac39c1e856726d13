/** How a vote is counted: what a message votes for, and which answers have the most votes. */
import { parseRational } from '../evaluate/math/exact/rational.ts';
import { extractAnswer } from '../evaluate/math/extract.ts';

/**
 * What is chosen of several answers with the most votes; the first rule holds where a protocol gives none. expected:
 * each of them with equal chance, so that the score is their mean.
 */
export const TIE_RULES = ['first', 'expected', 'abstain', 'seeded'] as const;

/** What one message votes for. */
export interface Ballot {
  /** As the message states it. */
  readonly answer: string;
  /** The same for all forms of an answer that count as one. */
  readonly name: string;
}

/** What a message votes for; null where it states no answer. */
export function ballotOf(text: string): Ballot | null {
  const { answer } = extractAnswer(text);
  return answer === null ? null : { answer, name: nameOf(answer) };
}

/** Equal numbers have one name, and so have texts that differ in case and blanks alone. */
function nameOf(answer: string): string {
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

/** The votes of each answer, in the order of their first ballots. */
export function tallyOf<B extends Pick<Ballot, 'name'>>(ballots: readonly B[]): Tally<B>[] {
  const votes = new Map<string, Tally<B>>();
  for (const ballot of ballots) {
    const known = votes.get(ballot.name);
    votes.set(ballot.name, { first: known?.first ?? ballot, count: (known?.count ?? 0) + 1 });
  }
  return [...votes.values()];
}

/**
 * The first ballots of the answers that win: none where nobody votes, several with `expected` alone.
 * @param rule of ties
 * @param uniform numbers in [0, 1) by their place; `seeded` draws the first
 */
export function winnersOf<B>(
  votes: readonly Tally<B>[],
  rule: string | undefined,
  uniform: (place: number) => number,
): B[] {
  const most = Math.max(0, ...votes.map(({ count }) => count));
  const tied = votes.filter(({ count }) => count === most).map(({ first }) => first);
  return tied.length < 2 ? tied : untie(tied, rule, uniform);
}

function untie<B>(tied: readonly B[], rule: string | undefined, uniform: (place: number) => number): B[] {
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
