/** How numbers are written, the same in every panel. What was not measured says so. */
import type { Interval } from '../../src/domain/credit.ts';
import type { Credit } from '../../src/shared/credit/credit.ts';
import { sentence, type Headline } from '../../src/shared/credit/headline.ts';
import * as figures from '../../src/shared/text/figures.ts';

export const NOT_MEASURED = 'not measured';

const MINUS = '\u2212';
const counts = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** A whole number with thousands separators. */
export function count(value: number): string {
  return counts.format(value);
}

/** A decimal with a true minus sign; tiny values in scientific form. */
export function decimal(value: number, digits = 2): string {
  return figures.decimal(value, digits);
}

/** A credit with its sign, so that the direction does not rest on colour. */
export function signed(value: number): string {
  return figures.signed(value, 2);
}

/** A return in [0, 1] or any other scale. */
export function returnText(value: number | null): string {
  if (value === null) {
    return NOT_MEASURED;
  }
  return Number.isInteger(value) ? String(value).replace('-', MINUS) : decimal(value);
}

/** `[low, high]`, or null when neither bound could be estimated. */
export function bounds(low: number | null, high: number | null): string | null {
  if (low === null || high === null) {
    return null;
  }
  return `[${decimal(low)}, ${decimal(high)}]`;
}

/** A credit in words: value, interval, n, and what a headline says. */
export function creditText(credit: Credit | Headline | null): string {
  if (credit === null) {
    return `credit ${NOT_MEASURED}`;
  }
  const said = 'verdict' in credit ? sentence(credit) : null;
  if ('verdict' in credit && credit.verdict === 'alone') {
    return `credit ${NOT_MEASURED}: ${said ?? ''}`;
  }
  const interval = bounds(credit.low, credit.high);
  return `credit ${signed(credit.value)}${interval === null ? ', interval not measured' : ` ${interval}`}, n = ${count(credit.n)}${said === null ? '' : `, ${said}`}`;
}

/**
 * What training learned from a message, in words.
 * @param credit what the message shows where it was compared with others
 */
export function learnedText({ value, low, high, n, estimator }: Credit, credit: Headline | null): string {
  const interval = bounds(low, high);
  const figured = `${signed(value)}${interval === null ? '' : ` ${interval}`}, n = ${count(n)}`;
  const beside =
    credit === null || credit.verdict === 'alone' ? 'no other message was sampled here' : creditText(credit);
  return `training credit ${figured}, by ${estimator}; ${beside}`;
}

/** A share in percent. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

/** A share in percent with one decimal. */
export function percent1(share: number): string {
  return `${hundredfold(share)} %`;
}

/** A difference of two shares in percentage points, with its sign. */
export function points(difference: number): string {
  return `${difference > 0 ? '+' : ''}${hundredfold(difference)} points`;
}

/** The interval of a share in percent, with its n. */
export function percentBounds({ low, high, n }: Interval): string {
  if (low === null || high === null) {
    return `interval not measured, n = ${count(n)}`;
  }
  return `[${hundredfold(low)}, ${hundredfold(high)}], n = ${count(n)}`;
}

function hundredfold(share: number): string {
  return (100 * share).toFixed(1).replace('-', MINUS);
}

/** Seconds as a short duration. */
export function duration(seconds: number): string {
  if (seconds < 9.95) {
    return `${seconds.toFixed(1)} s`;
  }
  const whole = Math.round(seconds);
  if (whole < 60) {
    return `${whole} s`;
  }
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** One line of a text: white space and line ends become single blanks. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
}
