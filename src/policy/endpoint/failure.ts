/** The failures of an endpoint, and if asking again may help. */

import { LONGEST_WAIT, formatWholeSeconds } from '../../shared/longWait.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';

/**
 * again: the same request may be answered later, or elsewhere; refused: neither it nor similar ones
 * will ever be answered; withheld: the server processed this request but gives no answer.
 */
export type FailureKind = 'again' | 'refused' | 'withheld';

export class EndpointFailure extends Error {
  readonly kind: FailureKind;
  /** Milliseconds that the server asks to wait, or null. */
  readonly retryAfter: number | null;
  /** True if the server may nevertheless have computed and charged an answer. */
  readonly charged: boolean;
  /** True if the address itself cannot be reached. */
  readonly dead: boolean;
  /** True if nothing listens there, or no server has its name. Asking again soon does not help. */
  readonly absent: boolean;
  /** The status of a complete reply, or null. */
  readonly status: number | null;

  constructor(
    kind: FailureKind,
    message: string,
    {
      retryAfter = null,
      charged = false,
      dead = false,
      absent = false,
      status = null,
    }: {
      readonly retryAfter?: number | null;
      readonly charged?: boolean;
      readonly dead?: boolean;
      readonly absent?: boolean;
      readonly status?: number | null;
    } = {},
  ) {
    super(message);
    this.name = 'EndpointFailure';
    this.kind = kind;
    this.retryAfter = retryAfter;
    this.charged = charged;
    this.dead = dead;
    this.absent = absent;
    this.status = status;
  }
}

/** The error for a request that was not answered after all attempts, or that has no answer. */
export class Unanswered extends Error {
  /** True if the server withholds the answer, however often it is asked. */
  readonly withheld: boolean;

  constructor(message: string, withheld: boolean) {
    super(message);
    this.name = 'Unanswered';
    this.withheld = withheld;
  }
}

/**
 * Returns the message for a wait beyond the limit, with the setting that allows it.
 * @param wait milliseconds
 * @param most milliseconds
 */
export const describeLongWait = (wait: number, most: number): string =>
  `the server asks to wait ${formatWholeSeconds(wait)} s, and at most ${formatWholeSeconds(most)} s are allowed unless the user agrees to more (set ${LONGEST_WAIT}=${Math.ceil(wait / 1000)} to allow it)`;

/** Returns a server's own words on one line of limited length, with the key masked. */
export const quoteServer = (text: string, key: string | null): string =>
  toOneLine(key === null ? text : text.replaceAll(key, '***'), 300);

/** Statuses that deserve another attempt: too early, too many, too slow, or the server's own fault. */
const AGAIN: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/**
 * Returns the failure for an HTTP status other than success.
 * @param words of the server
 */
export function toStatusFailure(status: number, words: string, retryAfter: number | null): EndpointFailure {
  const said = words === '' ? '' : `: ${words}`;
  const options = { retryAfter, status };
  if (AGAIN.has(status) || status >= 500) {
    const what = status === 429 ? 'has too many requests (429)' : `failed with ${status}`;
    return new EndpointFailure('again', `${what}${said}`, options);
  }
  const what =
    status === 401 || status === 403
      ? `refuses the key (${status})`
      : status === 404
        ? 'has no such model or address (404)'
        : status >= 300 && status < 400
          ? `sends requests to another address (${status}), which gets no key; name that address`
          : `refuses the request (${status})`;
  return new EndpointFailure('refused', `${what}${said}`, options);
}

/** An upper limit for all waits. */
const MOST_SECONDS = 1e9;

/** Returns the milliseconds of a Retry-After header, or null if it is invalid. */
export function parseRetryAfter(header: string | null, now: number): number | null {
  if (header === null) {
    return null;
  }
  if (/^\d+(?:\.\d+)?$/u.test(header.trim())) {
    return Math.round(1000 * Math.min(MOST_SECONDS, Number(header)));
  }
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
