/** Remembers the requests that the user was shown, so that an assistant can start only these. */

import { C3Error } from '../../shared/errors.ts';

/** Maximum number of requests that wait for an answer. */
const MOST = 16;

export class ShownReplays<Request extends { readonly teamHash?: string }> {
  private readonly waiting = new Map<string, Request>();

  /**
   * Adds a request that the user is shown. If the same call is shown twice, the first request counts: it
   * is unknown which of them the user answers, and a team file that changed in between is refused.
   * @param asked the input of the tool
   */
  add(asked: object, request: Request): void {
    const key = JSON.stringify(asked);
    if (this.waiting.has(key)) {
      return;
    }
    this.waiting.set(key, request);
    const [oldest] = this.waiting.keys();
    if (this.waiting.size > MOST && oldest !== undefined) {
      this.waiting.delete(oldest);
    }
  }

  /** Removes and returns the request of a call. @throws C3Error('input') if the user was not shown it */
  take(asked: object): Request {
    const key = JSON.stringify(asked);
    const request = this.waiting.get(key);
    this.waiting.delete(key);
    if (request === undefined) {
      throw new C3Error('input', 'The user was not asked about this replay; nothing was replayed. Ask again.');
    }
    return request;
  }
}
