/**
 * What a model was asked with as one text that people can read and that says all of it: a heading for each message,
 * `### user` or `### assistant planner`, and its text. Lines of texts that would be read as a heading begin with a
 * backslash.
 */
import type { ChatMessage } from './episode.ts';

const HEADING = /^\\*### /u;

/** Messages as one text; different messages give different texts. */
export const contextText = (messages: readonly ChatMessage[]): string =>
  messages
    .map(({ role, name, text }) => {
      const lines = text.split('\n').map((line) => (HEADING.test(line) ? `\\${line}` : line));
      return [`### ${role}${name === null ? '' : ` ${name.replace(/\s/gu, ' ')}`}`, ...lines].join('\n');
    })
    .join('\n\n');
