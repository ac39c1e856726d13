/**
 * `c3 bench team-drift`: the staleness of episodes and the drift of a team within a step, for
 * several lengths of the bundled chain. It compares TeamTR, naive sequential updates, C3 and MAGRPO
 * at the same number of evaluator calls. A stopped measurement continues after its last whole line.
 */

import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { readRecipe, type Recipe } from '../../../engine/recipe/recipe.ts';
import { EngineService } from '../../../engine/service.ts';
import { createTemporaryFolder } from '../../../files/temporaryFolder.ts';
import { writeFileAtomically } from '../../../runtime/files/wholeFile.ts';
import { makeFigure, describeHardware, type BenchFigure, type BenchOptions, type BenchReport } from '../../report.ts';
import { MapLines } from '../map/mapLines.ts';
import { formatDriftPage } from './driftPage.ts';
import {
  ARM_NAMES,
  DRIFT_MEASURES,
  fitExponent,
  fitExponentOfMeans,
  shareOutOfRegion,
  STAGED_ARMS,
  type DriftArm,
  type DriftRun,
} from './driftTable.ts';

export interface TeamDriftOptions extends BenchOptions {
  /** The current folder. */
  readonly folder: string;
  /** Folder of the results and the finished runs, or null for the default folder. */
  readonly out?: string | null;
}

/**
 * Groups of arms in the order of measuring, the most informative first. A group runs seed by seed.
 */
const ARMS_IN_TURN: readonly (readonly DriftArm[])[] = [['teamtr', 'naive'], ['c3', 'magrpo'], ['free']];
/** Maximum number of steps that are read of a run. */
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
 * Measures drift and writes lines.jsonl, drift.json and drift.html to `.c3/team-drift`, or to the
 * folder of --out.
 * @throws CancelledError, with the finished runs kept; C3Error
 */
export const benchTeamDrift = (options: TeamDriftOptions): Promise<BenchReport> =>
  measureTeamDrift(options, options.quick ? QUICK : FULL);

/** Measures drift at a given scale. */
export async function measureTeamDrift(options: TeamDriftOptions, scale: DriftScale): Promise<BenchReport> {
  const { quick, folder } = options;
  const out = resolve(folder, options.out ?? join('.c3', quick ? 'team-drift-quick' : 'team-drift'));
  await mkdir(out, { recursive: true });
  const lines = await MapLines.open(join(out, 'lines.jsonl'));
  const runs: DriftRun[] = [];
  // Arms that are compared run together, so that a stopped measurement has complete comparisons.
  for (const arms of ARMS_IN_TURN) {
    for (const seed of scale.seeds) {
      for (const arm of arms) {
        for (const roles of scale.sizes) {
          const overrides = toDriftOverrides({
            ...scale.run,
            'task.name': 'chain',
            'task.roles': roles,
            evaluator_budget: scale.callsPerRole * roles,
            ...ARM_KEYS[arm],
            ...fanoutFor(arm, roles, scale.callsPerRole),
            seed,
          });
          const found = await lines.of(overrides, outcome, () => measureDriftRun(options, overrides));
          const run = { arm, roles, seed, ...found };
          options.note(
            `seed ${seed}, ${ARM_NAMES[arm]}, ${roles} roles: ${(100 * run.greedy).toFixed(1)} %, ${run.seconds.toFixed(0)} s`,
          );
          runs.push(run);
        }
      }
      await writeDriftReport(out, options, scale, runs);
    }
  }
  return { suite: 'team-drift', figures: makeDriftFigures(runs), hardware: describeHardware('CPU provider') };
}

/** Makes one run in a temporary store. */
async function measureDriftRun(
  { folder, signal }: TeamDriftOptions,
  overrides: readonly string[],
): Promise<z.infer<typeof outcome>> {
  const place = createTemporaryFolder('team-drift');
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

const toDriftOverrides = (keys: Keys): string[] =>
  Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`);

async function writeDriftReport(
  out: string,
  { quick }: TeamDriftOptions,
  scale: DriftScale,
  runs: readonly DriftRun[],
): Promise<void> {
  const report = {
    command: `c3 bench team-drift${quick ? ' --quick' : ''}`,
    hardware: describeHardware('CPU provider'),
    environment: `Node ${process.versions.node}, ${process.platform} ${process.arch}`,
    finishedAt: new Date().toISOString(),
    quick,
    settings: { ...scale.run, 'evaluator calls of a problem in a step, for each role': scale.callsPerRole },
    exponents: Object.fromEntries(
      STAGED_ARMS.map((arm) => [
        arm,
        Object.fromEntries(
          DRIFT_MEASURES.flatMap((measure) => [
            [measure, fitExponent(runs, arm, measure)],
            [`${measure}OfMeans`, fitExponentOfMeans(runs, arm, measure)],
          ]),
        ),
      ]),
    ),
    runs,
  };
  await writeFileAtomically(join(out, 'drift.html'), Buffer.from(formatDriftPage(report)));
  await writeFileAtomically(join(out, 'drift.json'), Buffer.from(`${JSON.stringify(report)}\n`));
}

function makeDriftFigures(runs: readonly DriftRun[]): BenchFigure[] {
  const exponents = STAGED_ARMS.flatMap((arm: DriftArm) => [
    makeFigure(`${ARM_NAMES[arm]}: exponent of the stale gap`, fitExponent(runs, arm, 'staleGap')?.value ?? null, ''),
    makeFigure(`${ARM_NAMES[arm]}: exponent of the scaled gap`, fitExponent(runs, arm, 'scaledGap')?.value ?? null, ''),
    makeFigure(`${ARM_NAMES[arm]}: exponent of the drift`, fitExponent(runs, arm, 'occupancyDrift')?.value ?? null, ''),
  ]);
  return [...exponents, makeFigure('TeamTR: updates out of region', shareOutOfRegion(runs, 'teamtr'), 'share')];
}

// The scale of a measurement: teams, seeds and the common configuration.

/** Keys of a run configuration. */
type Keys = Readonly<Record<string, unknown>>;

interface DriftScale {
  /** Numbers of roles of the chain, in the order of measuring. */
  readonly sizes: readonly number[];
  readonly seeds: readonly number[];
  /** Evaluator calls of a problem in a step, for each role. */
  readonly callsPerRole: number;
  readonly run: Keys;
}

/** Each role has its own weights, so that an update changes only that role. */
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

/** Larger teams of C3 use a spine: a nested fan-out leaves most messages without siblings. */
const fanoutFor = (arm: DriftArm, roles: number, calls: number): Keys =>
  arm !== 'c3'
    ? {}
    : roles === 2
      ? { fanout: [2, calls] }
      : { shape: 'spine', fanout: Array.from({ length: roles }, () => calls) };

/** The configuration keys of each arm. */
const ARM_KEYS: Readonly<Record<DriftArm, Keys>> = {
  teamtr: { method: 'teamtr', 'teamtr.diagnostics': true },
  naive: { method: 'teamtr', 'teamtr.diagnostics': true, 'teamtr.resample_every': null },
  // The naive arm without a trust region: no bound, no penalty.
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
