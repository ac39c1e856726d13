/** Finds text between braces. */

/**
 * Returns the last stretch from an opening brace at the outermost level to its closing brace. Only
 * braces count, also those inside quotes.
 * @returns null if no brace is closed at that level
 */
export function findLastBraced(text: string): string | null {
  let [depth, start] = [0, 0];
  let found: string | null = null;
  for (const { 0: brace, index } of text.matchAll(/[{}]/gu)) {
    if (brace === '{') {
      start = depth === 0 ? index : start;
      depth += 1;
    } else if (depth > 0) {
      depth -= 1;
      found = depth === 0 ? text.slice(start, index + 1) : found;
    }
  }
  return found;
}
