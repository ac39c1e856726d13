/**
 * The programs that tests start as separate processes, and the command line for their own process.
 */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as CommandLine from '../../src/engine/commandLine/main.ts';
import { SANDBOX_PLACES } from '../../src/engine/places.ts';
import type { SandboxPlaces } from '../../src/evaluate/python/sandbox/sandboxProcess.ts';

/**
 * The folder of the build, set by the test run. Built programs start in half the processor time of
 * the source.
 */
export const BUILT = 'C3_TEST_DIST';

const SOURCE = join(import.meta.dirname, '../../src/engine');
const COMMANDS = 'commandLine.js';
const ENTRIES = { cli: 'cli.ts', engine: 'main.ts' } as const;

/**
 * Returns the script of a program: the built one in a test run with a build, otherwise the source,
 * so that a single test file never runs an outdated build.
 */
export function programOf(name: keyof typeof ENTRIES): string {
  const built = process.env[BUILT];
  return built === undefined || built === '' ? join(SOURCE, ENTRIES[name]) : join(built, `${name}.js`);
}

/**
 * Loads the commands of `c3` into this process: the built ones in a test run with a build, whose
 * threads and processes start sooner, otherwise the source.
 */
export async function commandLine(): Promise<typeof CommandLine> {
  const built = process.env[BUILT];
  const path = built === undefined || built === '' ? join(SOURCE, 'commandLine', 'main.ts') : join(built, COMMANDS);
  return (await import(pathToFileURL(path).href)) as typeof CommandLine;
}

/**
 * The sandbox: the built one with its memory image in a test run with a build, otherwise the
 * source.
 */
export function sandboxPlaces(): SandboxPlaces {
  const built = process.env[BUILT];
  return built === undefined || built === ''
    ? SANDBOX_PLACES
    : {
        ...SANDBOX_PLACES,
        entry: pathToFileURL(join(built, 'sandbox', 'sandbox.mjs')),
        image: pathToFileURL(join(built, 'sandbox', 'image.bin')),
      };
}
