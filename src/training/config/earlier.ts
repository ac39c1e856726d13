/**
 * What keys mean where a stored configuration lacks them: runs from before a key existed are continued, verified and
 * replayed as they began. New runs store what they use.
 */
import { isRecord } from '../../shared/guard.ts';
import type { RunConfig } from './config.ts';

type Keys = Readonly<Record<string, unknown>>;

/** Keys that are stored whatever they say. */
const STORED: Keys = {
  // Stated answers were compared before an evaluator could be chosen.
  evaluator: 'answer',
  credit: { common_random_numbers: true },
};

/** A configuration that says one of these is stored without the key, as such runs were. */
const EARLIER = {
  shape: 'nested',
  fanout_unique: false,
  dynamic_sampling: false,
  ccpo: {
    solo_prompt: 'bare',
    solo_draws: 'own',
    shaping: 'history',
    decay: 0.99,
    min_samples: 10,
    order: 'previous',
    alpha: 1,
    eta: 1,
    bonus: 'event',
    bonus_weight: 0.2,
    solo_baseline: 'question',
    normalise: 'deviation',
    ratio: 'token',
    dual_clip: null,
    alternate_every: 0,
    alternate_first: 'thinker',
    voting: 'direct',
    contribution: 'removal',
  },
  begin: null,
  code_blocks: 'first',
  scorer: null,
  magrpo: null,
  external: null,
  credit: { normalise_scope: 'group', merge_contexts: false, lone_messages: 'none' },
  ppo: { loss_weight: 'token', skip_zero_credit: false, mini_batches: 1 },
  value_head: { fit: 'gradient', ridge: 20, keep: 0.95, warmup_steps: 0 },
  task: { roles: 2, train_split: null, evaluation_split: null },
  teamtr: {
    resample_every: 1,
    reuse: 'as_is',
    weight_cap: null,
    order: 'fixed',
    delta: 0.01,
    kl_estimator: 'k3',
    held_out: null,
    epochs: 4,
    clip: 0.2,
    advantage_clip: 3,
    advantage_scale: 'variance',
    advantage_epsilon: 1e-6,
    beta: 1,
    beta_factor: 2,
    beta_tolerance: 1.5,
    stop: 0.9,
    backtrack: 0.5,
    backtrack_tries: 8,
    certificate_gamma: 0.5,
    certificate_bound: 1,
    certificate_confidence: 0.95,
    diagnostics: false,
    rank_shifts: false,
  },
  output: { save_model: false, save_path: null, verbose: false },
} as const satisfies Keys;

/** A stored configuration with the keys that it lacks. @param config as the store holds it, not checked yet */
export const withEarlier = (config: unknown): unknown =>
  isRecord(config) ? filled(filled(config, STORED), EARLIER) : config;

/** A configuration as it is stored: without what it has in common with runs from before the key. */
export const withoutEarlier = (config: RunConfig): Keys => stripped(config, EARLIER);

function filled(given: Keys, earlier: Keys): Keys {
  const added = Object.entries(earlier).flatMap(([key, meant]): [string, unknown][] => {
    const value = given[key];
    if (isRecord(meant) && (value === undefined || isRecord(value))) {
      return [[key, filled(value ?? {}, meant)]];
    }
    return value === undefined ? [[key, meant]] : [];
  });
  return { ...given, ...Object.fromEntries(added) };
}

function stripped(given: Keys, earlier: Keys): Keys {
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]): [string, unknown][] => {
      const meant = earlier[key];
      if (isRecord(meant) && isRecord(value)) {
        const inner = stripped(value, meant);
        return Object.keys(inner).length === 0 ? [] : [[key, inner]];
      }
      return meant !== undefined && meant === value ? [] : [[key, value]];
    }),
  );
}
