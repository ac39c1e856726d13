/** The gold answer in a worked solution, in the forms of the published data sets. */

/**
 * Returns the answer after `####` on the last line (GSM8K: `...\n#### 1,234` gives 1234); undefined if
 * the last line has none.
 */
export function hashGold(text: string): string | undefined {
  const lastLine = text.trim().split('\n').at(-1) ?? '';
  const marked = /^\s*####(?!#)(.*)$/u.exec(lastLine)?.[1]?.trim();
  // Commas are removed only if they group thousands; in 1,2 they may separate a list.
  return marked !== undefined && /^[-+]?\$?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/u.test(marked)
    ? marked.replaceAll(',', '')
    : marked;
}

/**
 * Returns the content of the last `\boxed{...}` or `\fbox{...}` (MATH), or of `\boxed x` up to the end
 * of the formula.
 * @returns undefined if there is none, if it is blank or if its braces do not close
 */
export function boxedGold(text: string): string | undefined {
  const start = Math.max(text.lastIndexOf('\\boxed'), text.lastIndexOf('\\fbox'));
  if (start === -1) {
    return undefined;
  }
  const rest = text.slice(start).replace(/^\\(?:boxed|fbox)\s*/u, '');
  const inner = rest.startsWith('{') ? braced(rest) : /^[^$\n]*/u.exec(rest)?.[0];
  return inner?.trim() || undefined;
}

/** Returns the text between the first brace and its closing brace; \{ and \} do not count as braces. */
function braced(text: string): string | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === '\\') {
      at++;
    } else if (letter === '{') {
      depth++;
    } else if (letter === '}') {
      depth--;
      if (depth === 0) {
        return text.slice(1, at);
      }
    }
  }
  return undefined;
}
