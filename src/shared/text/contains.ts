/** Whether a text has another in it, in linear time, whatever the two are. */

/** Characters of a text that is looked for as the engine does, which may compare each with every place. */
const SHORT = 64;

export function contains(text: string, part: string): boolean {
  if (part.length <= SHORT || part.length > text.length) {
    return text.includes(part);
  }
  const borders = bordersOf(part);
  let matched = 0;
  for (let at = 0; at < text.length && matched < part.length; at++) {
    matched = longer(part, borders, matched, text.charCodeAt(at));
  }
  return matched === part.length;
}

/** Of each beginning of a text how much of its end is a beginning too. */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  for (let at = 1; at < text.length; at++) {
    borders[at] = longer(text, borders, borders[at - 1] ?? 0, text.charCodeAt(at));
  }
  return borders;
}

/** How much of a text is matched with one character more, where `matched` of it were before. */
function longer(text: string, borders: Uint32Array, matched: number, code: number): number {
  let length = matched;
  while (length > 0 && text.charCodeAt(length) !== code) {
    length = borders[length - 1] ?? 0;
  }
  return text.charCodeAt(length) === code ? length + 1 : 0;
}
