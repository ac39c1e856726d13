/** Characters that a text hides, made visible. Pure. */

/** Format characters (bidirectional marks, joiners, byte order mark), line and paragraph separators, C1 controls, other blanks, unpaired surrogates. */
const HIDDEN = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u0080-\u009f\u00a0\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u3000\u3164\ufe00-\ufe0f\uffa0]/gu;

/** The text on one line: control characters as their pictures (a line feed as ␊), others that cannot be seen by their code. */
export function visible(text: string): string {
  return text
    .replaceAll(/[\0-\x1f]/gu, (control) => String.fromCodePoint(0x2400 + (control.codePointAt(0) ?? 0)))
    .replaceAll('\x7f', '␡')
    .replaceAll(HIDDEN, codeOf);
}

function codeOf(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
