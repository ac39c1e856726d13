/** The evaluator's score of the newest scored message. */

import type { EnvironmentKind } from '../kind.ts';

export const feedback: EnvironmentKind = {
  name: 'feedback',
  words: 'Says whether the newest scored message is right, or how much of it.',
  options: { show: ['verdict', 'score'] },
  derived: true,
  run({ messages, options }) {
    const reward = messages.findLast((message) => message.reward !== undefined)?.reward ?? null;
    if (reward === null) {
      return { text: 'This could not be scored.', json: { reward } };
    }
    const verdict = reward >= 1 ? 'Right.' : 'Wrong, try again.';
    return { text: options['show'] === 'score' ? `Score: ${reward} of 1.` : verdict, json: { reward } };
  },
};
