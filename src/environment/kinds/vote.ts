/** The answer that most messages state. A message without an answer has no vote. */

import type { EnvironmentKind, EnvironmentOutcome } from '../kind.ts';
import { readBallot, tallyBallots, TIE_RULES, chooseWinners } from '../voting.ts';

export const vote: EnvironmentKind = {
  name: 'vote',
  words: 'Counts the answers that the messages state, and takes the one with the most votes.',
  options: { ties: TIE_RULES },
  derived: true,
  run({ messages, options, uniform }): EnvironmentOutcome {
    const votes = tallyBallots(messages.flatMap(({ text }) => readBallot(text) ?? []));
    const chosen = chooseWinners(votes, options['ties'], uniform).map(({ answer }) => answer);
    const words = chosen.length === 0 ? 'No answer has the most votes.' : chosen.map((one) => `#### ${one}`).join('\n');
    return {
      text: words,
      json: { votes: votes.map(({ first, count }) => [first.answer, count]), chosen },
      answers: chosen.map((one) => `#### ${one}`),
    };
  },
};
