/** Maximum length of a label in a list, in characters. */
const LABEL = 60;

/** Returns the start of a text on one line. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, 4 * LABEL)
    .replaceAll(/\s+/gu, ' ')
    .trim();
  return line.length > LABEL ? `${line.slice(0, LABEL)}…` : line;
}
