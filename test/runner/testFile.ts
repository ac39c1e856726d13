/** Runs test files in a separate process. */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

const REPORTER = join(import.meta.dirname, 'reporter.ts');
const TOGETHER = join(import.meta.dirname, 'together.ts');
/** Maximum number of characters that are kept of the end of the output. */
const KEPT_CHARACTERS = 400_000;

const totals = z.object({
  processorSeconds: z.number(),
  /** The outermost tests and suites. */
  parts: z.array(z.object({ name: z.string(), passed: z.number(), failed: z.number(), milliseconds: z.number() })),
});

export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  /** Seconds of its process, or the file's share of them if files share a process. */
  readonly seconds: number;
  /**
   * Processor seconds of its process and of the processes that it started and waited for. If files
   * share a process, the file's share by the seconds of its tests.
   */
  readonly processorSeconds: number;
}

export interface FileResults {
  readonly files: readonly FileResult[];
  /** Output of the tests and their reports. */
  readonly output: string;
}

const NOTHING: FileResults = { files: [], output: '' };

/**
 * Runs test files one after another in one process, to their end or until `stop` is aborted. A
 * process that ends without a report of its tests counts as one failed test.
 * @param files paths relative to the working directory
 * @param env variables in addition to those of this process
 * @param milliseconds time limit after which the process is killed
 * @param stop kills the process
 * @returns no files if the process was stopped before its tests were reported
 */
export async function runTestFiles(
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  milliseconds: number,
  stop: AbortSignal,
): Promise<FileResults> {
  if (stop.aborted) {
    return NOTHING;
  }
  const folder = mkdtempSync(join(tmpdir(), 'c3-totals-'));
  const path = join(folder, 'totals.json');
  const begun = performance.now();
  try {
    // Without NODE_TEST_CONTEXT, a file that runs inside another test reports here and not to that
    // test's run.
    const { NODE_TEST_CONTEXT: _, ...own } = process.env;
    const reported = [`--test-reporter=${REPORTER}`, '--test-reporter-destination=stdout'];
    const together = files.length > 1 ? [TOGETHER] : [];
    const child = spawn(process.execPath, [...reported, ...together, ...files], {
      env: { ...own, ...env, C3_TEST_TOTALS: path },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const kill = (): void => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL');
      } catch {
        // All its processes have ended.
      }
    };
    process.once('exit', kill);
    let output = '';
    const keep = (piece: Buffer): void => {
      output = (output + piece.toString('utf8')).slice(-KEPT_CHARACTERS);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const late = AbortSignal.timeout(milliseconds);
    const over = AbortSignal.any([late, stop]);
    over.addEventListener('abort', kill);
    const ended = await new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(signal ?? `code ${String(code)}`));
    });
    over.removeEventListener('abort', kill);
    process.off('exit', kill);
    // Ends the processes that tests left running.
    kill();
    const seconds = (performance.now() - begun) / 1000;
    const counted = read(path);
    if (counted === undefined && over.aborted && !late.aborted) {
      return NOTHING;
    }
    if (counted === undefined || (counted.parts.every(({ failed }) => failed === 0) && ended !== 'code 0')) {
      const why = late.aborted ? 'did not end in time' : `ended with ${ended}, without a report of all its tests`;
      return {
        files: toFileResults(files, counted, seconds).map((result, index) =>
          index === 0 ? { ...result, failed: 1 } : result,
        ),
        output: `${output}\n${files.join(', ')} ${why}.`,
      };
    }
    return { files: toFileResults(files, counted, seconds), output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the results of the files, which are zero if there are no totals. */
function toFileResults(
  files: readonly string[],
  counted: z.infer<typeof totals> | undefined,
  seconds: number,
): FileResult[] {
  const all = sumParts(counted?.parts ?? []);
  return files.map((file) => {
    const own = files.length === 1 ? all : sumParts(counted?.parts.filter(({ name }) => name === file) ?? []);
    const share = files.length === 1 ? 1 : own.milliseconds / Math.max(all.milliseconds, 1);
    return {
      file,
      passed: own.passed,
      failed: own.failed,
      seconds: share * seconds,
      processorSeconds: share * (counted?.processorSeconds ?? 0),
    };
  });
}

function sumParts(parts: z.infer<typeof totals>['parts']): Omit<z.infer<typeof totals>['parts'][number], 'name'> {
  return parts.reduce(
    (sum, { passed, failed, milliseconds }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      milliseconds: sum.milliseconds + milliseconds,
    }),
    { passed: 0, failed: 0, milliseconds: 0 },
  );
}

function read(path: string): z.infer<typeof totals> | undefined {
  try {
    return totals.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}
