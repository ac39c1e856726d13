/** The product's version. */

import { readFileSync } from 'node:fs';
import { isRecord } from '../shared/guard.ts';
import { PACKAGE_FILE } from './places.ts';

/** Reads the version without a schema library, which would dominate the start time of a command. */
function readVersion(): string {
  const parsed: unknown = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8'));
  const version = isRecord(parsed) ? parsed['version'] : undefined;
  if (typeof version !== 'string') {
    throw new Error(`${PACKAGE_FILE} names no version.`);
  }
  return version;
}

export const VERSION: string = readVersion();
