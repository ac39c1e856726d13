/** The words of a search in a text. Pure. */

export interface Stretch {
  readonly text: string;
  readonly hit: boolean;
}

/** Cuts a text at the beginnings of words that the query's words begin, as the store's search finds them: without case and accents. */
export function highlighted(text: string, query: string): readonly Stretch[] {
  const words = query.split(/[^\p{L}\p{N}\p{M}]+/u).filter((word) => word !== '').map(plain);
  if (words.length === 0) return [{ text, hit: false }];
  const stretches: Stretch[] = [];
  let at = 0;
  for (const found of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    const [word] = found;
    if (!words.some((wanted) => plain(word).startsWith(wanted))) continue;
    if (found.index > at) stretches.push({ text: text.slice(at, found.index), hit: false });
    stretches.push({ text: word, hit: true });
    at = found.index + word.length;
  }
  if (at < text.length) stretches.push({ text: text.slice(at), hit: false });
  return stretches;
}

function plain(word: string): string {
  return word.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}
