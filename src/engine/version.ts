import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PACKAGE_FILE } from './places.ts';

/** The product's version. */
export const VERSION: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(PACKAGE_FILE, 'utf8'))).version;
