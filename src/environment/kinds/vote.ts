/** The answer that most messages state. A message that states none has no vote. */
import { extractAnswer } from '../../evaluate/math/extract.ts';
import { parseRational } from '../../evaluate/math/rational.ts';
import type { EnvironmentKind, EnvironmentOutcome } from '../kind.ts';

export const vote: EnvironmentKind = {
  name: 'vote',
  words: 'Counts the answers that the messages state, and takes the one with the most votes.',
  // expected: each of the tied answers with equal chance, so its score is their mean.
  options: { ties: ['first', 'expected', 'abstain', 'seeded'] },
  derived: true,
  run({ messages, options, uniform }): EnvironmentOutcome {
    const votes = new Map<string, { answer: string; count: number }>();
    for (const { text } of messages) {
      const { answer } = extractAnswer(text);
      if (answer === null) {
        continue;
      }
      const name = nameOf(answer);
      votes.set(name, { answer: votes.get(name)?.answer ?? answer, count: (votes.get(name)?.count ?? 0) + 1 });
    }
    const most = Math.max(0, ...[...votes.values()].map(({ count }) => count));
    const tied = [...votes.values()].filter(({ count }) => count === most).map(({ answer }) => answer);
    const chosen = tied.length < 2 ? tied : untie(tied, options['ties'], uniform);
    const words = chosen.length === 0 ? 'No answer has the most votes.' : chosen.map((one) => `#### ${one}`).join('\n');
    return {
      text: words,
      json: { votes: [...votes.values()].map(({ answer, count }) => [answer, count]), chosen },
      answers: chosen.map((one) => `#### ${one}`),
    };
  },
};

function untie(tied: readonly string[], rule: string | undefined, uniform: (place: number) => number): string[] {
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

/** Equal numbers have one name, and so have texts that differ in case and blanks alone. */
function nameOf(answer: string): string {
  const number = parseRational(answer);
  if (number === null) {
    return `text ${answer.normalize('NFC').replace(/\s+/gu, ' ').trim().toLowerCase()}`;
  }
  return `number ${String(number.numerator)}/${String(number.denominator)}`;
}
