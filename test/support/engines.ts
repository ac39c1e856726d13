/**
 * Engines of tests: they live in a folder of the test's own, so that none of the user's is met, and none outlives the
 * test.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../src/files/processes.ts';
import { parseHolder } from '../../src/shared/protocols/storeHolder.ts';

/** The process numbers of the engines in a runtime folder that live: one that was killed leaves its lock there. */
export function enginesIn(runtime: string): number[] {
  const folder = join(runtime, 'c3-replay');
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.lock'));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      const holder = parseHolder(readFileSync(join(folder, name), 'utf8'));
      return holder !== null && isAlive(holder) ? [holder.pid] : [];
    } catch {
      // It has just ended.
      return [];
    }
  });
}

/** Ends the engines in a runtime folder at once. */
export function killEngines(runtime: string): void {
  for (const pid of enginesIn(runtime)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

/**
 * Lets this process and what it starts find engines in a folder of its own, which goes with the process.
 * @returns the folder
 */
export function ownRuntimeFolder(): string {
  const runtime = mkdtempSync(join(tmpdir(), 'c3-run-'));
  process.env['XDG_RUNTIME_DIR'] = runtime;
  process.on('exit', () => {
    killEngines(runtime);
    rmSync(runtime, { recursive: true, force: true });
  });
  return runtime;
}
