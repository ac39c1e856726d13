/** What tests of measurements share: a temporary folder of their process's own, and figures by name. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { BenchFigure } from '../../../src/bench/report.ts';

/** Others measure at the same time. */
const temporary = mkdtempSync(join(tmpdir(), 'c3-own-'));
for (const name of ['TMPDIR', 'TMP', 'TEMP']) {
  process.env[name] = temporary;
}
after(() => rmSync(temporary, { recursive: true, force: true }));

/** What measurements have left in the temporary folder. */
export const leftovers = (): string[] => readdirSync(temporary).filter((name) => name.startsWith('c3-bench-'));

export function named(figures: readonly BenchFigure[], name: string): BenchFigure {
  const found = figures.find((one) => one.name === name);
  assert.ok(found !== undefined, `${name} is missing among ${figures.map((one) => one.name).join('; ')}`);
  return found;
}
