/** Searches a text for another in linear time, for any two texts. */

/** Longest search text for the engine's own search, which may compare each character with every place. */
const SHORT = 64;

export function contains(text: string, part: string): boolean {
  if (part.length <= SHORT || part.length > text.length) {
    return text.includes(part);
  }
  const borders = computeBorders(part);
  let matched = 0;
  for (let at = 0; at < text.length && matched < part.length; at++) {
    matched = extendMatch(part, borders, matched, text.charCodeAt(at));
  }
  return matched === part.length;
}

/** Returns, for each prefix of a text, the length of its longest proper suffix that is also a prefix. */
function computeBorders(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  for (let at = 1; at < text.length; at++) {
    borders[at] = extendMatch(text, borders, borders[at - 1] ?? 0, text.charCodeAt(at));
  }
  return borders;
}

/** Returns the matched length after one more character, with `matched` characters before it. */
function extendMatch(text: string, borders: Uint32Array, matched: number, code: number): number {
  let length = matched;
  while (length > 0 && text.charCodeAt(length) !== code) {
    length = borders[length - 1] ?? 0;
  }
  return text.charCodeAt(length) === code ? length + 1 : 0;
}
