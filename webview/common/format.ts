/** Formats numbers in the same way in every panel. A missing value is shown as "not measured". */

import type { Interval } from '../../src/domain/credit.ts';
import type { Credit } from '../../src/shared/credit/credit.ts';
import { describeHeadline, type Headline } from '../../src/shared/credit/headline.ts';
import * as figures from '../../src/shared/text/figures.ts';

export const NOT_MEASURED = 'not measured';

const MINUS = '\u2212';
const counts = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Formats a whole number with thousands separators. */
export function count(value: number): string {
  return counts.format(value);
}

/** Formats a number with its noun: `1 message`, `2 messages`. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${number === 1 ? noun : `${noun}s`}`;
}

/** Formats a decimal number with a true minus sign. Tiny values are in scientific notation. */
export function decimal(value: number, digits = 2): string {
  return figures.formatDecimal(value, digits);
}

/** Formats a credit with its sign, so that its direction does not depend on color. */
export function signed(value: number): string {
  return figures.formatSigned(value, 2);
}

/** Formats a return of any scale. */
export function formatReturnValue(value: number | null): string {
  if (value === null) {
    return NOT_MEASURED;
  }
  return Number.isInteger(value) ? String(value).replace('-', MINUS) : decimal(value);
}

/** Formats an interval as `[low, high]`. Returns null if a bound is missing. */
export function bounds(low: number | null, high: number | null): string | null {
  if (low === null || high === null) {
    return null;
  }
  return `[${decimal(low)}, ${decimal(high)}]`;
}

/** Describes a credit in words: its value, interval, n and, for a headline, its sentence. */
export function describeShownCredit(credit: Credit | Headline | null): string {
  if (credit === null) {
    return `credit ${NOT_MEASURED}`;
  }
  const said = 'verdict' in credit ? describeHeadline(credit) : null;
  if ('verdict' in credit && credit.verdict === 'alone') {
    return `credit ${NOT_MEASURED}: ${said ?? ''}`;
  }
  const interval = bounds(credit.low, credit.high);
  return `credit ${signed(credit.value)}${interval === null ? ', interval not measured' : ` ${interval}`}, n = ${count(credit.n)}${said === null ? '' : `, ${said}`}`;
}

/**
 * Describes the credit that training gave to a message.
 * @param credit the credit of the comparison with other messages, or null if there was none
 */
export function describeLearnedCredit({ value, low, high, n, estimator }: Credit, credit: Headline | null): string {
  const interval = bounds(low, high);
  const figured = `${signed(value)}${interval === null ? '' : ` ${interval}`}, n = ${count(n)}`;
  const beside =
    credit === null || credit.verdict === 'alone' ? 'no other message was sampled here' : describeShownCredit(credit);
  return `training credit ${figured}, by ${estimator}; ${beside}`;
}

/** Keeps each number of a sentence on one line with its unit: `78 %`, `30 s`. */
export const keepUnits = (sentence: string): string =>
  sentence.replaceAll(/(\d) (?=(?:%|s|min|h)(?![\p{L}\p{N}]))/gu, '$1\u00a0');

/** Formats a share as a percentage: with one decimal below 10 %, else as a whole number. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

/** Formats a share as a percentage with one decimal. */
export function formatPercent1(share: number): string {
  return `${toPercentDigits(share)} %`;
}

/** Formats a difference of two shares in percentage points, with its sign. */
export function points(difference: number): string {
  return `${difference > 0 ? '+' : ''}${toPercentDigits(difference)} points`;
}

/** Formats the interval of a share in percent, with its n. */
export function formatPercentBounds({ low, high, n }: Interval): string {
  if (low === null || high === null) {
    return `interval not measured, n = ${count(n)}`;
  }
  return `[${toPercentDigits(low)}, ${toPercentDigits(high)}], n = ${count(n)}`;
}

function toPercentDigits(share: number): string {
  return (100 * share).toFixed(1).replace('-', MINUS);
}

/** Formats seconds as a short duration. */
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

/** Puts a text on one line: each run of white space becomes one space. */
export function toSingleLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
}
