/** Estimates the remaining time of a run from its pace so far. No result depends on it. */

import { evaluationTimes } from '../../domain/evaluation.ts';
import type { RunConfig } from '../config/config.ts';

export interface RunWork {
  /** Episodes of all evaluations. */
  readonly episodes: number;
  readonly steps: number;
}

/**
 * Returns the work of a run from its beginning, or from the state of a stored one. Stored episodes are
 * subtracted later.
 * @param problems problems per evaluation
 * @param finished the number of finished training steps in the store
 */
export function countRunWork(
  { steps, evaluation: { before, every, samples } }: Pick<RunConfig, 'steps' | 'evaluation'>,
  problems: number,
  finished = 0,
): RunWork {
  // Evaluations after earlier steps are done; the run does not come back to them.
  const passed = every === 0 || finished === 0 ? 0 : Math.floor((Math.min(finished, steps) - 1) / every);
  const evaluations = evaluationTimes({ steps, every, before }) - passed;
  return { episodes: evaluations * problems * (1 + samples), steps: steps - finished };
}

/** Seconds for the two kinds of a run's work. */
export interface Pace {
  /** Seconds for one episode of an evaluation. */
  readonly episode: number;
  /** Seconds for one training step with everything that belongs to it. */
  readonly step: number;
}

/** The expected pace before a run has shown its own. */
export interface ExpectedPace extends Pace {
  /** False if only the ratio of the two values is known. */
  readonly known: boolean;
}

/** The number of recent measurements that count; message lengths change while the team learns. */
const WINDOW = 8;
/** With at most this many measurements, the newest estimate replaces the one shown before. */
const FEW = 3;

/** Tracks the work of a run and estimates the time that is left. */
export class Remaining {
  private readonly expected: ExpectedPace;
  private readonly clock: () => number;
  private readonly episodes: number[] = [];
  private readonly steps: number[] = [];
  private episodesLeft: number;
  private stepsLeft: number;
  private since: number;
  private shown: { readonly seconds: number; readonly at: number } | null = null;

  /** @param clock returns seconds */
  constructor(work: RunWork, expected: ExpectedPace, clock: () => number) {
    this.episodesLeft = work.episodes;
    this.stepsLeft = work.steps;
    this.expected = expected;
    this.clock = clock;
    this.since = clock();
  }

  /** Starts the measurement of the next work. */
  begin(): void {
    this.since = this.clock();
  }

  /** Removes stored episodes from the remaining work. */
  skip(episodes: number): void {
    this.episodesLeft = Math.max(0, this.episodesLeft - episodes);
  }

  /** Counts episodes that were evaluated since the last measurement. */
  evaluated(episodes: number): void {
    if (episodes > 0) {
      this.episodes.push(this.elapsed() / episodes);
    }
    this.skip(episodes);
  }

  /** Counts a training step that began with `begin`. */
  trained(): void {
    this.steps.push(this.elapsed());
    this.stepsLeft = Math.max(0, this.stepsLeft - 1);
  }

  /**
   * Returns the seconds until the end, never negative, or null while there is no estimate. After a few
   * measurements, the shown value moves only half of the way to a new estimate, so that one slow batch
   * makes no jump.
   */
  seconds(): number | null {
    const found = this.total();
    const now = this.clock();
    if (found === null) {
      return null;
    }
    const due = this.shown === null ? found : Math.max(0, this.shown.seconds - (now - this.shown.at));
    const steady = this.episodes.length > FEW || this.steps.length > FEW;
    const seconds = found === 0 || !steady ? found : due + (found - due) / 2;
    this.shown = { seconds, at: now };
    return seconds;
  }

  private total(): number | null {
    const { expected, episodesLeft, stepsLeft } = this;
    const episode = typicalSeconds(this.episodes, expected.known ? expected.episode : null);
    const step = typicalSeconds(this.steps, expected.known ? expected.step : null);
    // A kind without measurements is assumed to deviate from its expected pace by the same factor as the
    // other kind.
    const factor =
      measuredShare(episode, expected.episode) ?? measuredShare(step, expected.step) ?? (expected.known ? 1 : null);
    if (factor === null) {
      return null;
    }
    return episodesLeft * (episode ?? expected.episode * factor) + stepsLeft * (step ?? expected.step * factor);
  }

  private elapsed(): number {
    const now = this.clock();
    const elapsed = now - this.since;
    this.since = now;
    return elapsed;
  }
}

const measuredShare = (measured: number | null, expected: number): number | null =>
  measured === null || expected <= 0 ? null : measured / expected;

/**
 * Returns the median of the last measurements, or null without one. The first measurement includes
 * compiling graphs and starting processes: it counts only while it is alone, and then half if an
 * expected value is known.
 */
function typicalSeconds(measured: readonly number[], expected: number | null): number | null {
  const [first] = measured;
  if (first === undefined) {
    return null;
  }
  if (measured.length === 1) {
    return expected === null ? first : (first + expected) / 2;
  }
  const last = measured
    .slice(1)
    .slice(-WINDOW)
    .sort((a, b) => a - b);
  const middle = Math.floor(last.length / 2);
  const upper = last[middle] ?? first;
  return last.length % 2 === 1 ? upper : (upper + (last[middle - 1] ?? upper)) / 2;
}
