/** The programs that tests start as processes of their own, and the command line for their own process. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as CommandLine from '../../src/engine/commandLine/main.ts';
import { SANDBOX_PLACES } from '../../src/engine/places.ts';
import type { SandboxPlaces } from '../../src/evaluate/python/sandbox/sandboxProcess.ts';

/** Set by the test run: the folder of what was built, which starts in half of the processor time of the source. */
export const BUILT = 'C3_TEST_DIST';

const SOURCE = join(import.meta.dirname, '../../src/engine');
const COMMANDS = 'commandLine.js';
const ENTRIES = { cli: 'cli.ts', engine: 'main.ts' } as const;

/**
 * The script of a program: as it was built in a test run that built it, else its source, so that one test file by
 * itself never runs what is older than its source.
 */
export function programOf(name: keyof typeof ENTRIES): string {
  const built = process.env[BUILT];
  return built === undefined || built === '' ? join(SOURCE, ENTRIES[name]) : join(built, `${name}.js`);
}

/**
 * The commands of `c3`, for this process: as they were built in a test run that built them, whose threads and processes
 * start sooner, else from source.
 */
export async function commandLine(): Promise<typeof CommandLine> {
  const built = process.env[BUILT];
  const path = built === undefined || built === '' ? join(SOURCE, 'commandLine', 'main.ts') : join(built, COMMANDS);
  return (await import(pathToFileURL(path).href)) as typeof CommandLine;
}

/** The sandbox: as it was built in a test run that built it, with its memory image, else from source. */
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
