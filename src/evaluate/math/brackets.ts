/** Splits token lists at brackets and separators. */

import { Unreadable } from './exact/budget.ts';
import type { Token } from './lex.ts';

export const OPENING = /^(?:[([{]|\\\{)$/u;
export const CLOSING = /^(?:[)\]}]|\\\})$/u;

/**
 * Returns the parts between the separators outside brackets, and adds the separators to `found`.
 * @throws Unreadable for brackets that do not match
 */
export function splitOutsideBrackets(
  tokens: readonly Token[],
  separates: (token: Token) => boolean,
  found: string[] = [],
): readonly (readonly Token[])[] {
  const parts: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    depth += bracketStep(token);
    if (depth < 0) {
      throw new Unreadable();
    }
    if (depth === 0 && separates(token)) {
      parts.push([]);
      found.push(token.text);
    } else {
      parts.at(-1)?.push(token);
    }
  }
  if (depth !== 0) {
    throw new Unreadable();
  }
  return parts;
}

/**
 * Returns 1 for an opening bracket, -1 for a closing one, else 0. All bracket forms match each other,
 * because [1, 2) is an interval.
 */
export function bracketStep({ kind, text }: Token): number {
  if (kind === 'matrix') {
    return text.startsWith('begin') ? 1 : -1;
  }
  if (kind !== 'symbol') {
    return 0;
  }
  return OPENING.test(text) ? 1 : CLOSING.test(text) ? -1 : 0;
}

/** Returns true if the first bracket closes at the last token. */
export function isOneBracketPair(tokens: readonly Token[]): boolean {
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    depth += bracketStep(token);
    if (depth === 0) {
      return at === tokens.length - 1;
    }
  }
  return false;
}
