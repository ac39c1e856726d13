/** Texts of models and of files from outside, as part of a line. */

/** Text of a model on one line: control characters shown, length bounded. */
export function oneLine(text: string, limit: number): string {
  const visible = text.replace(/[\p{Cc}\p{Cf}]/gu, (character) => (character === '\n' ? '⏎' : '·'));
  return visible.length > limit ? `${visible.slice(0, limit - 1)}…` : visible;
}
