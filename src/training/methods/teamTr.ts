/**
 * TeamTR (reference sections 2 to 4): trust regions for a team whose roles are updated one after the
 * other. A step is a stage of the paper; each role that learns has one turn in it, in an order sigma:
 *
 *   1. the team, as updated so far, samples G whole episodes of each problem of the step (this is called a stage in
 *      this code), with returns R_1 ... R_G;
 *   2. A_g = clip((R_g - mean R) / sqrt(var R + epsilon), -c, c), or as `advantage_scale` says, for each message of
 *      the role in episode g;
 *   3. up to `epochs` steps of the optimizer on the role's messages, up the gradient of
 *
 *        1 / M * sum over messages of min(w A, clip(w, 1 - e, 1 + e) A)  -  beta * KL(last || policy)
 *
 *      with the ratio w of the whole message to the policy that sampled it, and the KL of whole messages, the sum
 *      over their tokens. The KL is measured after each step; beta rises if it is large and falls if it is small, and
 *      the turn ends near `delta`;
 *   4. if the KL is above `delta`, the weights go back part of the way, and all of it if that does not help.
 *
 * `evaluator_budget` pays for all samplings of a step together, in equal parts. A team of n roles
 * samples, for each turn, one nth of the episodes of a method that samples once. With `resample_every`
 * fewer turns have episodes of their own. If only the first turn has (the naive sequential baseline),
 * roles with weights of their own learn the same as in a joint update from one batch: no update
 * changes the data of another. With `reuse: weighted` it does: episodes of an earlier turn are weighted
 * by the products of the ratios of all messages of roles updated since, which multiply A_g (section 6,
 * which publishes no clip of the weights).
 */

import { mean } from '../../credit/describe.ts';
import type { Json } from '../../domain/episode.ts';
import { averageRankShifts, type RankShift, type MethodState } from '../../domain/step.ts';
import { alternativeReturns } from '../../replay/tree.ts';
import { isLearningRole } from '../../shared/rolePolicies.ts';
import type { Divergence, Move } from '../divergence.ts';
import { computeEpisodeWeights } from '../importance.ts';
import { makeCosineSchedule } from '../schedule.ts';
import { shuffleItems } from '../shuffled.ts';
import { DriftWatch } from './driftWatch.ts';
import { creditEpisodes, planStageEpisodes, makeEpisodesCheck } from './episodes.ts';
import type {
  LearningStep,
  Method,
  MethodSettings,
  MiniBatch,
  Outcome,
  PolicyUpdate,
  SampledStep,
  TaughtStep,
  Update,
} from './method.ts';
import { measureTurns, type MeasuredTurn } from './teamTrMeasures.ts';

type Settings = MethodSettings['teamtr'];

/** The least and the largest weight that adapting the KL penalty can reach. */
const WEIGHTS = [1e-6, 1e6] as const;

/** The number of turns in a step that begin with fresh episodes. Each role that learns has one turn. */
const countFreshTurns: NonNullable<Method['stages']> = ({ policies, teamtr: { resample_every: every } }, { roles }) => {
  const turns = roles.filter(({ name }) => isLearningRole(policies, name)).length;
  return every === null ? 1 : Math.max(1, Math.ceil(turns / every));
};

export const teamTr: Method = {
  words: {
    label: 'TeamTR',
    help:
      'Updates one role after the other within a trust region, each on fresh episodes of the team as ' +
      'the roles before left it (`teamtr`).',
    summary:
      'one role after the other, each on fresh episodes of the partly updated team, and held within a ' +
      'KL of the policy that sampled them.',
    reads: ['teamtr'],
    trains: true,
  },
  state: () => ({ name: 'teamtr', version: 1, initial: () => toTeamTrState(new Map(), new Map()) }),
  compared: 'problem',
  standardised: ({ teamtr: { advantage_scale: scale, advantage_epsilon: epsilon, advantage_clip: clip } }) => ({
    scale,
    epsilon,
    clip,
  }),
  estimator: () => 'magrpo',
  valueTarget: () => null,
  fault: makeEpisodesCheck(2, countFreshTurns),
  remarks: ({ adapter, teamtr: { reuse, resample_every: every } }) => [
    ...(reuse === 'weighted' && every === 1
      ? [
          'teamtr.reuse: weighted has no effect with teamtr.resample_every: 1, because every turn has fresh episodes; ' +
            'with 2 or more, or null, later turns learn from those of an earlier one.',
        ]
      : []),
    ...(adapter?.per === 'role'
      ? []
      : [
          'All roles share the weights in training, so that an update of one role moves the others too, ' +
            'and the trust region of teamtr holds for the updated one only; ' +
            'with adapter: {per: role} each role has weights of its own.',
        ]),
  ],

  stages: countFreshTurns,
  plan: (settings, protocol) => planStageEpisodes(settings, protocol, countFreshTurns(settings, protocol)),

  // Credits are in units of the return; learning uses their standard scores.
  credit: (step) => ({ credits: creditEpisodes(step, 'magrpo'), state: addMeanReturn(step) }),

  taught(step, stage) {
    const { resample_every: every } = step.settings.teamtr;
    const order = listRoleOrder(step, readRoleNumbers(step.state.json, 'gain'));
    return every === null ? order : order.slice(stage * every, (stage + 1) * every);
  },

  *updates(step) {
    const { settings, iteration } = step;
    const { steps, ppo } = settings;
    const { learning_rate: peak, warmup_fraction: warmupFraction, final_fraction: floorFraction } = ppo;
    const learningRate = makeCosineSchedule({ peak, warmupFraction, floorFraction, totalSteps: steps })(iteration - 1);
    const { resample_every: every } = settings.teamtr;
    const weights = readRoleNumbers(step.state.json, 'beta');
    const gains = readRoleNumbers(step.state.json, 'gain');
    const turns: Turn[] = [];
    const watch = settings.teamtr.diagnostics ? new DriftWatch(step) : null;
    let returns = readSamplingReturns(step.state.json);
    let updated: readonly string[] = [];
    for (const [place, role] of listRoleOrder(step, gains).entries()) {
      const fresh = place === 0 || (every !== null && place % every === 0);
      if (fresh && place > 0) {
        const { state } = yield { kind: 'rollouts' };
        returns = readSamplingReturns(state?.json);
      }
      updated = fresh ? [] : updated;
      const begin = { learningRate, weight: weights.get(role) ?? settings.teamtr.beta };
      const episodes = yield* measureWeightsSince(updated, settings.teamtr);
      const done = yield* takeTurn(step, role, { ...begin, ...(episodes !== undefined && { weights: episodes }) });
      updated = [...updated, role];
      if (watch !== null) {
        const { divergence } = yield { kind: 'divergence', roles: watch.movedWith(role), of: 'first' };
        watch.turn(role, done, divergence);
      }
      const turn = { ...done, fresh };
      weights.set(role, turn.weight);
      gains.set(role, turn.gain);
      turns.push(turn);
    }
    if (turns.length > 0) {
      yield {
        kind: 'finish',
        measures: {
          trustRegionKl: Math.max(...turns.map(({ moved }) => moved)),
          surrogateGain: turns.reduce((sum, { gain }) => sum + gain, 0),
          klWeight: mean(turns.map(({ weight }) => weight)),
          outOfRegion: mean(turns.map(({ left }) => (left ? 1 : 0))),
          ...measureTurns(turns, returns, settings.teamtr),
          ...averageRankShifts(
            'inside',
            turns.flatMap(({ inside }) => inside ?? []),
          ),
          ...averageRankShifts(
            'outside',
            turns.flatMap(({ outside }) => outside ?? []),
          ),
          ...watch?.measures(),
        },
        state: toTeamTrState(weights, gains),
      };
    }
  },
};

interface Turn extends MeasuredTurn {
  /** The gain of the surrogate. */
  readonly gain: number;
  /** True if the KL was above `delta` before the weights went back. */
  readonly left: boolean;
  /** The weight of the KL penalty for its next turn. */
  readonly weight: number;
  /** Probabilities by rank of the kept update, and of one that left the trust region, if measured. */
  readonly inside: RankShift | null;
  readonly outside: RankShift | null;
}

/**
 * Returns the weights of the newest episodes after some roles were updated, or undefined if all count
 * the same. The update is measured after all turns of these roles, on all of their messages, because
 * roles may share weights or may have learned from a part.
 */
function* measureWeightsSince(
  roles: readonly string[],
  { reuse, weight_cap: cap }: Settings,
): Generator<Update, ReadonlyMap<number, number> | undefined, Outcome> {
  if (reuse === 'as_is' || roles.length === 0) {
    return undefined;
  }
  const { divergence } = yield { kind: 'divergence', roles };
  return computeEpisodeWeights(
    roles.flatMap((role) => divergence?.get(role)?.moves ?? []),
    cap,
  );
}

/** The start of a role's turn. */
interface Beginning extends Pick<PolicyUpdate, 'learningRate' | 'weights'> {
  /** The weight of the KL penalty. */
  readonly weight: number;
}

function* takeTurn(
  { settings: { teamtr }, random }: LearningStep,
  role: string,
  { learningRate, weight: begin, ...episodes }: Beginning,
): Generator<Update, Omit<Turn, 'fresh'>, Outcome> {
  const { epochs, clip, stop, delta, backtrack, backtrack_tries: tries } = teamtr;
  const roles = [role];
  const { learned, monitored } = splitHeldOut(teamtr, random(`held out:${role}`));
  const still: { moved: number; gain: number; moves: readonly Move[] } = { moved: 0, gain: 0, moves: [] };
  const measure = function* (): Generator<Update, typeof still, Outcome> {
    const { divergence } = yield {
      kind: 'divergence',
      roles,
      ...episodes,
      ...(teamtr.kl_estimator === 'exact' && { exact: true }),
      ...(monitored !== undefined && { batch: monitored }),
    };
    const own = divergence?.get(role);
    return own === undefined
      ? still
      : { moved: selectKl(own, teamtr.kl_estimator), gain: own.gain, moves: own.moves ?? [] };
  };
  const ranks = function* (): Generator<Update, RankShift | null, Outcome> {
    if (!teamtr.rank_shifts) {
      return null;
    }
    const part = monitored === undefined ? {} : { batch: monitored };
    const { divergence } = yield { kind: 'divergence', roles, ranks: true, ...part };
    return divergence?.get(role)?.ranks ?? null;
  };
  let [now, weight] = [still, begin];
  yield { kind: 'keep' };
  for (let epoch = 0; epoch < epochs && now.moved < stop * delta; epoch++) {
    yield {
      kind: 'policy',
      roles,
      ...episodes,
      learningRate,
      perMessage: true,
      loss: { ratio: 'message', clipLow: clip, clipHigh: clip },
      kl: { against: 'last', estimator: 'k3', fromLast: true, coefficient: weight },
      ...(learned !== undefined && { batch: learned }),
    };
    now = yield* measure();
    weight = adaptKlWeight(weight, now.moved, teamtr);
  }
  const left = now.moved > delta;
  const outside = left ? yield* ranks() : null;
  for (let tried = 0; now.moved > delta && tried < tries; tried++) {
    yield { kind: 'revert', share: backtrack };
    now = yield* measure();
  }
  if (now.moved > delta) {
    yield { kind: 'revert', share: 0 };
    now = { ...still, moves: now.moves.map((move) => ({ ...move, logRatio: 0, tokens: move.tokens.map(() => 0) })) };
    return { ...now, left, weight, outside, inside: null };
  }
  return { ...now, left, weight, outside, inside: yield* ranks() };
}

/** Returns the contexts that a role learns from and those that its KL uses; undefined means all. */
function splitHeldOut(
  { held_out: of }: Settings,
  draw: (position: number) => number,
): { readonly learned?: MiniBatch; readonly monitored?: MiniBatch } {
  return of === null ? {} : { learned: { index: 0, of, count: of - 1, draw }, monitored: { index: of - 1, of, draw } };
}

const selectKl = ({ k1, k3, exact = 0 }: Divergence, estimator: Settings['kl_estimator']): number =>
  ({ k1, k3, exact })[estimator];

/**
 * Returns the weight of the KL penalty after an optimizer step (reference section 4): more if the KL
 * is above `delta` times the tolerance, less if it is below `delta` divided by it.
 */
export function adaptKlWeight(
  weight: number,
  kl: number,
  { delta, beta_factor: factor, beta_tolerance: tolerance }: Pick<Settings, 'delta' | 'beta_factor' | 'beta_tolerance'>,
): number {
  const [least, most] = WEIGHTS;
  if (kl > delta * tolerance) {
    return Math.min(most, weight * factor);
  }
  // A weight of 0 stays: the penalty is off.
  return kl < delta / tolerance ? Math.min(weight, Math.max(least, weight / factor)) : weight;
}

function listRoleOrder(
  { settings: { teamtr }, iteration, roles, random }: TaughtStep,
  gains: ReadonlyMap<string, number>,
): readonly string[] {
  switch (teamtr.order) {
    case 'fixed':
      return roles;
    case 'reverse':
      return roles.toReversed();
    case 'round_robin': {
      const first = (iteration - 1) % Math.max(1, roles.length);
      return [...roles.slice(first), ...roles.slice(0, first)];
    }
    case 'random':
      return shuffleItems(roles, random('order'));
    case 'gain': {
      const gainOf = (role: string): number => gains.get(role) ?? Number.MAX_VALUE;
      return roles.toSorted((one, other) => gainOf(other) - gainOf(one));
    }
  }
}

/** Returns the state: the weight of each role's KL penalty, and the gain of its last turn. */
const toTeamTrState = (beta: ReadonlyMap<string, number>, gain: ReadonlyMap<string, number>): MethodState => ({
  json: { beta: Object.fromEntries(beta), gain: Object.fromEntries(gain) },
  tensors: {},
});

/** Returns the state for the next stage, with the mean return of each sampling of the step so far. */
function addMeanReturn({ stage, state, problems, settings }: SampledStep): MethodState {
  const means = problems.map((episodes) => {
    const returns = episodes
      .flatMap((first) => alternativeReturns(first, settings.credit.return_clip).returns)
      .filter((value) => value !== null);
    return returns.length === 0 ? null : mean(returns);
  });
  const known = means.filter((value) => value !== null);
  // Samplings are compared with each other only on all problems of the step.
  const own = known.length === 0 || known.length < means.length ? null : mean(known);
  const returns = [...(stage === 0 ? [] : readSamplingReturns(state.json)), own];
  return { ...state, json: { ...(isObject(state.json) && state.json), returns } };
}

function readSamplingReturns(json: Json | undefined): readonly (number | null)[] {
  const found = isObject(json) ? json['returns'] : undefined;
  return Array.isArray(found) ? found.map((value: Json) => (typeof value === 'number' ? value : null)) : [];
}

function readRoleNumbers(json: Json, key: 'beta' | 'gain'): Map<string, number> {
  const found = isObject(json) ? json[key] : undefined;
  return new Map(Object.entries(isObject(found) ? found : {}).map(([role, value]) => [role, Number(value)]));
}

const isObject = (json: Json | undefined): json is { readonly [key: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json);
