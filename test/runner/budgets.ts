/**
 * Budgets of processor time, which keep the fast suites fast. The same work takes several times
 * longer on a slow or busy machine, so budgets grow with the time of a reference workload.
 */

import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import type { Suite } from './chosen.ts';

/**
 * Processor seconds that a file and a whole suite may take. Those of the VS Code suite include the
 * window, which takes five seconds to open. On a shared machine the same work varies by a quarter
 * from run to run, so the limits leave room for half more.
 */
const FILE_BUDGET: Readonly<Partial<Record<Suite, number>>> = { unit: 15, system: 25, integration: 36 };
const SUITE_BUDGET: Readonly<Partial<Record<string, number>>> = { unit: 300, system: 520, integration: 480 };

/**
 * The reference workload: a process that loads a large package, whose version package-lock.json
 * fixes.
 */
const KNOWN_WORK = "require('typescript'); const { user, system } = process.cpuUsage(); console.log(user + system);";
/** Processor seconds of the reference workload on the machine for which the budgets were set. */
const KNOWN_WORK_SECONDS = 0.2;

/** A file or a suite over its budget. */
export interface Excess {
  readonly suite: string;
  /** The file, or the suite if the whole suite is over its budget. */
  readonly name: string;
  readonly reason: string;
}

/**
 * Returns the files, then the suites, that are over their budgets.
 * @param suites processor seconds of the suites that ran completely
 * @param slowdown seconds that this machine takes for one second of a budget
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
 * Returns the factor by which this machine is slower than the one for which the budgets were set,
 * at least 1.
 * @param knownWork processor seconds of several runs of the reference workload
 */
export function computeSlowdown(knownWork: readonly number[]): number {
  const median = knownWork.toSorted((a, b) => a - b)[knownWork.length >> 1] ?? KNOWN_WORK_SECONDS;
  return Math.max(1, median / KNOWN_WORK_SECONDS);
}

/**
 * Runs the reference workload in more processes than there are processors, as the tests do.
 * @param root folder of the repository, whose packages are used
 * @returns the processor seconds of each run
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
