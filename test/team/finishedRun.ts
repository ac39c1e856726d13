/** A run of the command line in a store of its own, read and thrown away: what the comparisons here are made of. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import type { StoreReader } from '../../src/store/types.ts';

const CLI = join(import.meta.dirname, '../../dist/cli.js');
const printedSchema = z.object({ run: z.string(), seconds: z.number() });

/**
 * `c3 run` of dist/cli.js with these overrides; its progress is printed.
 * @param read gets the store with the run alone, which is closed afterward
 */
export function finishedRun<Result>(
  overrides: readonly string[],
  read: (store: StoreReader, run: z.infer<typeof printedSchema>) => Result,
): Result {
  const folder = mkdtempSync(join(tmpdir(), 'c3-compared-'));
  const path = join(folder, 'c3.sqlite');
  try {
    const printed = execFileSync(
      process.execPath,
      [CLI, 'run', '--json', '--store', path, '--override', ...overrides],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 26 },
    );
    const store = openStoreForReading(path);
    try {
      return read(store, printedSchema.parse(JSON.parse(printed)));
    } finally {
      store.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
