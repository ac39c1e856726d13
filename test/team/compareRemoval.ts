/**
 * Credit by removal (CCPO) beside a shared return (MAGRPO), C3 and one agent alone, on the bundled tasks `logic` (a
 * vote) and `hints` (a thinker and a solver), at one number of sampled messages for each question and step. Every run
 * is `c3 run` of dist/cli.js with the overrides that its line in the results has; runs that the file has are kept, so
 * that a comparison goes on where it ended.
 * Usage: node test/team/compareRemoval.ts RESULTS.jsonl [--seeds FIRST-LAST] [--only NAME ...] [more overrides ...]
 */

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { studentInterval } from '../../src/credit/interval.ts';
import { finishedRun } from './finishedRun.ts';
import { describeInterval } from './measure.ts';

const LOGIC = [
  'device.threads=1',
  'evaluation={instances: 200, samples: 4}',
  'steps=24',
  'task={name: logic, roles: 3}',
  'ppo.learning_rate=2e-4',
];
/** The voters' protocol with the other rule of ties that goes with `voting: allocation`. */
const ABSTAINING = `protocol=${JSON.stringify(join(import.meta.dirname, 'logic-abstain.json'))}`;
const HINTS = [
  'device.threads=1',
  'evaluation={instances: 150, samples: 2}',
  'steps=12',
  'instances_per_step=16',
  'task={name: hints, levels: [1, 1, 1]}',
  'ppo.learning_rate=1e-4',
];
/** Nothing but hints that change nothing, and a thinker that learns alone: all that moves is its drift. */
const REDUNDANT = [
  ...HINTS,
  'task={name: hints, levels: [0, 1, 0]}',
  'policies={actor: {learns: false}}',
  'ppo.kl_coefficient=0',
];
/** Messages of a question and step: 24 of logic, 12 of hints. */
const RUNS: Readonly<Record<string, readonly string[]>> = {
  'logic, one agent, GRPO': [...LOGIC, 'task.roles=1', 'method=magrpo', 'evaluator_budget=24'],
  'logic, shared': [...LOGIC, 'method=magrpo'],
  'logic, CCPO direct': [...LOGIC, 'method=ccpo'],
  'logic, CCPO allocation': [...LOGIC, 'method=ccpo', 'ccpo.voting=allocation'],
  'logic, CCPO allocation, abstain': [...LOGIC, 'method=ccpo', 'ccpo.voting=allocation', ABSTAINING],
  // 14 messages of a tree of 2 x 2 x 2: 55 questions for 32.
  'logic, C3': [...LOGIC, 'method=c3', 'fanout=[2, 2, 2]', 'instances_per_step=55'],
  'hints, shared': [...HINTS, 'method=magrpo', 'evaluator_budget=6'],
  'hints, CCPO': [...HINTS, 'method=ccpo', 'evaluator_budget=8'],
  'hints, CCPO event': [...HINTS, 'method=ccpo', 'evaluator_budget=8', 'ccpo.shaping=event'],
  // 10 messages of a tree of 2 x 4: 19 questions for 16.
  'hints, C3': [...HINTS, 'method=c3', 'fanout=[2, 4]', 'instances_per_step=19'],
  'redundant, shared': [...REDUNDANT, 'method=magrpo', 'evaluator_budget=6'],
  'redundant, CCPO': [...REDUNDANT, 'method=ccpo', 'evaluator_budget=8'],
  'redundant, CCPO, shared draws': [...REDUNDANT, 'method=ccpo', 'evaluator_budget=8', 'ccpo.solo_draws=shared'],
};

const row = z.object({
  name: z.string(),
  seed: z.number(),
  /** Mean return of the sampled evaluation, over its questions. */
  before: z.number(),
  after: z.number(),
  sampledTokens: z.number(),
  seconds: z.number(),
  /** Means over the steps, and of the last step the KL to the starting policy: of what is learned from. */
  gradientNorm: z.number().optional(),
  signal: z.number().optional(),
  kl: z.number().optional(),
  overrides: z.array(z.string()),
});
type Row = z.infer<typeof row>;

function measured(name: string, seed: number, overrides: readonly string[]): Row {
  return finishedRun([`seed=${seed}`, ...overrides], (store, { run, seconds }) => {
    const returnAfter = (step: number): number => {
      const found = store.evaluations(run).find((one) => one.kind === 'sampled' && one.step === step);
      const iteration = found?.iteration ?? NaN;
      const episodes = store.episodes({ run, phase: 'evaluate', iteration, offset: 0, limit: 100_000 });
      const returns = episodes.flatMap((episode) => episode.return ?? []);
      return returns.reduce((sum, one) => sum + one, 0) / returns.length;
    };
    const steps = store.countSteps(run);
    const sampledTokens = store.steps(run, steps - 1, 1)[0]?.ledger.tokens.completion ?? NaN;
    const metrics = store.steps(run, 0, steps).flatMap((step) => step.metrics ?? []);
    const meanOf = (measure: 'gradientNorm' | 'signal'): number =>
      metrics.reduce((sum, one) => sum + (one[measure] ?? 0), 0) / metrics.length;
    const moved = { gradientNorm: meanOf('gradientNorm'), signal: meanOf('signal'), kl: metrics.at(-1)?.kl ?? NaN };
    const result = { name, seed, before: returnAfter(0), after: returnAfter(steps), sampledTokens, seconds, ...moved };
    return { ...result, overrides: [...overrides] };
  });
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: 'string', default: '1-3' }, only: { type: 'string', multiple: true } },
});
const [results = 'removal.jsonl', ...more] = positionals;
const [first, last = first] = values.seeds.split('-');
const known: Row[] = existsSync(results)
  ? readFileSync(results, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => row.parse(JSON.parse(line)))
  : [];
for (let seed = Number(first); seed <= Number(last); seed++) {
  for (const [name, overrides] of Object.entries(RUNS)) {
    const isAsked = values.only?.includes(name) ?? true;
    if (isAsked && !known.some((one) => one.name === name && one.seed === seed)) {
      const found = measured(name, seed, [...overrides, ...more]);
      known.push(found);
      appendFileSync(results, `${JSON.stringify(found)}\n`);
    }
  }
}
for (const name of Object.keys(RUNS)) {
  const own = known.filter((one) => one.name === name);
  const gain = studentInterval(own.map(({ before, after }) => after - before));
  console.log(
    `${name}: after ${describeInterval(studentInterval(own.map(({ after }) => after)))}; gain ${describeInterval(gain)}`,
  );
}
for (const name of Object.keys(RUNS).filter((one) => one.startsWith('redundant'))) {
  const own = known.filter((one) => one.name === name);
  for (const measure of ['kl', 'gradientNorm', 'signal'] as const) {
    const values = own.flatMap((one) => one[measure] ?? []);
    console.log(`${name}, ${measure}: ${values.map((value) => value.toPrecision(3)).join(', ')}`);
  }
}
for (const task of ['logic', 'hints', 'redundant']) {
  const shared = known.filter((one) => one.name === `${task}, shared`);
  for (const name of Object.keys(RUNS).filter((one) => one.startsWith(`${task}, `) && one !== `${task}, shared`)) {
    const pairs = known.flatMap((one) => {
      const other = one.name === name ? shared.find(({ seed }) => seed === one.seed) : undefined;
      return other === undefined ? [] : [one.after - other.after];
    });
    console.log(`${name} less shared, paired: ${describeInterval(studentInterval(pairs))}`);
  }
}
