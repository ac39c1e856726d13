/** The last message, as the outcome that is scored at the end. */

import type { EnvironmentKind } from '../kind.ts';

export const last: EnvironmentKind = {
  name: 'last',
  words: 'Takes the last message as the outcome.',
  options: {},
  derived: true,
  run: ({ messages }) => ({ text: messages.at(-1)?.text ?? '' }),
};
