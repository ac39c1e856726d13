/** From what messages take to what a run takes: pure functions of a configuration and of measured seconds. */
import { evaluatorKind } from '../../../evaluate/kinds.ts';
import type { TimeEstimate } from '../../../shared/text/times.ts';
import type { Protocol } from '../../../team/protocol.ts';
import { messagesOf, scoredAtMost } from '../../../team/rounds.ts';
import { HELD_OUT } from '../../../training/align.ts';
import type { RunConfig } from '../../../training/config/config.ts';
import { runWork, type Pace, type RunWork } from '../../../training/measure/remaining.ts';
import { plannedRollouts } from '../../../training/methods/methods.ts';
import type { RunData } from '../../recipe/recipe.ts';

/** What a run consists of, counted. */
export interface PlannedWork extends RunWork {
  /** Messages of an episode that is evaluated, and of a training step. */
  readonly episodeMessages: number;
  readonly stepMessages: number;
  /** Messages that run code when they are scored, of either. */
  readonly episodePrograms: number;
  readonly stepPrograms: number;
  /** Before anything else, where a policy is replaced. */
  readonly stage0?: Stage0Work;
}

/** What replacing a policy takes, at most. */
export interface Stage0Work {
  /** Of the evaluations that show what the swap costs. */
  readonly episodes: number;
  /** Those in which the old policy is probed, one for each probe; scored only where rounds go by it. */
  readonly probed: number;
  /** Messages that all optimizer steps of stage 0 learn from. */
  readonly trained: number;
}

/** Null where a run replaces no policy. */
export function stage0Work({ begin }: Pick<RunConfig, 'begin'>, evaluated: number): Stage0Work | null {
  const replace = begin?.replace ?? null;
  if (replace === null) {
    return null;
  }
  const { align, measure, probes, max_steps: steps } = replace;
  const learned = probes - Math.floor(probes / HELD_OUT);
  return { episodes: measure ? (align ? 3 : 2) * evaluated : 0, probed: probes, trained: align ? steps * learned : 0 };
}

/** Seconds of the parts that work is made of. */
export interface MessageSeconds {
  /** To sample a message, among as many others as a run samples together. */
  readonly sampled: number;
  /** To train on a message, the reference's log-probabilities among it. */
  readonly trained: number;
}

/** Typical seconds to run one program in the sandbox, and once to start it; no trial measures them. */
const PROGRAM = 0.003;
const SANDBOX_START = 4;

/** Of an estimate, how far the truth may be off, as a factor either way. */
const SPREAD: Readonly<Record<TimeEstimate['basis'], number>> = { 'earlier-runs': 1.25, model: 1.6, products: 3 };

/** Counts the work of a run. @param finished steps of a stored run that continues */
export function plannedWork(
  config: RunConfig,
  protocol: Protocol,
  { train, evaluation }: Pick<RunData, 'train' | 'evaluation'>,
  finished = 0,
): PlannedWork {
  const tested = [...train, ...evaluation].some(({ tests }) => tests !== undefined);
  const code = tested && evaluatorKind(config.evaluator).runsCode;
  let [stepMessages, stepPrograms] = [0, 0];
  for (const { fanout, shape = 'nested' } of config.steps === 0 ? [] : plannedRollouts(config, protocol)) {
    const levels = messagesOf(fanout, shape, protocol.occurrences.length);
    protocol.occurrences.forEach(({ scored }, level) => {
      const messages = Math.min(config.instances_per_step, train.length) * (levels[level] ?? 1);
      stepMessages += messages;
      if (scored && code) {
        stepPrograms += messages;
      }
    });
  }
  const episodePrograms = code ? scoredAtMost(protocol) : 0;
  const episodeMessages = protocol.occurrences.length;
  const stage0 = finished === 0 ? stage0Work(config, evaluation.length) : null;
  const counts = { episodeMessages, stepMessages, episodePrograms, stepPrograms, ...(stage0 !== null && { stage0 }) };
  return { ...runWork(config, evaluation.length, finished), ...counts };
}

/** The pace that follows from what messages take. */
export function paceOf(work: PlannedWork, { sampled, trained }: MessageSeconds): Pace {
  return {
    episode: work.episodeMessages * sampled + work.episodePrograms * PROGRAM,
    step: work.stepMessages * (sampled + trained) + work.stepPrograms * PROGRAM,
  };
}

/** What a run takes at these paces, each that of a run before it or of a trial. @returns null without a pace */
export function estimateOf(
  work: PlannedWork,
  paces: readonly Pace[],
  basis: TimeEstimate['basis'],
): TimeEstimate | null {
  const start = work.episodePrograms + work.stepPrograms > 0 && basis !== 'earlier-runs' ? SANDBOX_START : 0;
  const without = ascending(paces.map(({ episode, step }) => start + work.episodes * episode + work.steps * step));
  const totals = ascending(
    paces.map((pace) => start + work.episodes * pace.episode + work.steps * pace.step + stage0Seconds(work, pace)),
  );
  const value = middle(totals);
  if (value === null) {
    return null;
  }
  const spread = SPREAD[basis];
  return {
    value,
    // Stage 0 may come to its bound in the first of its steps.
    low: Math.min((middle(without) ?? value) / spread, without[0] ?? value),
    high: Math.max(value * spread, totals.at(-1) ?? value),
    basis,
    runs: basis === 'earlier-runs' ? paces.length : 0,
  };
}

/** All of stage 0 at a pace; what training on a message takes is what a step takes beside its sampling. */
function stage0Seconds({ stage0, episodeMessages, stepMessages }: PlannedWork, { episode, step }: Pace): number {
  if (stage0 === undefined) {
    return 0;
  }
  const sampled = episode / Math.max(1, episodeMessages);
  const trained = stepMessages === 0 ? sampled : Math.max(0, step / stepMessages - sampled);
  return (stage0.episodes + stage0.probed) * episode + stage0.trained * trained;
}

/** The median of some paces, each kind on its own. @returns null without one */
export function middlePace(paces: readonly Pace[]): Pace | null {
  const episode = middle(ascending(paces.map((pace) => pace.episode)));
  const step = middle(ascending(paces.map((pace) => pace.step)));
  return episode === null || step === null ? null : { episode, step };
}

const ascending = (values: readonly number[]): readonly number[] => [...values].sort((a, b) => a - b);

function middle(sorted: readonly number[]): number | null {
  const index = Math.floor(sorted.length / 2);
  const upper = sorted[index];
  if (upper === undefined) {
    return null;
  }
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[index - 1] ?? upper)) / 2;
}
