/** Budgets of processor time: a fast suite stays fast. */
import { cpus } from 'node:os';
import type { Suite } from './chosen.ts';

/**
 * Processor seconds that a file of the fast suites may take, and each suite. Those of the VS Code suite hold what the
 * window takes, five seconds of which go into opening it. The same work takes a quarter more from one run to the next
 * on a machine that is shared: the limits leave room for half more.
 */
const FILE_BUDGET: Readonly<Partial<Record<Suite, number>>> = { unit: 15, system: 25, integration: 36 };
const SUITE_BUDGET: Readonly<Partial<Record<string, number>>> = { unit: 300, system: 520, integration: 480 };

/**
 * Share of the machine's processor time from which on the seconds of the tests count. Below it, the same work takes up
 * to twice its seconds, since two cores are often the threads of one.
 */
const LEAST_SHARE = 0.5;

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
 * @returns what took more than its budget, files first
 */
export function findExcesses(
  files: readonly { readonly file: string; readonly suite: Suite; readonly processorSeconds: number }[],
  suites: ReadonlyMap<string, number>,
): Excess[] {
  const ofFiles = files.flatMap(({ file, suite, processorSeconds: took }) => {
    const most = FILE_BUDGET[suite] ?? Infinity;
    const reason = `${took.toFixed(1)} s of processor time, and a file may take ${most} s`;
    return took > most ? [{ suite, name: file, reason }] : [];
  });
  const ofSuites = [...suites].flatMap(([suite, took]) => {
    const most = SUITE_BUDGET[suite] ?? Infinity;
    const reason = `${took.toFixed(0)} s of processor time, and the suite may take ${most} s`;
    return took > most ? [{ suite, name: suite, reason }] : [];
  });
  return [...ofFiles, ...ofSuites];
}

/**
 * Whether a run had at least half of the machine. Its processor seconds then say how much its files have to do.
 * @param own processor seconds of the run
 * @param all processor seconds that the machine spent meanwhile, on the run too
 */
export const hadMostOfMachine = (own: number, all: number): boolean => own >= LEAST_SHARE * all;

/** The processor time that the machine has spent on all programs since it started, in seconds. */
export function machineSeconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0) / 1000;
}
