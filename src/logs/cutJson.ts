/** JSON that a limit cut off: what is there of it, read as far as it goes. */

/** Characters of such a text that are read. */
const LONGEST = 2 ** 24;

/**
 * The value of a JSON text whose end is missing, with the text that it breaks off in as far as it is there.
 * @returns undefined where nothing of it can be read, or it is no object and no list
 */
export function valueOfCut(text: string): unknown {
  if (!/^\s*[[{]/u.test(text) || text.length > LONGEST) {
    return undefined;
  }
  const { end, closing } = prefixOf(text);
  try {
    return JSON.parse(`${text.slice(0, end)}${closing}`) as unknown;
  } catch {
    return undefined;
  }
}

interface Prefix {
  /** Where the part ends that is kept. */
  readonly end: number;
  /** What makes it whole. */
  readonly closing: string;
}

/** The longest beginning that brackets alone make whole, or a quote before them. */
function prefixOf(text: string): Prefix {
  const open: string[] = [];
  const whole = (end: number): Prefix => ({ end, closing: open.toReversed().join('') });
  let safe = whole(0);
  // A text in an object is a key unless a colon is before it.
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
      // Numbers and words end here.
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

/** The end of a text without an escape that was cut. */
function withoutEscape(text: string): number {
  const cut = /(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$/u.exec(text.slice(-LONGEST_ESCAPE));
  return text.length - (cut?.[1]?.length ?? 0);
}
/** Characters at the end that are looked at. */
const LONGEST_ESCAPE = 64;
