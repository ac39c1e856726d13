/** Fields of objects that other programs wrote, under whichever of several names they have. */
import { isRecord } from '../shared/guard.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** A surrogate as JSON escapes it: half of a character, where the other half is not beside it. */
export const HALF = /\\u[dD][89a-fA-F]/u;

/** The first of some keys that holds a text that is not empty. */
export function textAt(fields: Fields, ...keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (typeof value === 'string' && value !== '') {
      return value;
    }
  }
  return null;
}

/** The first of some keys that holds anything but null. */
export function valueAt(fields: Fields, ...keys: readonly string[]): unknown {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (value !== undefined && value !== null) {
      return value;
    }
  }
  return undefined;
}

/** The object under a key; an empty one where there is none. */
export function fieldsAt(holder: unknown, key: string): Fields {
  const value = isRecord(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
  return isRecord(value) ? value : {};
}

/** The list under a key; an empty one where there is none. */
export function listAtKey(holder: unknown, key: string): readonly unknown[] {
  const value = isRecord(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
  return Array.isArray(value) ? value : [];
}

/** A value as text: texts as they are, everything else as JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** What JSON can begin with. Asking this first costs far less than the error that most texts would end with. */
const JSON_BEGINS = /^\s*(?:[[{"\d-]|true|false|null)/u;

/** The value of a text that may be JSON, with halves of characters as U+FFFD; the text itself where it is none. */
export function parsedJson(value: unknown): unknown {
  if (typeof value !== 'string' || !JSON_BEGINS.test(value)) {
    return value;
  }
  try {
    return HALF.test(value)
      ? JSON.parse(value, (_, one: unknown) => (typeof one === 'string' ? one.toWellFormed() : one))
      : JSON.parse(value);
  } catch (error) {
    if (error instanceof SyntaxError) {
      return value;
    }
    throw error;
  }
}

/**
 * What a text holds as JSON, where that is an object or a list. Any other value is a text that looks like one: 42 and
 * true are answers.
 */
export function structured(value: unknown): unknown {
  const parsed = typeof value === 'string' && !/^\s*[[{]/u.test(value) ? value : parsedJson(value);
  return isRecord(parsed) || Array.isArray(parsed) ? parsed : value;
}

/** Characters of a value without spaces that is bytes and no text. */
const LONG_VALUE = 512;
const BYTES = /^(?:data:[\w.+/;=-]*,)?[A-Za-z0-9+/_=-]+$/u;

/** A value as JSON, with the size of encoded pictures and sounds in the place of their bytes. */
export const jsonWithoutBytes = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'string' && one.length > LONG_VALUE && BYTES.test(one)
      ? `[${one.length.toLocaleString('en')} characters of bytes]`
      : one,
  );
