/** The gold answer inside a worked solution, as the published data sets write it. */

/**
 * The answer behind `####` on the last line (GSM8K: `...\n#### 1,234` gives 1234); undefined where the last line has
 * none.
 */
export function hashGold(text: string): string | undefined {
  const lastLine = text.trim().split('\n').at(-1) ?? '';
  const marked = /^\s*####(?!#)(.*)$/u.exec(lastLine)?.[1]?.trim();
  // Commas go only where they group thousands; in 1,2 they may part a list.
  return marked !== undefined && /^[-+]?\$?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/u.test(marked)
    ? marked.replaceAll(',', '')
    : marked;
}

/**
 * The content of the last `\boxed{...}` or `\fbox{...}` (MATH); also of `\boxed x`, to the end of the formula.
 * @returns undefined where there is none, where it is blank or where its braces do not close
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

/** What is between the first brace and the one that closes it; \{ and \} are no braces. */
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
