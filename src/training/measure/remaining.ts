/** What remains of a run, from the pace that it has shown. Times are for whoever watches: no result depends on them. */
import { evaluationTimes } from '../../domain/evaluation.ts';
import type { RunConfig } from '../config/config.ts';

/** Work of a run that is not done yet. */
export interface RunWork {
  /** Of all evaluations. */
  readonly episodes: number;
  readonly steps: number;
}

/**
 * The work of a run from its beginning, or from where a stored one is; stored episodes are left out as they come.
 * @param problems that an evaluation takes @param finished training steps that are stored
 */
export function runWork(
  { steps, evaluation: { before, every, samples } }: Pick<RunConfig, 'steps' | 'evaluation'>,
  problems: number,
  finished = 0,
): RunWork {
  // Those after earlier steps are done; the run does not come back to them.
  const passed = every === 0 || finished === 0 ? 0 : Math.floor((Math.min(finished, steps) - 1) / every);
  const evaluations = evaluationTimes({ steps, every, before }) - passed;
  return { episodes: evaluations * problems * (1 + samples), steps: steps - finished };
}

/** Seconds of a run's two kinds of work. */
export interface Pace {
  /** One episode of an evaluation. */
  readonly episode: number;
  /** One training step with everything that belongs to it. */
  readonly step: number;
}

/** The pace that is expected before a run has shown its own. */
export interface ExpectedPace extends Pace {
  /** False: only the relation between the two is known, not how long either takes here. */
  readonly known: boolean;
}

/** So many of the last measurements of a kind are looked at: messages change their lengths while the team learns. */
const WINDOW = 8;
/** With no more measurements than this, a newer one says more than all that was said before. */
const FEW = 3;

/** Counts a run's work and says what is left of it. */
export class Remaining {
  private readonly expected: ExpectedPace;
  private readonly clock: () => number;
  private readonly episodes: number[] = [];
  private readonly steps: number[] = [];
  private episodesLeft: number;
  private stepsLeft: number;
  private since: number;
  private shown: { readonly seconds: number; readonly at: number } | null = null;

  /** @param clock seconds */
  constructor(work: RunWork, expected: ExpectedPace, clock: () => number) {
    this.episodesLeft = work.episodes;
    this.stepsLeft = work.steps;
    this.expected = expected;
    this.clock = clock;
    this.since = clock();
  }

  /** What is measured next begins now. */
  begin(): void {
    this.since = this.clock();
  }

  /** Episodes that were stored before need no time. */
  skip(episodes: number): void {
    this.episodesLeft = Math.max(0, this.episodesLeft - episodes);
  }

  /** So many episodes were evaluated since the last measurement. */
  evaluated(episodes: number): void {
    if (episodes > 0) {
      this.episodes.push(this.elapsed() / episodes);
    }
    this.skip(episodes);
  }

  /** A training step ended that began with `begin`. */
  trained(): void {
    this.steps.push(this.elapsed());
    this.stepsLeft = Math.max(0, this.stepsLeft - 1);
  }

  /**
   * Seconds until the end, never negative; null while nothing says how long anything takes. Once a few measurements
   * are there, a new one moves what was shown before half of the way, so that one slow batch is no jump.
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
    const episode = typical(this.episodes, expected.known ? expected.episode : null);
    const step = typical(this.steps, expected.known ? expected.step : null);
    // A kind that was not measured yet is as much slower or faster than expected as the other one.
    const factor = share(episode, expected.episode) ?? share(step, expected.step) ?? (expected.known ? 1 : null);
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

const share = (measured: number | null, expected: number): number | null =>
  measured === null || expected <= 0 ? null : measured / expected;

/**
 * The median of the last measurements. The first one compiles graphs and starts processes: it counts only while it is
 * alone, and then half, where something else is known.
 * @returns null without a measurement
 */
function typical(measured: readonly number[], expected: number | null): number | null {
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
