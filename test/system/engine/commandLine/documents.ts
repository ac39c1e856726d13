/** The documents that commands print, looked into part by part. */

import assert from 'node:assert/strict';
import type { Finished } from '../../../unit/engine/workspace.ts';

export const isInterval = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const { value: middle, low, high, n } = value as Record<string, unknown>;
  const isBound = (bound: unknown): boolean => bound === null || typeof bound === 'number';
  return typeof middle === 'number' && isBound(low) && isBound(high) && Number.isInteger(n);
};
/** A value whose parts the test asserts one by one. */
export const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
export const list = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : assert.fail(`no list: ${JSON.stringify(value)}`);
export const succeeded = ({ code, stderr }: Finished): void => assert.equal(code, 0, stderr);
