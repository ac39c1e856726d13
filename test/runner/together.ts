/**
 * Runs several test files in one process: node test/runner/together.ts FILE ... Each file is a
 * suite with its name, so that its hooks apply only to its own tests.
 */

import { resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) {
  describe(file, async () => {
    await import(pathToFileURL(resolve(file)).href);
  });
}
