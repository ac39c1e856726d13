/** Texts of models and of files from outside, as part of a line. */

/**
 * Text of a model on one line: control characters and other line ends shown, length bounded; no more of it is read than
 * is shown.
 */
export function oneLine(text: string, limit: number): string {
  const visible = text
    .slice(0, 2 * limit)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => (character === '\n' ? '⏎' : '·'));
  return visible.length > limit ? `${visible.slice(0, limit - 1)}…` : visible;
}
