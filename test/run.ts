/**
 * The tests: node test/run.ts [unit|system|integration|attack|full] [ROOM|FILE ...]
 *
 * Behind a suite, rooms (`credit`, `runtime/graph`) or files choose what of it is run. Without an argument: types,
 * lint, unit tests, system tests, then the tests in a real VS Code. dist/ must have been built. The last line is the
 * total of all, "N passed, N failed", and the exit code follows it; before it are the files that took longest. Of what
 * takes long (kills, rounds, attacks) a sample is tried; `full` tries all of it in every suite, `attack` all attacks,
 * and counts by area what was tried and held.
 */
import { statSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run as runTests } from 'node:test';
import { spec } from 'node:test/reporters';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { installExtension } from './integration/harness/server.ts';
import { cacheFolder } from './support/cache.ts';
import { chosenFiles, SUITES, type Suite } from './support/chosen.ts';
import { run } from './support/command.ts';
import { BUILT } from './support/programs.ts';
import { installSwiftShader } from './support/swiftShader.ts';
import { chromium, codeServer } from './support/tools.ts';

interface Totals {
  readonly passed: number;
  readonly failed: number;
}

const TITLES: Readonly<Record<Suite, string>> = {
  unit: 'Unit tests',
  system: 'System tests',
  integration: 'Tests in a real VS Code',
  attack: 'Attacks',
};

const ROOT = join(import.meta.dirname, '..');
/** One file; well above what any takes on two slow cores. */
const FILE_TIMEOUT = 900_000;
/** Editors at a time: one waits for much of its time, and each has folders, ports and processes of its own. */
const EDITORS = Math.min(2, availableParallelism());
/** Files whose times are shown at the end. */
const SLOWEST = 10;
/** In the place of a suite: all suites, and all that they try a sample of. */
const EVERYTHING = 'full';

const [typed, ...names] = process.argv.slice(2);
const only = SUITES.find((suite) => suite === typed);
if (typed !== undefined && only === undefined && typed !== EVERYTHING) {
  console.error(
    `There is no suite "${typed}": choose one of ${SUITES.join(', ')} or ${EVERYTHING}, or leave it out for a sample of everything.`,
  );
  process.exit(2);
}
process.chdir(ROOT);
if (typed === EVERYTHING || only === 'attack') {
  process.env['C3_TESTS'] = 'full';
}
// Each test file and each command that it starts is a process: none compiles again what another one has compiled.
process.env['NODE_COMPILE_CACHE'] ??= join(cacheFolder(), 'compiled');
if (only !== 'unit') {
  // Unit tests alone need nothing that was built.
  process.env[BUILT] ??= join(ROOT, 'dist');
}
const asked = only === undefined ? [] : filesAsked(only);

/** What the harness of the attacks leaves for one file. */
const attackTotals = z.array(z.object({ area: z.string(), tried: z.number(), held: z.number() }));

const results: Totals[] = [];
/** How long each test file took, in seconds. */
const durations = new Map<string, number>();
const started = performance.now();
/** Takes twice as long as the other checks and uses one core: the unit tests start while it runs. */
let lint: Promise<Totals> | undefined;
if (only === undefined) {
  lint = check('Lint', ['eslint', 'bin', 'eslint.js'], ['.']);
  results.push(await check('Types', ['typescript', 'bin', 'tsc'], ['-p', '.']));
  results.push(await check('Layout', ['prettier', 'bin', 'prettier.cjs'], ['--check', '.']));
}
for (const suite of ['unit', 'system'] as const) {
  if (only === undefined || only === suite) {
    // Once, before test files that need it run beside each other; one that does not find it says so itself.
    if (process.platform === 'linux') {
      await installSwiftShader().catch(() => undefined);
    }
    results.push(await runSuite(suite, availableParallelism()));
  }
  if (lint !== undefined) {
    results.push(await lint);
    lint = undefined;
  }
}
if (only === undefined || only === 'integration') {
  results.push(await runIntegration());
}
if (only === 'attack') {
  results.push(await runAttacks());
}

const total = results.reduce(
  (sum, { passed, failed }) => ({ passed: sum.passed + passed, failed: sum.failed + failed }),
  { passed: 0, failed: 0 },
);
showTimes();
console.log(`\n${String(total.passed)} passed, ${String(total.failed)} failed`);
process.exit(total.failed === 0 ? 0 : 1);

/** The files that were chosen by name; all of the suite where none was. Ends the process for a name that is nothing. */
function filesAsked(suite: Suite): readonly string[] {
  try {
    return chosenFiles(suite, names, ROOT);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

/** Where the time went: what to look at first when the tests take too long. */
function showTimes(): void {
  console.log(`\n== Time: ${((performance.now() - started) / 60_000).toFixed(1)} minutes; the files that took longest`);
  const slowest = [...durations].sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
  for (const [file, seconds] of slowest) {
    console.log(`${seconds.toFixed(1).padStart(8)} s  ${file}`);
  }
}

/** A program over the whole tree, counted as one test; what it printed is shown once it has ended. */
async function check(title: string, script: readonly string[], args: readonly string[]): Promise<Totals> {
  const begun = performance.now();
  const end = (output: string): void => {
    console.log(`\n== ${title}, ${((performance.now() - begun) / 1000).toFixed(0)} s\n${output}`.trimEnd());
  };
  try {
    end(await run(process.execPath, [join(ROOT, 'node_modules', ...script), ...args], { cwd: ROOT, all: true }));
    return { passed: 1, failed: 0 };
  } catch (error) {
    end(error instanceof Error ? error.message : String(error));
    return { passed: 0, failed: 1 };
  }
}

/** All test files of one suite, each in a process of its own, reported as `node --test` reports them. */
async function runSuite(suite: Suite, concurrency: number): Promise<Totals> {
  console.log(`\n== ${TITLES[suite]}`);
  const files = asked.length > 0 ? [...asked] : chosenFiles(suite, [], ROOT);
  // The largest first: one that takes long shall not be the last to begin.
  files.sort((a, b) => statSync(b).size - statSync(a).size || a.localeCompare(b));
  if (files.length === 0) {
    console.error(`No test file was found below test/${suite}.`);
    return { passed: 0, failed: 1 };
  }
  let totals: Totals = { passed: 0, failed: 1 };
  const stream = runTests({ files, concurrency, timeout: FILE_TIMEOUT });
  stream.on('test:summary', ({ file, counts, duration_ms: milliseconds }) => {
    if (file !== undefined) {
      durations.set(relative(ROOT, file), milliseconds / 1000);
    } else {
      totals = { passed: counts.passed, failed: counts.tests - counts.passed };
    }
  });
  await pipeline(stream, new spec(), process.stdout, { end: false });
  return totals;
}

/** All attacks at their full size, then what each area tried and held, and the sum. */
async function runAttacks(): Promise<Totals> {
  const folder = await mkdtemp(join(tmpdir(), 'c3-attack-'));
  process.env['C3_ATTACK_TOTALS'] = folder;
  try {
    const totals = await runSuite('attack', availableParallelism());
    const areas = new Map([['All', { tried: 0, held: 0 }]]);
    for (const file of await readdir(folder)) {
      for (const { area, tried, held } of attackTotals.parse(JSON.parse(await readFile(join(folder, file), 'utf8')))) {
        for (const name of [area, 'All']) {
          const sum = areas.get(name) ?? { tried: 0, held: 0 };
          areas.set(name, { tried: sum.tried + tried, held: sum.held + held });
        }
      }
    }
    console.log('\n== Attacks by area, and all of them');
    for (const [area, { tried, held }] of [...areas].reverse()) {
      console.log(`${area}: tried ${tried}, held ${held}`);
    }
    return totals;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the tests in a real VS Code need is installed first; where that fails, the suite fails with its reason. */
async function runIntegration(): Promise<Totals> {
  await rm(join(ROOT, 'test', 'artifacts'), { recursive: true, force: true });
  const extensions = await mkdtemp(join(tmpdir(), 'c3-extensions-'));
  try {
    await chromium();
    await codeServer();
    await installExtension(extensions);
    process.env['C3_TEST_EXTENSIONS'] = extensions;
    return await runSuite('integration', EDITORS);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return { passed: 0, failed: 1 };
  } finally {
    await rm(extensions, { recursive: true, force: true });
  }
}
