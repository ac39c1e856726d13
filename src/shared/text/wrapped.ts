/** Text in lines. */

/** Words in lines of at most so many characters; a longer word has a line to itself. */
export function wrapped(words: string, width: number): string[] {
  return words.split(' ').reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) {
      return [...lines, word];
    }
    return [...lines.slice(0, -1), `${last} ${word}`];
  }, []);
}
