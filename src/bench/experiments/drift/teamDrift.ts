/**
 * `c3 bench team-drift`: how stale episodes get, and how far a team drifts within a step, over the length of the
 * bundled chain: TeamTR, naive sequential updates, and C3 and MAGRPO beside them, at the same evaluator calls. It
 * continues after its last whole line.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { readRecipe, type Recipe } from '../../../engine/recipe/recipe.ts';
import { EngineService } from '../../../engine/service.ts';
import { temporaryFolder } from '../../../files/temporaryFolder.ts';
import { writeWhole } from '../../../runtime/files/wholeFile.ts';
import { figure, hardwareName, type BenchFigure, type BenchOptions, type BenchReport } from '../../report.ts';
import { MapLines } from '../map/mapLines.ts';
import { driftPage } from './driftPage.ts';
import {
  ARM_NAMES,
  DRIFT_MEASURES,
  exponentOf,
  exponentOfMeans,
  outOfRegion,
  STAGED_ARMS,
  type DriftArm,
  type DriftRun,
} from './driftTable.ts';

export interface TeamDriftOptions extends BenchOptions {
  /** The current folder. */
  readonly folder: string;
  /** Where the measurement and its lines are kept; null for the usual place. */
  readonly out?: string | null;
}

/** Arms that are measured seed by seed, the most telling first. */
const ARMS_IN_TURN: readonly (readonly DriftArm[])[] = [['teamtr', 'naive'], ['c3', 'magrpo'], ['free']];
/** Steps of a run that are read. */
const MOST_STEPS = 1000;

const outcome = z.object({
  steps: z.array(z.record(z.string(), z.number().nullable())),
  greedy: z.number(),
  sampled: z.number(),
  evaluatorCalls: z.number(),
  tokens: z.number(),
  seconds: z.number(),
});

/**
 * Measures in a folder of its own, `.c3/team-drift` unless --out names one: lines.jsonl, drift.json, drift.html.
 * @throws CancelledError, keeping what was done; C3Error
 */
export const benchTeamDrift = (options: TeamDriftOptions): Promise<BenchReport> =>
  measureTeamDrift(options, options.quick ? QUICK : FULL);

/** The same at a scale of the caller's. */
export async function measureTeamDrift(options: TeamDriftOptions, scale: DriftScale): Promise<BenchReport> {
  const { quick, folder } = options;
  const out = resolve(folder, options.out ?? join('.c3', quick ? 'team-drift-quick' : 'team-drift'));
  await mkdir(out, { recursive: true });
  const lines = await MapLines.open(join(out, 'lines.jsonl'));
  const runs: DriftRun[] = [];
  // What is compared first: what there is after a stop has all of it.
  for (const arms of ARMS_IN_TURN) {
    for (const seed of scale.seeds) {
      for (const arm of arms) {
        for (const roles of scale.sizes) {
          const overrides = overridesOf({
            ...scale.run,
            'task.name': 'chain',
            'task.roles': roles,
            evaluator_budget: scale.callsPerRole * roles,
            ...ARM_KEYS[arm],
            ...fanoutFor(arm, roles, scale.callsPerRole),
            seed,
          });
          const found = await lines.of(overrides, outcome, () => runOf(options, overrides));
          const run = { arm, roles, seed, ...found };
          options.note(
            `seed ${seed}, ${ARM_NAMES[arm]}, ${roles} roles: ${(100 * run.greedy).toFixed(1)} %, ${run.seconds.toFixed(0)} s`,
          );
          runs.push(run);
        }
      }
      await write(out, options, scale, runs);
    }
  }
  return { suite: 'team-drift', figures: figuresOf(runs), hardware: hardwareName('CPU provider') };
}

/** One run, in a store that is only needed for it. */
async function runOf(
  { folder, signal }: TeamDriftOptions,
  overrides: readonly string[],
): Promise<z.infer<typeof outcome>> {
  const place = temporaryFolder('team-drift');
  const service = new EngineService(join(place, 'c3.sqlite'));
  try {
    const recipe: Recipe = await readRecipe(null, overrides, folder);
    const started = performance.now();
    const { run, evaluatorCalls, tokens, accuracy, passAt1 } = await service.run(recipe, {
      signal,
      onProgress: () => undefined,
    });
    return {
      steps: service.reading((store) =>
        store.steps(run, 0, MOST_STEPS).flatMap(({ metrics }) => (metrics === null ? [] : [{ ...metrics }])),
      ),
      greedy: accuracy.after?.value ?? 0,
      sampled: passAt1.after?.value ?? 0,
      evaluatorCalls,
      tokens: tokens.prompt + tokens.completion,
      seconds: (performance.now() - started) / 1000,
    };
  } finally {
    await service.close();
    await rm(place, { recursive: true, force: true });
  }
}

const overridesOf = (keys: Keys): string[] =>
  Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);

async function write(
  out: string,
  { quick }: TeamDriftOptions,
  scale: DriftScale,
  runs: readonly DriftRun[],
): Promise<void> {
  const report = {
    command: `c3 bench team-drift${quick ? ' --quick' : ''}`,
    hardware: hardwareName('CPU provider'),
    environment: `Node ${process.versions.node}, ${process.platform} ${process.arch}`,
    finishedAt: new Date().toISOString(),
    quick,
    settings: { ...scale.run, 'evaluator calls of a problem in a step, for each role': scale.callsPerRole },
    exponents: Object.fromEntries(
      STAGED_ARMS.map((arm) => [
        arm,
        Object.fromEntries(
          DRIFT_MEASURES.flatMap((measure) => [
            [measure, exponentOf(runs, arm, measure)],
            [`${measure}OfMeans`, exponentOfMeans(runs, arm, measure)],
          ]),
        ),
      ]),
    ),
    runs,
  };
  await writeWhole(join(out, 'drift.html'), Buffer.from(driftPage(report)));
  await writeWhole(join(out, 'drift.json'), Buffer.from(`${JSON.stringify(report)}\n`));
}

function figuresOf(runs: readonly DriftRun[]): BenchFigure[] {
  const exponents = STAGED_ARMS.flatMap((arm: DriftArm) => [
    figure(`${ARM_NAMES[arm]}: exponent of the stale gap`, exponentOf(runs, arm, 'staleGap')?.value ?? null, ''),
    figure(`${ARM_NAMES[arm]}: exponent of the scaled gap`, exponentOf(runs, arm, 'scaledGap')?.value ?? null, ''),
    figure(`${ARM_NAMES[arm]}: exponent of the drift`, exponentOf(runs, arm, 'occupancyDrift')?.value ?? null, ''),
  ]);
  return [...exponents, figure('TeamTR: updates out of region', outOfRegion(runs, 'teamtr'), 'share')];
}

// How large a measurement of drift is: teams, seeds, and what every run has in common.

/** Keys of a run configuration. */
type Keys = Readonly<Record<string, unknown>>;

interface DriftScale {
  /** Roles of the chain, in the order of measuring. */
  readonly sizes: readonly number[];
  readonly seeds: readonly number[];
  /** Evaluator calls of a problem in a step, for each role. */
  readonly callsPerRole: number;
  readonly run: Keys;
}

/** Each role has weights of its own, so that an update moves its role alone. */
const RUN: Keys = {
  adapter: { per: 'role' },
  steps: 4,
  instances_per_step: 4,
  'task.levels': [1],
  'evaluation.instances': 48,
  'evaluation.before': false,
  'ppo.learning_rate': 5e-4,
  'device.threads': 1,
  snapshot_every: 4,
  checkpoint_every: 4,
};

const FULL: DriftScale = { sizes: [2, 3, 4, 6, 8], seeds: [0, 1, 2, 3, 4, 5], callsPerRole: 8, run: RUN };
const QUICK: DriftScale = {
  ...FULL,
  sizes: [2, 3, 4],
  seeds: [0],
  run: { ...RUN, steps: 1, 'evaluation.instances': 16 },
};

/** C3 replays each message of larger teams along a spine: a nested fan-out gives most messages no sibling. */
const fanoutFor = (arm: DriftArm, roles: number, calls: number): Keys =>
  arm !== 'c3'
    ? {}
    : roles === 2
      ? { fanout: [2, calls] }
      : { shape: 'spine', fanout: Array.from({ length: roles }, () => calls) };

/** What makes each arm what it is. */
const ARM_KEYS: Readonly<Record<DriftArm, Keys>> = {
  teamtr: { method: 'teamtr', 'teamtr.diagnostics': true },
  naive: { method: 'teamtr', 'teamtr.diagnostics': true, 'teamtr.resample_every': null },
  // The same without a trust region: no bound, no penalty.
  free: {
    method: 'teamtr',
    'teamtr.diagnostics': true,
    'teamtr.resample_every': null,
    'teamtr.delta': 100,
    'teamtr.beta': 0,
  },
  c3: { method: 'c3' },
  magrpo: { method: 'magrpo' },
};
