/** Why an endpoint gave no answer, and whether asking again may help. */
import { LONGEST_WAIT, secondsWords } from '../../shared/longWait.ts';
import { oneLine } from '../../shared/text/oneLine.ts';

/**
 * again: the same request may be answered later, or elsewhere; refused: it never will be, and neither will others like
 * it; withheld: this one was looked at and has no answer.
 */
export type FailureKind = 'again' | 'refused' | 'withheld';

export class EndpointFailure extends Error {
  readonly kind: FailureKind;
  /** Milliseconds that the server asks to wait; null where it says nothing. */
  readonly retryAfter: number | null;
  /** Whether the server may have computed, and charged, an answer all the same. */
  readonly charged: boolean;
  /** Whether the address itself cannot be reached. */
  readonly dead: boolean;
  /** Whether nothing listens there, or no server has its name: asking again soon does not help. */
  readonly absent: boolean;
  /** The status of a whole reply; null where there was none. */
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

/** A request that was not answered though it was asked again and again, or that has no answer. */
export class Unanswered extends Error {
  /** Whether the server has no answer to give, however often it is asked. */
  readonly withheld: boolean;

  constructor(message: string, withheld: boolean) {
    super(message);
    this.name = 'Unanswered';
    this.withheld = withheld;
  }
}

/** That a server asks for a longer wait than is waited, and what allows it. @param wait and @param most milliseconds */
export const waitWords = (wait: number, most: number): string =>
  `the server asks to wait ${secondsWords(wait)} s, and at most ${secondsWords(most)} s are waited where nobody agrees to more (set ${LONGEST_WAIT}=${Math.ceil(wait / 1000)} to allow it)`;

/** A server's own words, bounded and on one line, with the key that it may have repeated taken out. */
export const serverWords = (text: string, key: string | null): string =>
  oneLine(key === null ? text : text.replaceAll(key, '***'), 300);

/** Statuses that deserve another attempt: too early, too many, too slow, or the server's own fault. */
const AGAIN: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** What an HTTP status other than success means. @param words what the server says of it */
export function statusFailure(status: number, words: string, retryAfter: number | null): EndpointFailure {
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

/** More than any wait. */
const MOST_SECONDS = 1e9;

/** Milliseconds of a Retry-After header, in seconds or as a date; null where it says neither. */
export function retryAfterOf(header: string | null, now: number): number | null {
  if (header === null) {
    return null;
  }
  if (/^\d+(?:\.\d+)?$/u.test(header.trim())) {
    return Math.round(1000 * Math.min(MOST_SECONDS, Number(header)));
  }
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
