/** Reads fields of objects from other programs, which name them in different ways. */

import { isRecord } from '../shared/guard.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** An escaped surrogate in JSON. It is unpaired if its other half is not beside it. */
export const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/u;

/** Returns the first nonempty string under some keys, or null. */
export function textAt(fields: Fields, ...keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (typeof value === 'string' && value !== '') {
      return value;
    }
  }
  return null;
}

/** Returns the first value under some keys that is neither null nor undefined. */
export function valueAt(fields: Fields, ...keys: readonly string[]): unknown {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (value !== undefined && value !== null) {
      return value;
    }
  }
  return undefined;
}

/** Returns the object under a key, or an empty one. */
export function fieldsAt(holder: unknown, key: string): Fields {
  const value = isRecord(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
  return isRecord(value) ? value : {};
}

/** Returns the list under a key, or an empty one. */
export function listAtKey(holder: unknown, key: string): readonly unknown[] {
  const value = isRecord(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
  return Array.isArray(value) ? value : [];
}

/** Returns a value as text: strings as they are, all else as JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** The first characters of JSON. This test is much cheaper than a failing parse. */
const JSON_BEGINS = /^\s*(?:[[{"\d-]|true|false|null)/u;

/** Parses a text that may be JSON, with unpaired surrogates as U+FFFD. Keeps other values. */
export function parseIfJson(value: unknown): unknown {
  if (typeof value !== 'string' || !JSON_BEGINS.test(value)) {
    return value;
  }
  try {
    return ESCAPED_SURROGATE.test(value)
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
 * Parses a text that holds an object or a list in JSON. Any other value is returned as it is,
 * because 42 and true are answers.
 */
export function parseStructured(value: unknown): unknown {
  const parsed = typeof value === 'string' && !/^\s*[[{]/u.test(value) ? value : parseIfJson(value);
  return isRecord(parsed) || Array.isArray(parsed) ? parsed : value;
}

/** Values without spaces that are longer than this many characters are taken for bytes. */
const LONG_VALUE = 512;
const BYTES = /^(?:data:[\w.+/;=-]*,)?[A-Za-z0-9+/_=-]+$/u;

/** Returns a value as JSON, with the size of encoded pictures and sounds in place of their bytes. */
export const jsonWithoutBytes = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'string' && one.length > LONG_VALUE && BYTES.test(one)
      ? `[${one.length.toLocaleString('en')} characters of bytes]`
      : one,
  );
