/** Extracts a value that a message states, for tests that call a function without arguments (AutoLogi). */

import { findLastBraced } from '../../shared/text/braces.ts';
import { removeThinking } from '../../shared/text/thinking.ts';

/** Only the end of a longer message is read. */
const MOST_LENGTH = 50_000;
/** More deeply nested values are not read, because they would break the interpreter. */
const MOST_DEPTH = 50;

/**
 * Returns the value that a message states: the last fenced block, else the last {...} that is closed
 * at the outermost level, else the last [...], as in the published evaluation.
 * @returns null if it has none of them, or if the value is nested too deep
 */
export function extractValueText(message: string): string | null {
  const text = removeThinking(message).slice(-MOST_LENGTH);
  const blocks = [...text.matchAll(/```(?:[^\S\n]*\w+)?[^\S\n]*\n([\s\S]*?)```/gu)];
  const value = blocks.at(-1)?.[1] ?? findLastBraced(text) ?? findLastBracketed(text);
  return value === null || measureNesting(value) > MOST_DEPTH ? null : value;
}

/**
 * Returns a program whose function returns the value of a text: a Python literal, else the literal
 * after the first `=`, else JSON. The text is data of the program and never its code.
 * @param text a text from extractValueText
 * @param name name of the function
 */
export const writeValueProgram = (text: string, name: string): string =>
  `import ast, json, re
def ${name}():
    text = re.sub(r'//.*?\\n', '', ${JSON.stringify(text)})
    try:
        return ast.literal_eval(text.replace('true', 'True').replace('false', 'False'))
    except (SyntaxError, ValueError, TypeError):
        if '=' in text:
            return ast.literal_eval(text.split('=', 1)[1].strip())
        return json.loads(text)
`;

/** Returns the text from the first bracket after the previous list to the first closing bracket. */
function findLastBracketed(text: string): string | null {
  let found: string | null = null;
  for (let start = text.indexOf('['); start >= 0;) {
    const end = text.indexOf(']', start);
    found = end < 0 ? found : text.slice(start, end + 1);
    start = end < 0 ? -1 : text.indexOf('[', end);
  }
  return found;
}

function measureNesting(text: string): number {
  let [depth, most] = [0, 0];
  for (const [bracket] of text.matchAll(/[()[\]{}]/gu)) {
    depth += '([{'.includes(bracket) ? 1 : -1;
    most = Math.max(most, depth);
  }
  return most;
}
