/**
 * Guards for messages that cross a process boundary: each guard is the type and its check in one.
 * A webview shows untrusted text, so the extension host takes nothing from it unchecked.
 */

/** Says whether a value has the guarded shape; unknown keys are refused. */
export type Guard<T> = (value: unknown) => value is T;

/** The type that a guard guards. */
export type Guarded<G> = G extends Guard<infer T> ? T : never;

/** Longest text taken from a webview, in UTF-16 units. */
export const TEXT_LIMIT = 100_000;
/** Longest list taken from a webview. */
export const LIST_LIMIT = 10_000;

/** A text of at most `limit` UTF-16 units. */
export function text(limit = TEXT_LIMIT): Guard<string> {
  return (value): value is string => typeof value === 'string' && value.length <= limit;
}

/** An integer in [low, high]. */
export function integer(low = 0, high = Number.MAX_SAFE_INTEGER): Guard<number> {
  return (value): value is number => Number.isSafeInteger(value) && Number(value) >= low && Number(value) <= high;
}

/** A finite number in [low, high]. */
export function number(low: number, high: number): Guard<number> {
  return (value): value is number =>
    typeof value === 'number' && Number.isFinite(value) && value >= low && value <= high;
}

/** One of the given literals. */
export function literal<const T extends string | number | boolean>(...allowed: readonly T[]): Guard<T> {
  const values: readonly unknown[] = allowed;
  return (value): value is T => values.includes(value);
}

/** The guarded value, or null. */
export function nullable<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value);
}

/** A list of at most `limit` guarded items. */
export function list<T>(guard: Guard<T>, limit = LIST_LIMIT): Guard<readonly T[]> {
  return (value): value is readonly T[] =>
    Array.isArray(value) && value.length <= limit && value.every((item) => guard(item));
}

/** A plain object with exactly these keys. */
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
 * An object from a sender of our own that has these keys: the answer to what was asked, and not to something else.
 * @param keys some that no other answer has
 */
export function holding<T extends object>(keys: Partial<Readonly<Record<keyof T, true>>>): Guard<T> {
  return (value): value is T => isRecord(value) && Object.keys(keys).every((key) => Object.hasOwn(value, key));
}

/** Whether a value is an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
