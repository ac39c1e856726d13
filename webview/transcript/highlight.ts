/** Finds the words of a search in a text. Pure. */

export interface Stretch {
  readonly text: string;
  readonly hit: boolean;
}

/** Number of characters of a word that are compared with the search. */
const LONGEST_WORD = 2_000;

/**
 * Splits a text into words that begin with a word of the query and the stretches between them. Like
 * the store's search, it ignores case and accents.
 * @param most largest number of hits; the text after them is one stretch
 */
export function splitByHits(text: string, query: string, most = Infinity): readonly Stretch[] {
  const words = query
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== '')
    .map(foldAccents);
  if (words.length === 0 || text === '') {
    return [{ text, hit: false }];
  }
  const stretches: Stretch[] = [];
  let at = 0;
  let hits = 0;
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    if (hits === most) {
      break;
    }
    const beginning = foldAccents(word.slice(0, LONGEST_WORD));
    if (!words.some((wanted) => beginning.startsWith(wanted))) {
      continue;
    }
    if (index > at) {
      stretches.push({ text: text.slice(at, index), hit: false });
    }
    stretches.push({ text: word, hit: true });
    at = index + word.length;
    hits++;
  }
  if (at < text.length) {
    stretches.push({ text: text.slice(at), hit: false });
  }
  return stretches;
}

function foldAccents(word: string): string {
  // Most words are like this, and returning them as they are is a hundred times as fast.
  if (/^[a-z0-9]*$/u.test(word)) {
    return word;
  }
  return word.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}
