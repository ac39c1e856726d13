/** Estimates the time of a run from the measured seconds of messages. Pure. */

import { getEvaluatorKind } from '../../../evaluate/kinds.ts';
import type { TimeEstimate } from '../../../shared/text/times.ts';
import type { Protocol } from '../../../team/protocol.ts';
import { countTreeMessages, countMostScores } from '../../../team/rounds.ts';
import { HELD_OUT } from '../../../training/align.ts';
import type { RunConfig } from '../../../training/config/config.ts';
import { countRunWork, type Pace, type RunWork } from '../../../training/measure/remaining.ts';
import { listPlannedRollouts } from '../../../training/methods/methods.ts';
import type { RunData } from '../../recipe/recipe.ts';

/** Counts of the work of a run. */
export interface PlannedWork extends RunWork {
  /** Messages of an evaluated episode, and of a training step. */
  readonly episodeMessages: number;
  readonly stepMessages: number;
  /** Messages that run code when they are scored, in an episode and in a step. */
  readonly episodePrograms: number;
  readonly stepPrograms: number;
  /** Work before training if a policy is replaced. */
  readonly stage0?: Stage0Work;
}

/** Most work for replacing a policy. */
export interface Stage0Work {
  /** Episodes of the evaluations that measure the cost of the swap. */
  readonly episodes: number;
  /** Episodes that probe the old policy, one for each probe. Scored only if the protocol has rounds. */
  readonly probed: number;
  /** Messages that all optimizer steps of stage 0 learn from. */
  readonly trained: number;
}

/** Returns null if the run replaces no policy. */
export function countStage0Work({ begin }: Pick<RunConfig, 'begin'>, evaluated: number): Stage0Work | null {
  const replace = begin?.replace ?? null;
  if (replace === null) {
    return null;
  }
  const { align, measure, probes, max_steps: steps } = replace;
  const learned = probes - Math.floor(probes / HELD_OUT);
  return { episodes: measure ? (align ? 3 : 2) * evaluated : 0, probed: probes, trained: align ? steps * learned : 0 };
}

/** Seconds per message. */
export interface MessageSeconds {
  /** Seconds to sample a message in a batch of the size that the run uses. */
  readonly sampled: number;
  /** Seconds to train on a message, including the log-probabilities of the reference. */
  readonly trained: number;
}

/** Typical seconds to run one program in the sandbox, and to start the sandbox. No trial measures them. */
const PROGRAM = 0.003;
const SANDBOX_START = 4;

/** Uncertainty of an estimate as a factor in both directions. */
const SPREAD: Readonly<Record<TimeEstimate['basis'], number>> = { 'earlier-runs': 1.25, model: 1.6, products: 3 };

/** Counts the work of a run. @param finished number of finished steps of a resumed run */
export function countPlannedWork(
  config: RunConfig,
  protocol: Protocol,
  { train, evaluation }: Pick<RunData, 'train' | 'evaluation'>,
  finished = 0,
): PlannedWork {
  const tested = [...train, ...evaluation].some(({ tests }) => tests !== undefined);
  const code = tested && getEvaluatorKind(config.evaluator).runsCode;
  let [stepMessages, stepPrograms] = [0, 0];
  for (const { fanout, shape = 'nested' } of config.steps === 0 ? [] : listPlannedRollouts(config, protocol)) {
    const levels = countTreeMessages(fanout, shape, protocol.occurrences.length);
    protocol.occurrences.forEach(({ scored }, level) => {
      const messages = Math.min(config.instances_per_step, train.length) * (levels[level] ?? 1);
      stepMessages += messages;
      if (scored && code) {
        stepPrograms += messages;
      }
    });
  }
  const episodePrograms = code ? countMostScores(protocol) : 0;
  const episodeMessages = protocol.occurrences.length;
  const stage0 = finished === 0 ? countStage0Work(config, evaluation.length) : null;
  const counts = { episodeMessages, stepMessages, episodePrograms, stepPrograms, ...(stage0 !== null && { stage0 }) };
  return { ...countRunWork(config, evaluation.length, finished), ...counts };
}

/** Computes the pace of a run from the seconds of messages. */
export function computePace(work: PlannedWork, { sampled, trained }: MessageSeconds): Pace {
  return {
    episode: work.episodeMessages * sampled + work.episodePrograms * PROGRAM,
    step: work.stepMessages * (sampled + trained) + work.stepPrograms * PROGRAM,
  };
}

/** Estimates the time of a run from the paces of earlier runs or a trial. @returns null without a pace */
export function estimateTime(
  work: PlannedWork,
  paces: readonly Pace[],
  basis: TimeEstimate['basis'],
): TimeEstimate | null {
  const start = work.episodePrograms + work.stepPrograms > 0 && basis !== 'earlier-runs' ? SANDBOX_START : 0;
  const without = sortAscending(paces.map(({ episode, step }) => start + work.episodes * episode + work.steps * step));
  const totals = sortAscending(
    paces.map(
      (pace) => start + work.episodes * pace.episode + work.steps * pace.step + computeStage0Seconds(work, pace),
    ),
  );
  const value = findMiddle(totals);
  if (value === null) {
    return null;
  }
  const spread = SPREAD[basis];
  return {
    value,
    // Stage 0 may reach its bound in its first step, so the low end leaves it out.
    low: Math.min((findMiddle(without) ?? value) / spread, without[0] ?? value),
    high: Math.max(value * spread, totals.at(-1) ?? value),
    basis,
    runs: basis === 'earlier-runs' ? paces.length : 0,
  };
}

/** Returns the seconds of stage 0. Training time per message is a step's time without sampling. */
function computeStage0Seconds({ stage0, episodeMessages, stepMessages }: PlannedWork, { episode, step }: Pace): number {
  if (stage0 === undefined) {
    return 0;
  }
  const sampled = episode / Math.max(1, episodeMessages);
  const trained = stepMessages === 0 ? sampled : Math.max(0, step / stepMessages - sampled);
  return (stage0.episodes + stage0.probed) * episode + stage0.trained * trained;
}

/** Returns the medians of paces, separately for episodes and steps, or null without a pace. */
export function findMedianPace(paces: readonly Pace[]): Pace | null {
  const episode = findMiddle(sortAscending(paces.map((pace) => pace.episode)));
  const step = findMiddle(sortAscending(paces.map((pace) => pace.step)));
  return episode === null || step === null ? null : { episode, step };
}

const sortAscending = (values: readonly number[]): readonly number[] => [...values].sort((a, b) => a - b);

function findMiddle(sorted: readonly number[]): number | null {
  const index = Math.floor(sorted.length / 2);
  const upper = sorted[index];
  if (upper === undefined) {
    return null;
  }
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[index - 1] ?? upper)) / 2;
}
