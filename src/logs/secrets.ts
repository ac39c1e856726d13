/** Masks texts that look like keys before any part of a log is kept. */

import { isRecord } from '../shared/guard.ts';
import { KINDS_BY_NAME, KINDS_BY_PREFIX, type SecretKind } from './secretKinds.ts';

const MASK = '[masked]';

/** Joins all kinds in one pattern, so that a text is searched once. */
const together = (kinds: readonly SecretKind[], flags: string): RegExp =>
  new RegExp(kinds.map(({ pattern }) => pattern.source).join('|'), flags);
const SECRETS: readonly RegExp[] = [together(KINDS_BY_PREFIX, 'gu'), together(KINDS_BY_NAME, 'giu')];

/** Masks all parts of a text that look like keys, except for their known prefix. Counts them. */
export function maskText(text: string): { readonly text: string; readonly count: number } {
  let count = 0;
  const mask = (_: string, ...groups: readonly unknown[]): string => {
    count++;
    const kept = groups.find((group) => group !== undefined);
    return `${typeof kept === 'string' ? kept : ''}${MASK}`;
  };
  const cleaned = SECRETS.reduce((sum, pattern) => sum.replace(pattern, mask), text);
  return { text: cleaned, count };
}

/** Masks every text and every key of a JSON value in the same way. */
export function maskValue(value: unknown): { readonly value: unknown; readonly count: number } {
  let count = 0;
  const clean = (text: string): string => {
    const cleaned = maskText(text);
    count += cleaned.count;
    return cleaned.text;
  };
  const within = (one: unknown): unknown =>
    typeof one === 'string'
      ? clean(one)
      : Array.isArray(one)
        ? one.map(within)
        : isRecord(one)
          ? Object.fromEntries(Object.entries(one).map(([key, field]) => [clean(key), within(field)]))
          : one;
  return { value: within(value), count };
}
