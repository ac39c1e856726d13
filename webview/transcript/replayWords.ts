/** Numbers of a replay, read and put in words. */

/** The mean of the returns that could be scored; null when there is none. */
export function meanReturn(returns: readonly (number | null)[]): number | null {
  const scored = returns.filter((value) => value !== null);
  return scored.length === 0 ? null : scored.reduce((sum, value) => sum + value, 0) / scored.length;
}

/** A whole number from a field, or a sentence that says what is wrong. */
export function parseCount(name: string, value: string, low: number, high: number): number | string {
  const trimmed = value.trim();
  const number = Number(trimmed);
  if (/^\d+$/u.test(trimmed) && number >= low && number <= high) return number;
  return `${name}: a whole number from ${String(low)} to ${String(high)}.`;
}
