/** Readable spans of time: the estimated duration of a run, and the time remaining. */

/** The estimated duration of a run in seconds, and its basis. */
export interface TimeEstimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /**
   * earlier-runs: runs of this store and machine. model: a trial of the model. products: matrix products
   * and the model's size.
   */
  readonly basis: 'earlier-runs' | 'model' | 'products';
  /** Number of earlier runs; 0 for the other bases. */
  readonly runs: number;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Shorter spans are shown in seconds, longer ones in minutes. */
const IN_SECONDS = 90;
/** Spans up to these limits also show the next smaller unit. */
const HOURS_WITH_MINUTES = 10 * HOUR;
const DAYS_WITH_HOURS = 4 * DAY;

/**
 * Formats `5 s`, `40 s`, `2 min`, `1 h 10 min`, `2 days 4 h`, no finer than an estimate is. @param
 * seconds 0 or more
 */
export function formatSpan(seconds: number): string {
  if (seconds < 10) {
    return `${Math.max(1, Math.round(seconds))} s`;
  }
  if (seconds < IN_SECONDS - 2.5) {
    return `${5 * Math.round(seconds / 5)} s`;
  }
  if (seconds < HOUR - MINUTE / 2) {
    return `${Math.max(2, Math.round(seconds / MINUTE))} min`;
  }
  if (seconds < HOURS_WITH_MINUTES - 5 * MINUTE) {
    return formatTwoUnits(seconds, HOUR, 'h', 'h', 10 * MINUTE, MINUTE, 'min');
  }
  if (seconds < DAY - HOUR / 2) {
    return `${Math.round(seconds / HOUR)} h`;
  }
  if (seconds < DAYS_WITH_HOURS - HOUR / 2) {
    return formatTwoUnits(seconds, DAY, 'day', 'days', HOUR, HOUR, 'h');
  }
  return `${Math.round(seconds / DAY)} days`;
}

/** Formats two units; the smaller one is rounded to `grain` and left out if it is 0. */
function formatTwoUnits(
  seconds: number,
  size: number,
  one: string,
  many: string,
  grain: number,
  smaller: number,
  name: string,
): string {
  const rounded = grain * Math.round(seconds / grain);
  const whole = Math.floor(rounded / size);
  const rest = Math.round((rounded - whole * size) / smaller);
  return `${whole} ${whole === 1 ? one : many}${rest === 0 ? '' : ` ${rest} ${name}`}`;
}

/** Formats `about 2 min left` or `a few seconds left`; empty while the time is unknown. */
export function formatRemaining(seconds: number | null): string {
  if (seconds === null) {
    return '';
  }
  return seconds < 7.5 ? 'a few seconds left' : `about ${formatSpan(seconds)} left`;
}

const BASES: Readonly<Record<TimeEstimate['basis'], string>> = {
  'earlier-runs': 'earlier runs like it',
  model: 'a short trial of the model on this machine',
  products: "the model's size and this machine's speed",
};

/** Describes the basis of an estimate as the end of a sentence: `from 3 earlier runs like it`. */
export function describeBasis({ basis, runs }: Pick<TimeEstimate, 'basis' | 'runs'>): string {
  if (basis !== 'earlier-runs') {
    return `from ${BASES[basis]}`;
  }
  return runs === 1 ? 'from an earlier run like it' : `from ${runs} ${BASES[basis]}`;
}

/** Formats `about 2 min (65 s to 3 min), from a short trial of the model on this machine`. */
export function formatEstimate(estimate: TimeEstimate | null): string {
  if (estimate === null) {
    return 'unknown';
  }
  const [low, high] = [formatSpan(estimate.low), formatSpan(estimate.high)];
  return `about ${formatSpan(estimate.value)}${low === high ? '' : ` (${low} to ${high})`}, ${describeBasis(estimate)}`;
}
