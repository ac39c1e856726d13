/**
 * The tests: node test/run.ts [unit|system|integration|long|attack|full] [ROOM|FILE ...] [--changed [COMMIT]]
 *
 * Without an argument: types, lint, layout, unit tests, system tests and the tests in a real VS Code. `long` is what
 * takes long (all kills, all attacks, whole runs), `full` is everything. Behind a suite, rooms (`credit`,
 * `runtime/graph`) or files choose what of it is run. `--changed` runs what a change against a commit (HEAD where none
 * is named) can reach, the nearest first; the first file that fails ends the run. dist/ must have been built. The last
 * line is the total, "N passed, N failed", and the exit code follows it.
 */

import { randomInt } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { toErrorMessage } from '../src/shared/errors.ts';
import { LENT_PAIR, startPair, type PooledPair } from './integration/harness/pool.ts';
import { INSTALLED, installExtension, installFiles } from './integration/harness/server.ts';
import { doKnownWork, findExcesses, computeSlowdown } from './runner/budgets.ts';
import { changedFiles, findReachedTests, readReach } from './runner/changed.ts';
import { chooseFiles, SUITES, type Suite } from './runner/chosen.ts';
import { runTasks, type Task } from './runner/schedule.ts';
import { runTestFiles } from './runner/testFile.ts';
import { cacheFolder } from './support/cache.ts';
import { run } from './support/command.ts';
import { BUILT } from './support/programs.ts';
import { copyRecorded } from './support/recordedStores.ts';
import { RECORDINGS, type RecordingName } from './support/recordings.ts';
import { installSwiftShader } from './support/swiftShader.ts';
import { chromium, codeServer } from './support/tools.ts';

const ROOT = join(import.meta.dirname, '..');
const CORES = availableParallelism();
const FAST: readonly Suite[] = ['unit', 'system', 'integration'];
/** A scenario waits for much of its time, so that a core carries more than one. */
const LOAD = { unit: 1, system: 1, long: 1, attack: 1, integration: 0.7 } as const;
/** What runs beyond the cores: two files beside two windows, which wait for each other and for their processes. */
const MORE = 1.5;
/** Pairs of a code-server and a browser. */
const WINDOWS = CORES;
/** Seconds after which a file is ended: many times what it takes, and little enough to learn soon that it hangs. */
const FILE_SECONDS = { unit: 300, system: 300, integration: 600, long: 2400, attack: 2400 } as const;
/** Files whose times are shown at the end. */
const SLOWEST = 12;

/** Collecting garbage less often saves a tenth of both. */
const CHECK_FLAG = '--max-semi-space-size=128';
/** Programs over the whole tree, or over what changed, each counted as one test. */
const CHECKS = [
  { name: 'types and lint', script: ['test', 'support', 'lint.ts'], args: [], ofFiles: false },
  {
    name: 'layout',
    script: ['node_modules', 'oxfmt', 'bin', 'oxfmt'],
    args: ['--check', '--no-error-on-unmatched-pattern'],
    ofFiles: true,
  },
] as const;

interface Count {
  passed: number;
  failed: number;
  /** Sums over files that ran beside each other. */
  seconds: number;
  processorSeconds: number;
}

const { suites, names, base, whole } = readArguments(process.argv.slice(2));
process.chdir(ROOT);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(130));
}
// Each test file and each command that it starts is a process: none compiles again what another one has compiled.
process.env['NODE_COMPILE_CACHE'] ??= join(cacheFolder(), 'compiled');
if (!(suites.length === 1 && suites[0] === 'unit')) {
  // Unit tests alone need nothing that was built.
  process.env[BUILT] ??= join(ROOT, 'dist');
}
const isBuilt = (): boolean => (process.env[BUILT] ?? '') !== '';

const scratch = await mkdtemp(join(tmpdir(), 'c3-tests-'));
const started = performance.now();
const counts = new Map<string, Count>();
const files: { readonly file: string; readonly suite: Suite; readonly processorSeconds: number }[] = [];
const failures: string[] = [];
/** Ends what runs: with `--changed`, the first failure is all that is wanted. */
const stop = new AbortController();
/** Test files that the change can reach. */
let reachable = 0;
const pairs = new Set<PooledPair>();
const free: PooledPair[] = [];
const recordingNames = (Object.keys(RECORDINGS) as RecordingName[]).filter(
  (name) => suites.includes('long') || !('long' in RECORDINGS[name]),
);
let installed: Promise<void> | undefined;

try {
  const changed = base === undefined ? undefined : await changedFiles(ROOT, base);
  await install();
  const tasks = [
    ...(whole ? [...(changed === undefined ? recordings() : []), ...checks(changed)] : []),
    ...testFiles(changed),
  ];
  await runTasks(tasks, { load: CORES + MORE, windows: WINDOWS }, stop.signal);
  await checkBudgets(changed === undefined && names.length === 0);
  if (suites.includes('attack')) {
    await showAttacks();
  }
  show();
} finally {
  await Promise.all([...pairs].map(endPair));
  await rm(scratch, { recursive: true, force: true });
}
const failed = [...counts.values()].reduce((sum, count) => sum + count.failed, 0);
const passed = [...counts.values()].reduce((sum, count) => sum + count.passed, 0);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

interface Arguments {
  readonly suites: readonly Suite[];
  /** Rooms and files of the one suite that was named. */
  readonly names: readonly string[];
  /** The commit that a change is taken against; undefined where everything is run. */
  readonly base: string | undefined;
  /** All fast suites, with the checks of the tree. */
  readonly whole: boolean;
}

/** Ends the process where an argument is nothing. */
function readArguments(typed: readonly string[]): Arguments {
  const at = typed.indexOf('--changed');
  const base = at === -1 ? undefined : (typed[at + 1] ?? 'HEAD');
  const [name, ...rest] = at === -1 ? typed : typed.slice(0, at);
  if (name === undefined || name === 'full') {
    return { suites: name === undefined ? FAST : [...FAST, 'long'], names: [], base, whole: true };
  }
  const suite = SUITES.find((one) => one === name);
  if (suite === undefined) {
    console.error(`There is no suite "${name}": choose one of ${SUITES.join(', ')} or full, or leave it out.`);
    process.exit(2);
  }
  return { suites: [suite], names: rest, base, whole: false };
}

/** The checks of the tree, or of the files that changed. */
function checks(changed: readonly string[] | undefined): Task[] {
  return CHECKS.map(({ name, script, args, ofFiles }) => {
    const present = changed?.filter((file) => existsSync(join(ROOT, file)));
    const over = ofFiles ? (present ?? ['.']) : [];
    const check = async (): Promise<void> => {
      const begun = performance.now();
      const done = (failure: string | undefined): void => {
        const seconds = (performance.now() - begun) / 1000;
        count('checks', { passed: failure === undefined ? 1 : 0, failed: failure === undefined ? 0 : 1, seconds });
        report(name, failure === undefined, `${seconds.toFixed(1)} s`, failure ?? '');
      };
      try {
        await run(process.execPath, [CHECK_FLAG, join(ROOT, ...script), ...args, ...over], {
          cwd: ROOT,
          all: true,
          stop: stop.signal,
        });
        done(undefined);
      } catch (error) {
        if (!stop.signal.aborted) {
          done(toErrorMessage(error));
        }
      }
    };
    return { load: 1, needsWindow: false, run: check };
  });
}

/** The small teams that tests read, trained before the files that would wait for them. */
function recordings(): Task[] {
  return recordingNames.map((name) => ({
    load: 1,
    needsWindow: false,
    run: async () => {
      const begun = performance.now();
      try {
        await copyRecorded(name, await mkdtemp(join(scratch, 'recording-')));
        console.log(`✔ recording ${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
      } catch (error) {
        count('checks', { failed: 1 });
        report(`recording ${name}`, false, 'not made', toErrorMessage(error));
      }
    },
  }));
}

/** The test files, in an order in which none waits for another: windows first, then what is large. */
function testFiles(changed: readonly string[] | undefined): Task[] {
  const chosen = suites.flatMap((suite) => filesOf(suite).map((file) => ({ suite, file })));
  if (changed !== undefined) {
    const reached = findReachedTests(
      readReach(ROOT),
      changed,
      chosen.map(({ file }) => file),
    );
    reachable = reached.length;
    console.log(`${changed.length} files changed; ${reachable} of ${chosen.length} test files can be reached.`);
    return together(reached.flatMap((file) => chosen.filter((one) => one.file === file))).map(task);
  }
  const windows = shuffled(chosen.filter(({ file }) => opensWindows(file)));
  const others = together(chosen.filter(({ file }) => !opensWindows(file)));
  // One that takes long shall not be the last to begin.
  const size = ({ files: of }: TestFiles): number => of.reduce((sum, file) => sum + statSync(file).size, 0);
  others.sort((a, b) => size(b) - size(a) || (a.files[0] ?? '').localeCompare(b.files[0] ?? ''));
  return [...together(windows), ...others].map(task);
}

/** Test files that share a process. */
interface TestFiles {
  readonly suite: Suite;
  readonly files: readonly string[];
}

/**
 * The unit tests of a folder share a process, which loads once what they import. All others have one to themselves, and
 * so have those that put a page of their own in the place of the browser's. They stay in the order of the first of
 * each.
 */
function together(chosen: readonly { readonly suite: Suite; readonly file: string }[]): TestFiles[] {
  const shares = (file: string): boolean => !file.startsWith('test/unit/webview/');
  const groups = Map.groupBy(chosen, ({ suite, file }) => (suite === 'unit' && shares(file) ? dirname(file) : file));
  return [...groups.values()].map((group) => ({
    suite: group[0]?.suite ?? 'unit',
    files: group.map(({ file }) => file),
  }));
}

function opensWindows(file: string): boolean {
  return /(?:^|\/)integration\//u.test(file);
}

/** The files of a suite that were asked for. Ends the process for a name that is nothing. */
function filesOf(suite: Suite): string[] {
  try {
    return chooseFiles(suite, names, ROOT).map((file) => file.replaceAll('\\', '/'));
  } catch (error) {
    console.error(toErrorMessage(error));
    process.exit(2);
  }
}

/** Another order at each run, so that no file comes to depend on one before it; C3_TEST_ORDER repeats one. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  if (items.length < 2) {
    return [...items];
  }
  const given = process.env['C3_TEST_ORDER'];
  const order = given === undefined || given === '' ? randomInt(2 ** 31) : Number(given);
  console.log(`Windows are opened in order ${order}; C3_TEST_ORDER=${order} repeats it.`);
  // A linear congruential generator: the order is all that depends on it.
  let state = order;
  const key = items.map(() => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31));
  return items
    .map((item, index) => ({ item, at: key[index] ?? 0 }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function task({ suite, files: of }: TestFiles): Task {
  const needsWindow = of.some(opensWindows);
  return {
    load: needsWindow ? LOAD.integration : LOAD[suite],
    needsWindow,
    run: needsWindow ? () => inWindows(suite, of) : () => runFiles(suite, of, {}).then(() => undefined),
  };
}

/** @returns whether all of their tests passed */
async function runFiles(
  suite: Suite,
  of: readonly string[],
  env: NodeJS.ProcessEnv,
  windows?: () => number,
): Promise<boolean> {
  const before = windows?.() ?? 0;
  const results = await runTestFiles(
    of,
    { C3_ATTACK_TOTALS: scratch, ...env },
    1000 * FILE_SECONDS[suite],
    stop.signal,
  );
  const ofWindows = Math.max(0, (windows?.() ?? 0) - before) / of.length;
  const bad = results.files.filter(({ failed: wrong }) => wrong > 0);
  for (const result of results.files) {
    const processorSeconds = result.processorSeconds + ofWindows;
    count(suite, { ...result, processorSeconds });
    files.push({ file: result.file, suite, processorSeconds });
    report(
      result.file,
      result.failed === 0,
      `${result.passed} passed, ${result.seconds.toFixed(1)} s, ${processorSeconds.toFixed(1)} s of processor time`,
      result === bad.at(-1) ? results.output : '',
    );
  }
  return bad.length === 0 && results.files.length > 0;
}

/** Runs a file of the VS Code suite with a pair that lives longer than it. */
async function inWindows(suite: Suite, of: readonly string[]): Promise<void> {
  let pair: PooledPair;
  try {
    installed ??= makeExtensions();
    await installed;
    pair = await takePair();
  } catch (error) {
    count(suite, { failed: 1 });
    report(of.join(', '), false, 'no window', toErrorMessage(error));
    return;
  }
  if (await runFiles(suite, of, { [LENT_PAIR]: pair.address }, pair.processorSeconds)) {
    free.push(pair);
  } else {
    // Its page may hang.
    await endPair(pair);
  }
}

/**
 * Installs what the suites need, once and before test files need it beside each other. Where that is not to be had, a
 * file that needs it fails with the reason.
 */
async function install(): Promise<void> {
  const begun = performance.now();
  if (suites.some((suite) => suite === 'system' || suite === 'long') && process.platform === 'linux') {
    await installSwiftShader().catch(() => undefined);
  }
  if (suites.some((suite) => suite === 'integration' || suite === 'long')) {
    await rm(join(ROOT, 'test', 'artifacts'), { recursive: true, force: true });
    try {
      await chromium();
      await codeServer();
    } catch (error) {
      console.error(toErrorMessage(error));
    }
  }
  console.log(`What the tests need was there after ${((performance.now() - begun) / 1000).toFixed(0)} s.`);
}

/** Installs the extension for all windows: long runs install the package, as a user does. */
async function makeExtensions(): Promise<void> {
  const extensions = join(scratch, 'extensions');
  await (suites.includes('long') ? installExtension(extensions) : installFiles(extensions));
  process.env[INSTALLED] = extensions;
}

/** A pair that no file has, and that works. */
async function takePair(): Promise<PooledPair> {
  const pair = free.pop();
  if (pair !== undefined && (await pair.works())) {
    return pair;
  }
  if (pair !== undefined) {
    await endPair(pair);
  }
  const made = await startPair();
  pairs.add(made);
  return made;
}

async function endPair(pair: PooledPair): Promise<void> {
  pairs.delete(pair);
  await pair.stop();
}

function count(suite: string, part: Partial<Count>): void {
  const { passed = 0, failed = 0, seconds = 0, processorSeconds = 0 } = part;
  const sum = counts.get(suite) ?? { passed: 0, failed: 0, seconds: 0, processorSeconds: 0 };
  counts.set(suite, {
    passed: sum.passed + passed,
    failed: sum.failed + failed,
    seconds: sum.seconds + seconds,
    processorSeconds: sum.processorSeconds + processorSeconds,
  });
}

function report(name: string, good: boolean, figures: string, output: string): void {
  console.log(`${good ? '✔' : '✖'} ${name}: ${figures}${output === '' ? '' : `\n${output.trimEnd()}`}`);
  if (!good) {
    failures.push(name);
    if (base !== undefined) {
      stop.abort();
    }
  }
}

/** A fast suite stays fast: what takes more than its budget on a machine of this speed fails with its name. */
async function checkBudgets(ofSuites: boolean): Promise<void> {
  // Without dist/, sandboxes are compiled anew in each process, which takes longer than what they run.
  if (process.platform !== 'linux' || !isBuilt()) {
    return;
  }
  const took = [...(ofSuites ? counts : [])].map(([suite, { processorSeconds }]) => [suite, processorSeconds] as const);
  const sums = new Map(took);
  if (findExcesses(files, sums, 1).length === 0) {
    return;
  }
  const slowdown = computeSlowdown(await doKnownWork(ROOT));
  if (slowdown > 1) {
    console.log(`\nThis machine takes ${slowdown.toFixed(1)} times the processor time that the budgets were set with.`);
  }
  for (const { suite, name, reason } of findExcesses(files, sums, slowdown)) {
    count(suite, { failed: 1 });
    report(name, false, reason, '');
  }
}

/** What each area of attacks tried and held, and the sum. */
async function showAttacks(): Promise<void> {
  const attackTotals = z.array(z.object({ area: z.string(), tried: z.number(), held: z.number() }));
  const areas = new Map([['All', { tried: 0, held: 0 }]]);
  for (const file of (await readdir(scratch)).filter((name) => name.endsWith('.json'))) {
    for (const { area, tried, held } of attackTotals.parse(JSON.parse(await readFile(join(scratch, file), 'utf8')))) {
      for (const name of [area, 'All']) {
        const sum = areas.get(name) ?? { tried: 0, held: 0 };
        areas.set(name, { tried: sum.tried + tried, held: sum.held + held });
      }
    }
  }
  console.log('\nAttacks by area, and all of them');
  for (const [area, { tried, held }] of [...areas].reverse()) {
    console.log(`${area}: tried ${tried}, held ${held}`);
  }
}

/** Where the time went, what failed, and what was not run. */
function show(): void {
  console.log('\nFiles that took the most processor time');
  for (const { file, processorSeconds } of files
    .toSorted((a, b) => b.processorSeconds - a.processorSeconds)
    .slice(0, SLOWEST)) {
    console.log(`${processorSeconds.toFixed(1).padStart(8)} s  ${file}`);
  }
  console.log(`\n${'suite'.padEnd(14)}passed  failed  seconds of files  of processor`);
  for (const [suite, { passed: good, failed: bad, seconds, processorSeconds }] of counts) {
    const figures = [String(good).padStart(6), String(bad).padStart(8), seconds.toFixed(0).padStart(18)];
    console.log(`${suite.padEnd(14)}${figures.join('')}${processorSeconds.toFixed(0).padStart(14)}`);
  }
  console.log(`${((performance.now() - started) / 60_000).toFixed(1)} minutes in all`);
  if (failures.length > 0) {
    console.log(`\nFailed:\n${failures.map((name) => `  ${name}`).join('\n')}`);
  }
  const left = reachable - files.length;
  if (left > 0) {
    console.log(`\nThe first failure ended the run: ${left} files that the change can reach did not run to their end.`);
  }
}
