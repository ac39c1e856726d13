/** Line breaks in text. */

/** Breaks text into lines of at most `width` characters; a longer word gets its own line. */
export function wrapWords(words: string, width: number): string[] {
  return words.split(' ').reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) {
      return [...lines, word];
    }
    return [...lines.slice(0, -1), `${last} ${word}`];
  }, []);
}
