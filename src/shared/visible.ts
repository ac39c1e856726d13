/** Characters that a text hides, made visible. Pure. */

/** Control characters, format characters (bidirectional marks, joiners, byte order mark), line and paragraph separators, C1 controls, other blanks, unpaired surrogates. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u00a0\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u3000\u3164\ufe00-\ufe0f\uffa0]/gu;

// Not the pictures of control characters: many fonts have none.
const NAMES: ReadonlyMap<string, string> = new Map([['\n', '⟨LF⟩'], ['\t', '⟨TAB⟩'], ['\r', '⟨CR⟩']]);

/** The text on one line: line feed, tab and carriage return by name, others that cannot be seen by their code. */
export function visible(text: string): string {
  return text.replaceAll(HIDDEN, (character) => NAMES.get(character) ?? codeOf(character));
}

function codeOf(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
