/**
 * Guards for messages that cross a process boundary. Each guard is a type together with its check. A
 * webview shows untrusted text, so the extension host checks everything that comes from it.
 */

/** Returns true if a value has the guarded shape; unknown keys are refused. */
export type Guard<T> = (value: unknown) => value is T;

/** The type that a guard checks. */
export type Guarded<G> = G extends Guard<infer T> ? T : never;

/** Longest text accepted from a webview, in UTF-16 units. */
export const TEXT_LIMIT = 100_000;
/** Longest list accepted from a webview. */
export const LIST_LIMIT = 10_000;

/** Guards a text of at most `limit` UTF-16 units. */
export function text(limit = TEXT_LIMIT): Guard<string> {
  return (value): value is string => typeof value === 'string' && value.length <= limit;
}

/** Guards an integer in [low, high]. */
export function integer(low = 0, high = Number.MAX_SAFE_INTEGER): Guard<number> {
  return (value): value is number => Number.isSafeInteger(value) && Number(value) >= low && Number(value) <= high;
}

/** Guards a finite number in [low, high]. */
export function number(low: number, high: number): Guard<number> {
  return (value): value is number =>
    typeof value === 'number' && Number.isFinite(value) && value >= low && value <= high;
}

/** Guards one of the given literals. */
export function literal<const T extends string | number | boolean>(...allowed: readonly T[]): Guard<T> {
  const values: readonly unknown[] = allowed;
  return (value): value is T => values.includes(value);
}

/** Guards a value that may also be null. */
export function nullable<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value);
}

/** Guards a list of at most `limit` guarded items. */
export function list<T>(guard: Guard<T>, limit = LIST_LIMIT): Guard<readonly T[]> {
  return (value): value is readonly T[] =>
    Array.isArray(value) && value.length <= limit && value.every((item) => guard(item));
}

/** Guards a plain object with exactly these keys. */
export function object<S extends Readonly<Record<string, Guard<unknown>>>>(
  shape: S,
): Guard<{ readonly [K in keyof S]: Guarded<S[K]> }> {
  const keys = Object.keys(shape);
  return (value): value is { readonly [K in keyof S]: Guarded<S[K]> } => {
    if (!isRecord(value) || Object.keys(value).length !== keys.length) {
      return false;
    }
    return keys.every((key) => Object.hasOwn(value, key) && shape[key]?.(value[key]) === true);
  };
}

/**
 * Guards an object from one of our own processes: it must have these keys, so that an answer to
 * another question is refused.
 * @param keys some keys that no other answer has
 */
export function holdingKeys<T extends object>(keys: Partial<Readonly<Record<keyof T, true>>>): Guard<T> {
  return (value): value is T => isRecord(value) && Object.keys(keys).every((key) => Object.hasOwn(value, key));
}

/** Returns true if a value is an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
