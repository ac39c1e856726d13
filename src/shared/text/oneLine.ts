/** Text of models and of foreign files, as part of a line. */

/**
 * Shows text of a model on one line: control characters and line ends become visible, the length is
 * bounded, and only the shown part of the text is read.
 */
export function toOneLine(text: string, limit: number): string {
  const visible = text
    .slice(0, 2 * limit)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => (character === '\n' ? '⏎' : '·'));
  return visible.length > limit ? `${visible.slice(0, limit - 1)}…` : visible;
}
