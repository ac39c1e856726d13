/** The code of several messages as one program, such as a helper's and the main function. */
import { extractCode } from '../../evaluate/python/code.ts';
import type { EnvironmentKind } from '../kind.ts';

export const join: EnvironmentKind = {
  name: 'join',
  words: 'Joins the code of the messages to one program, in their order.',
  options: {},
  derived: true,
  run: ({ messages }) => ({
    text: `\`\`\`python\n${messages.map(({ text }) => extractCode(text).trimEnd()).join('\n\n\n')}\n\`\`\``,
  }),
};
