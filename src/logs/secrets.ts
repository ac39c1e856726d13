/** Texts that look like keys; masked before anything of a log is kept. */
import { isRecord } from '../shared/guard.ts';
import { KINDS_BY_NAME, KINDS_BY_PREFIX, type SecretKind } from './secretKinds.ts';

const MASK = '[masked]';

/** All kinds in one pattern: a text is read once for each. */
const together = (kinds: readonly SecretKind[], flags: string): RegExp =>
  new RegExp(kinds.map(({ pattern }) => pattern.source).join('|'), flags);
const SECRETS: readonly RegExp[] = [together(KINDS_BY_PREFIX, 'gu'), together(KINDS_BY_NAME, 'giu')];

/** The text with every secret-like part masked, and how many there were; what says their kind is left. */
export function masked(text: string): { readonly text: string; readonly count: number } {
  let count = 0;
  const mask = (_: string, ...groups: readonly unknown[]): string => {
    count++;
    const kept = groups.find((group) => group !== undefined);
    return `${typeof kept === 'string' ? kept : ''}${MASK}`;
  };
  const cleaned = SECRETS.reduce((sum, pattern) => sum.replace(pattern, mask), text);
  return { text: cleaned, count };
}

/** A value of JSON with the same done to every text in it and to every key, once they are whole. */
export function maskedValue(value: unknown): { readonly value: unknown; readonly count: number } {
  let count = 0;
  const clean = (text: string): string => {
    const cleaned = masked(text);
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
