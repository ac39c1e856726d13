/** Scores a message by a regular expression, in time that is linear in the message. */
import { RE2JS } from 're2js';

/** Longer expressions are refused: one may take as many steps for each character as it is long. */
const MAX_PATTERN = 1000;
/** Characters of a message that are searched. */
const MAX_SEARCHED = 100_000;

/** Whether an expression matches somewhere in a text. */
export type Pattern = (text: string) => boolean;

/**
 * Compiles a regular expression in the syntax of RE2, which has no lookaround and no references to groups: neither a
 * file nor a message can make the search slow.
 * @returns why it cannot be compiled, as a part of a sentence, in the place of the pattern
 */
export function compilePattern(source: string): Pattern | string {
  if (source.trim() === '') {
    return 'it is empty';
  }
  if (source.length > MAX_PATTERN) {
    return `it has more than ${MAX_PATTERN} characters`;
  }
  try {
    const compiled = RE2JS.compile(source);
    return (text) => compiled.matcher(text.slice(0, MAX_SEARCHED)).find();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
