/** One test file, run in a process of its own. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

const REPORTER = join(import.meta.dirname, 'reporter.ts');
/** A file that floods its output keeps the end of it. */
const KEPT_CHARACTERS = 400_000;

const totals = z.object({ passed: z.number(), failed: z.number(), processorSeconds: z.number() });

export interface FileResult {
  readonly passed: number;
  readonly failed: number;
  /** What its tests and their reports printed. */
  readonly output: string;
  readonly seconds: number;
  /** Of its process and the processes that it started and waited for. */
  readonly processorSeconds: number;
}

/**
 * Runs a test file to its end. One that ends without a report of its tests counts as one that failed.
 * @param file from the working directory
 * @param env on top of this process's own
 * @param milliseconds after which it is ended
 */
export async function runTestFile(file: string, env: NodeJS.ProcessEnv, milliseconds: number): Promise<FileResult> {
  const folder = mkdtempSync(join(tmpdir(), 'c3-totals-'));
  const path = join(folder, 'totals.json');
  const begun = performance.now();
  try {
    // A file that runs below another test reports here, not to that one's run.
    const { NODE_TEST_CONTEXT: _, ...own } = process.env;
    const child = spawn(process.execPath, [`--test-reporter=${REPORTER}`, '--test-reporter-destination=stdout', file], {
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
      child.once('close', (code, signal) => {
        resolve(signal ?? `code ${String(code)}`);
      });
    });
    late.removeEventListener('abort', kill);
    process.off('exit', kill);
    // What a test left running ends with its file.
    kill();
    const seconds = (performance.now() - begun) / 1000;
    const counted = read(path);
    if (counted === undefined || (counted.failed === 0 && ended !== 'code 0')) {
      const why = late.aborted ? 'did not end in time' : `ended with ${ended}, without a report of all its tests`;
      return {
        ...(counted ?? { passed: 0, processorSeconds: 0 }),
        failed: 1,
        output: `${output}\n${file} ${why}.`,
        seconds,
      };
    }
    return { ...counted, output, seconds };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function read(path: string): z.infer<typeof totals> | undefined {
  try {
    return totals.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}
