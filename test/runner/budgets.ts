/**
 * Budgets of processor time: a fast suite stays fast. The same work takes several times its seconds on a slow machine,
 * or beside other programs, so that budgets grow with what a piece of known work takes.
 */
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import type { Suite } from './chosen.ts';

/**
 * Processor seconds that a file of the fast suites may take, and each suite. Those of the VS Code suite hold what the
 * window takes, five seconds of which go into opening it. The same work takes a quarter more from one run to the next
 * on a machine that is shared: the limits leave room for half more.
 */
const FILE_BUDGET: Readonly<Partial<Record<Suite, number>>> = { unit: 15, system: 25, integration: 36 };
const SUITE_BUDGET: Readonly<Partial<Record<string, number>>> = { unit: 300, system: 520, integration: 480 };

/** The known work: a process that compiles a large program, of a version that package-lock.json fixes. */
const KNOWN_WORK = "require('typescript'); const { user, system } = process.cpuUsage(); console.log(user + system);";
/** What it takes on the machine that the budgets were set on, in processor seconds. */
const KNOWN_WORK_SECONDS = 0.2;

/** A file or a suite that took more than it may. */
export interface Excess {
  readonly suite: string;
  /** The file, or the suite where all of it took too much. */
  readonly name: string;
  readonly reason: string;
}

/**
 * @param files each with its suite and the processor seconds that it took
 * @param suites the processor seconds of whole suites; none where only some of their files ran
 * @param slowdown what the machine takes for one second of a budget, in seconds
 * @returns what took more than its budget, files first
 */
export function findExcesses(
  files: readonly { readonly file: string; readonly suite: Suite; readonly processorSeconds: number }[],
  suites: ReadonlyMap<string, number>,
  slowdown: number,
): Excess[] {
  const ofFiles = files.flatMap(({ file, suite, processorSeconds: took }) => {
    const most = (FILE_BUDGET[suite] ?? Infinity) * slowdown;
    const reason = `${took.toFixed(1)} s of processor time, and a file may take ${most.toFixed(0)} s`;
    return took > most ? [{ suite, name: file, reason }] : [];
  });
  const ofSuites = [...suites].flatMap(([suite, took]) => {
    const most = (SUITE_BUDGET[suite] ?? Infinity) * slowdown;
    const reason = `${took.toFixed(0)} s of processor time, and the suite may take ${most.toFixed(0)} s`;
    return took > most ? [{ suite, name: suite, reason }] : [];
  });
  return [...ofFiles, ...ofSuites];
}

/**
 * @param knownWork processor seconds of the known work, several times
 * @returns how many times slower this machine is than the one that the budgets were set on, by their median; at least 1
 */
export function slowdownOf(knownWork: readonly number[]): number {
  const median = knownWork.toSorted((a, b) => a - b)[knownWork.length >> 1] ?? KNOWN_WORK_SECONDS;
  return Math.max(1, median / KNOWN_WORK_SECONDS);
}

/**
 * Does the known work, with more processes than there are processors, as the tests have it.
 * @param root of the tree, whose packages it uses
 * @returns the processor seconds of each
 */
export async function doKnownWork(root: string): Promise<number[]> {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const once = async (): Promise<number> => {
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', KNOWN_WORK], { cwd: root, env });
    return Number(stdout) / 1e6;
  };
  const seconds: number[] = [];
  for (let turn = 0; turn < 2; turn++) {
    seconds.push(...(await Promise.all(Array.from({ length: availableParallelism() + 1 }, once))));
  }
  return seconds;
}
