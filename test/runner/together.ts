/**
 * Runs several test files in one process: node test/runner/together.ts FILE ... Each is a suite with the name of its
 * file, so that its hooks are for its own tests alone.
 */
import { resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) {
  describe(file, async () => {
    await import(pathToFileURL(resolve(file)).href);
  });
}
