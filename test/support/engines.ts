/**
 * Engines of tests. They use a runtime folder of the test, so that they are separate from the
 * engines of the user and end with the test.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../src/files/processes.ts';
import { parseHolder } from '../../src/shared/protocols/storeHolder.ts';

/**
 * Returns the process ids of the living engines in a runtime folder. A killed engine leaves its
 * lock there.
 */
export function listEngines(runtime: string): number[] {
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
      // The engine has just ended.
      return [];
    }
  });
}

/** Kills the engines in a runtime folder. */
export function killEngines(runtime: string): void {
  for (const pid of listEngines(runtime)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The engine has ended.
    }
  }
}

/**
 * Gives this process and its children a separate runtime folder, which is removed with the process.
 * @returns the folder
 */
export function useOwnRuntimeFolder(): string {
  const runtime = mkdtempSync(join(tmpdir(), 'c3-run-'));
  process.env['XDG_RUNTIME_DIR'] = runtime;
  process.on('exit', () => {
    killEngines(runtime);
    rmSync(runtime, { recursive: true, force: true });
  });
  return runtime;
}
