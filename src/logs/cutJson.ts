/** Reads JSON that a length limit cut off, up to the cut. */

/** The most characters of such a text that are read. */
const LONGEST = 2 ** 24;

/**
 * Parses a JSON text whose end is missing. A string that the cut broke is kept up to the cut.
 * @returns undefined if nothing can be read, or if the value is neither an object nor a list
 */
export function parseCutJson(text: string): unknown {
  if (!/^\s*[[{]/u.test(text) || text.length > LONGEST) {
    return undefined;
  }
  const { end, closing } = findCompletablePrefix(text);
  try {
    return JSON.parse(`${text.slice(0, end)}${closing}`) as unknown;
  } catch {
    return undefined;
  }
}

interface Prefix {
  /** The offset at which the kept part ends. */
  readonly end: number;
  /** The characters that complete the kept part. */
  readonly closing: string;
}

/** Returns the longest prefix that brackets alone complete, or a quote and brackets. */
function findCompletablePrefix(text: string): Prefix {
  const open: string[] = [];
  const whole = (end: number): Prefix => ({ end, closing: open.toReversed().join('') });
  let safe = whole(0);
  // A string in an object is a key unless a colon precedes it.
  let isValue = true;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '"') {
      const end = endOfString(text, at + 1);
      if (end === -1) {
        return isValue ? { end: withoutEscape(text), closing: `"${whole(0).closing}` } : safe;
      }
      at = end;
      if (isValue) {
        safe = whole(at + 1);
      }
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? '}' : ']');
      isValue = character === '[';
      safe = whole(at + 1);
    } else if (character === '}' || character === ']') {
      open.pop();
      safe = whole(at + 1);
    } else if (character === ':') {
      isValue = true;
    } else if (character === ',') {
      // A number or a word ends here.
      safe = whole(at);
      isValue = open.at(-1) === ']';
    }
  }
  return safe;
}

function endOfString(text: string, begin: number): number {
  for (let at = begin; at < text.length; at++) {
    if (text[at] === '\\') {
      at++;
    } else if (text[at] === '"') {
      return at;
    }
  }
  return -1;
}

/** Returns the end of a text without an escape sequence that was cut. */
function withoutEscape(text: string): number {
  const cut = /(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$/u.exec(text.slice(-LONGEST_ESCAPE));
  return text.length - (cut?.[1]?.length ?? 0);
}
/** Characters at the end that are searched for an escape sequence. */
const LONGEST_ESCAPE = 64;
