/** Test files, run in a process of their own. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

const REPORTER = join(import.meta.dirname, 'reporter.ts');
const TOGETHER = join(import.meta.dirname, 'together.ts');
/** A file that floods its output keeps the end of it. */
const KEPT_CHARACTERS = 400_000;

const totals = z.object({
  processorSeconds: z.number(),
  /** Tests and suites that lie in no other. */
  parts: z.array(z.object({ name: z.string(), passed: z.number(), failed: z.number(), milliseconds: z.number() })),
});

export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  /** Of its tests; of its process where it has one to itself. */
  readonly seconds: number;
  /**
   * Of its process and the processes that it started and waited for. Where files share a process, its share by the
   * seconds of its tests.
   */
  readonly processorSeconds: number;
}

export interface FileResults {
  readonly files: readonly FileResult[];
  /** What the tests and their reports printed. */
  readonly output: string;
}

/**
 * Runs test files to their end: one in a process of its own, several in one process, one after another. A process that
 * ends without a report of its tests counts as one test that failed.
 * @param files from the working directory
 * @param env on top of this process's own
 * @param milliseconds after which it is ended
 */
export async function runTestFiles(
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  milliseconds: number,
): Promise<FileResults> {
  const folder = mkdtempSync(join(tmpdir(), 'c3-totals-'));
  const path = join(folder, 'totals.json');
  const begun = performance.now();
  try {
    // A file that runs below another test reports here, not to that one's run.
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
        // Nothing of it is left.
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
    late.addEventListener('abort', kill);
    const ended = await new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(signal ?? `code ${String(code)}`));
    });
    late.removeEventListener('abort', kill);
    process.off('exit', kill);
    // What a test left running ends with its file.
    kill();
    const seconds = (performance.now() - begun) / 1000;
    const counted = read(path);
    if (counted === undefined || (counted.parts.every(({ failed }) => failed === 0) && ended !== 'code 0')) {
      const why = late.aborted ? 'did not end in time' : `ended with ${ended}, without a report of all its tests`;
      return {
        files: resultsOf(files, counted, seconds).map((result, index) =>
          index === 0 ? { ...result, failed: 1 } : result,
        ),
        output: `${output}\n${files.join(', ')} ${why}.`,
      };
    }
    return { files: resultsOf(files, counted, seconds), output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The files with what was counted of them; with nothing where that is not known. */
function resultsOf(
  files: readonly string[],
  counted: z.infer<typeof totals> | undefined,
  seconds: number,
): FileResult[] {
  const all = sumOf(counted?.parts ?? []);
  return files.map((file) => {
    const own = files.length === 1 ? all : sumOf(counted?.parts.filter(({ name }) => name === file) ?? []);
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

function sumOf(parts: z.infer<typeof totals>['parts']): Omit<z.infer<typeof totals>['parts'][number], 'name'> {
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
