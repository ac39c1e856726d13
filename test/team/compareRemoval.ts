/**
 * Credit by removal (CCPO) beside a shared return (MAGRPO), C3 and one agent alone, on the bundled tasks `logic` (a
 * vote) and `hints` (a thinker and a solver), at one number of sampled messages for each question and step. Every run
 * is `c3 run` of dist/cli.js with the overrides that its line in the results has; runs that the file has are kept, so
 * that a comparison goes on where it ended.
 * Usage: node test/team/compareRemoval.ts RESULTS.jsonl [first seed] [last seed] [more overrides ...]
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { student } from '../../src/credit/interval.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { describeInterval } from './measure.ts';

const COMMON = ['device.threads=1', 'evaluation.instances=200', 'evaluation.samples=4', 'steps=30'];
const LOGIC = [...COMMON, 'task={name: logic, roles: 3}', 'ppo.learning_rate=2e-4'];
const HINTS = [...COMMON, 'task={name: hints, levels: [1, 1, 1]}', 'ppo.learning_rate=1e-4'];
/** Messages of a question and step: 24 of logic, 12 of hints. */
const RUNS: Readonly<Record<string, readonly string[]>> = {
  'logic, one agent, GRPO': [...LOGIC, 'task.roles=1', 'method=magrpo', 'evaluator_budget=24'],
  'logic, shared': [...LOGIC, 'method=magrpo'],
  'logic, CCPO direct': [...LOGIC, 'method=ccpo'],
  'logic, CCPO allocation': [...LOGIC, 'method=ccpo', 'ccpo.voting=allocation'],
  // 14 messages of a tree of 2 x 2 x 2: 55 questions for 32.
  'logic, C3': [...LOGIC, 'method=c3', 'fanout=[2, 2, 2]', 'instances_per_step=55'],
  'hints, shared': [...HINTS, 'method=magrpo', 'evaluator_budget=6'],
  'hints, CCPO': [...HINTS, 'method=ccpo', 'evaluator_budget=8'],
  // 10 messages of a tree of 2 x 4: 38 questions for 32.
  'hints, C3': [...HINTS, 'method=c3', 'fanout=[2, 4]', 'instances_per_step=38'],
};

const row = z.object({
  name: z.string(),
  seed: z.number(),
  /** Mean return of the sampled evaluation, over its questions. */
  before: z.number(),
  after: z.number(),
  sampledTokens: z.number(),
  seconds: z.number(),
  overrides: z.array(z.string()),
});
type Row = z.infer<typeof row>;

function measured(name: string, seed: number, overrides: readonly string[]): Row {
  const folder = mkdtempSync(join(tmpdir(), 'c3-removal-'));
  const path = join(folder, 'c3.sqlite');
  const cli = join(import.meta.dirname, '../../dist/cli.js');
  try {
    const arguments_ = [cli, 'run', '--json', '--store', path, '--override', `seed=${String(seed)}`, ...overrides];
    const printed = execFileSync(process.execPath, arguments_, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      maxBuffer: 1 << 26,
    });
    const { run, seconds } = z.object({ run: z.string(), seconds: z.number() }).parse(JSON.parse(printed));
    const store = openStoreForReading(path);
    const returnAfter = (step: number): number => {
      const found = store.evaluations(run).find((one) => one.kind === 'sampled' && one.step === step);
      const iteration = found?.iteration ?? NaN;
      const episodes = store.episodes({ run, phase: 'evaluate', iteration, offset: 0, limit: 100_000 });
      const returns = episodes.flatMap((episode) => episode.return ?? []);
      return returns.reduce((sum, one) => sum + one, 0) / returns.length;
    };
    const steps = store.countSteps(run);
    const sampledTokens = store.steps(run, steps - 1, 1)[0]?.ledger.tokens.completion ?? NaN;
    const result = { name, seed, before: returnAfter(0), after: returnAfter(steps), sampledTokens, seconds };
    store.close();
    return { ...result, overrides: [...overrides] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [results = 'removal.jsonl', first = '1', last = '3', ...more] = process.argv.slice(2);
const known: Row[] = existsSync(results)
  ? readFileSync(results, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => row.parse(JSON.parse(line)))
  : [];
for (let seed = Number(first); seed <= Number(last); seed++) {
  for (const [name, overrides] of Object.entries(RUNS)) {
    if (!known.some((one) => one.name === name && one.seed === seed)) {
      const found = measured(name, seed, [...overrides, ...more]);
      known.push(found);
      appendFileSync(results, `${JSON.stringify(found)}\n`);
    }
  }
}
for (const name of Object.keys(RUNS)) {
  const own = known.filter((one) => one.name === name);
  const gain = student(own.map(({ before, after }) => after - before));
  console.log(
    `${name}: after ${describeInterval(student(own.map(({ after }) => after)))}; gain ${describeInterval(gain)}`,
  );
}
for (const task of ['logic', 'hints']) {
  const shared = known.filter((one) => one.name === `${task}, shared`);
  for (const name of Object.keys(RUNS).filter((one) => one.startsWith(`${task}, `) && one !== `${task}, shared`)) {
    const pairs = known.flatMap((one) => {
      const other = one.name === name ? shared.find(({ seed }) => seed === one.seed) : undefined;
      return other === undefined ? [] : [one.after - other.after];
    });
    console.log(`${name} less shared, paired: ${describeInterval(student(pairs))}`);
  }
}
