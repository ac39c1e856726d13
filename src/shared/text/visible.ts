/** Makes hidden characters of a text visible. Pure. */

/**
 * Control characters, format characters (bidirectional marks, joiners, byte order mark), line and paragraph separators,
 * C1 controls, other blanks, unpaired surrogates.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u00a0\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u3000\u3164\ufe00-\ufe0f\uffa0]/gu;

/**
 * Runs of invisible characters that affect a text: controls except tab and line feed, bidirectional
 * and other zero-width controls, line and paragraph separators, unpaired surrogates. Blanks of other
 * widths, and joiners and variation selectors of emoji, do not match.
 */
const ACTING =
  /(?:(?![\t\n]|(?<=\p{Emoji})[\ufe0e\ufe0f]|(?<=\p{Extended_Pictographic}[\ufe0f\p{EMod}]?)\u200d(?=\p{Extended_Pictographic}))[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}\ufff9-\ufffb])+/gu;

// The pictures of control characters are not used, because many fonts lack them.
const NAMES: ReadonlyMap<string, string> = new Map([
  ['\n', '⟨LF⟩'],
  ['\t', '⟨TAB⟩'],
  ['\r', '⟨CR⟩'],
]);

/**
 * Returns the text on one line: line feed, tab and carriage return by name, other invisible characters
 * by their code.
 */
export function showHidden(text: string): string {
  return text.replaceAll(HIDDEN, formatCode);
}

/** Returns the text in its own lines, with invisible control characters replaced by their codes. */
export function showInvisibleControls(text: string): string {
  return text.replaceAll(ACTING, formatCodes);
}

/** Returns true if a text contains invisible control characters. */
export function hasInvisibleControls(text: string): boolean {
  return text.search(ACTING) >= 0;
}

/** A piece of a text for display; `written` is the original of a replaced piece, or null. */
export interface Shown {
  readonly text: string;
  readonly written: string | null;
}

/**
 * Splits a text at its invisible control characters. Those after the first `most` are replaced by
 * their codes within one last piece.
 */
export function splitAtInvisible(text: string, most: number): readonly Shown[] {
  const cut: Shown[] = [];
  let at = 0;
  let found = 0;
  for (const { 0: written, index } of text.matchAll(ACTING)) {
    if (found === most) {
      break;
    }
    found++;
    if (index > at) {
      cut.push({ text: text.slice(at, index), written: null });
    }
    cut.push({ text: formatCodes(written), written });
    at = index + written.length;
  }
  const rest = text.slice(at);
  if (rest !== '') {
    cut.push({ text: found === most ? showInvisibleControls(rest) : rest, written: null });
  }
  return cut;
}

/** Returns the first characters of a text without half of a surrogate pair. @param most UTF-16 units */
export function takeBeginning(text: string, most: number): string {
  const code = text.charCodeAt(most - 1);
  const next = text.charCodeAt(most);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff && next >= 0xdc00 && next <= 0xdfff ? most - 1 : most);
}

function formatCodes(run: string): string {
  return Array.from(run, formatCode).join('');
}

function formatCode(character: string): string {
  return NAMES.get(character) ?? `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
