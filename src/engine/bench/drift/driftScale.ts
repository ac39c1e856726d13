/** How large a measurement of drift is: teams, seeds, and what every run has in common. */
import type { DriftArm } from './driftTable.ts';

/** Keys of a run configuration. */
export type Keys = Readonly<Record<string, unknown>>;

export interface DriftScale {
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

export const FULL: DriftScale = { sizes: [2, 3, 4, 6, 8], seeds: [0, 1, 2, 3, 4, 5], callsPerRole: 8, run: RUN };
export const QUICK: DriftScale = {
  ...FULL,
  sizes: [2, 3, 4],
  seeds: [0],
  run: { ...RUN, steps: 1, 'evaluation.instances': 16 },
};

/** C3 replays each message of larger teams along a spine: a nested fan-out gives most messages no sibling. */
export const fanoutFor = (arm: DriftArm, roles: number, calls: number): Keys =>
  arm !== 'c3'
    ? {}
    : roles === 2
      ? { fanout: [2, calls] }
      : { shape: 'spine', fanout: Array.from({ length: roles }, () => calls) };

/** What makes each arm what it is. */
export const ARM_KEYS: Readonly<Record<DriftArm, Keys>> = {
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
