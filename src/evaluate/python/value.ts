/** Messages that state a value, for tests that call a function without arguments (AutoLogi). */
import { lastBraced } from '../../shared/text/braces.ts';
import { withoutThinking } from '../../shared/text/thinking.ts';

/** Longer messages are read from their end. */
const MOST_LENGTH = 50_000;
/** Values that are nested deeper are none: they would break the interpreter. */
const MOST_DEPTH = 50;

/**
 * Where a message states its value: the last fenced block, else the last {...} that is closed at the outermost level,
 * else the last [...], as the published evaluation finds it.
 * @returns null where it has none of them, or one that is nested too deep
 */
export function valueIn(message: string): string | null {
  const text = withoutThinking(message).slice(-MOST_LENGTH);
  const blocks = [...text.matchAll(/```(?:[^\S\n]*\w+)?[^\S\n]*\n([\s\S]*?)```/gu)];
  const value = blocks.at(-1)?.[1] ?? lastBraced(text) ?? lastList(text);
  return value === null || depthOf(value) > MOST_DEPTH ? null : value;
}

/**
 * A program whose function gives back the value of a text: a literal of Python, else one behind the first `=`, else
 * JSON. The text is data of the program and never its code.
 * @param text what valueIn found
 * @param name of the function
 */
export const valueProgram = (text: string, name: string): string =>
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

/** From the first bracket after the list before it to the first one that closes. */
function lastList(text: string): string | null {
  let found: string | null = null;
  for (let start = text.indexOf('['); start >= 0;) {
    const end = text.indexOf(']', start);
    found = end < 0 ? found : text.slice(start, end + 1);
    start = end < 0 ? -1 : text.indexOf('[', end);
  }
  return found;
}

function depthOf(text: string): number {
  let [depth, most] = [0, 0];
  for (const [bracket] of text.matchAll(/[()[\]{}]/gu)) {
    depth += '([{'.includes(bracket) ? 1 : -1;
    most = Math.max(most, depth);
  }
  return most;
}
