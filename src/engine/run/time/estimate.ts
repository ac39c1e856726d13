/** From what messages take to what a run takes: pure functions of a configuration and of measured seconds. */
import { evaluatorKind } from '../../../evaluate/kinds.ts';
import type { TimeEstimate } from '../../../shared/text/times.ts';
import type { Protocol } from '../../../team/protocol.ts';
import type { RunConfig } from '../../../training/config/config.ts';
import { plannedRollouts } from '../../../training/methods/methods.ts';
import { runWork, type Pace, type RunWork } from '../../../training/measure/remaining.ts';
import type { RunData } from '../../recipe/recipe.ts';
import { messagesOf, scoredAtMost } from '../../../team/rounds.ts';

/** What a run consists of, counted. */
export interface PlannedWork extends RunWork {
  /** Messages of an episode that is evaluated, and of a training step. */
  readonly episodeMessages: number;
  readonly stepMessages: number;
  /** Messages that run code when they are scored, of either. */
  readonly episodePrograms: number;
  readonly stepPrograms: number;
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
  const counts = { episodeMessages, stepMessages, episodePrograms, stepPrograms };
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
  const totals = ascending(paces.map(({ episode, step }) => start + work.episodes * episode + work.steps * step));
  const value = middle(totals);
  if (value === null) {
    return null;
  }
  const spread = SPREAD[basis];
  return {
    value,
    low: Math.min(value / spread, totals[0] ?? value),
    high: Math.max(value * spread, totals.at(-1) ?? value),
    basis,
    runs: basis === 'earlier-runs' ? paces.length : 0,
  };
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
