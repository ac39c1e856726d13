/** Replays of an assistant that the user was shown: what is started is what was shown, and nothing else. */
import { C3Error } from '../../shared/errors.ts';

/** Questions that wait for their answer. */
const MOST = 16;

export class ShownReplays<Request extends { readonly teamHash?: string }> {
  private readonly waiting = new Map<string, Request>();

  /**
   * Takes in what the user is shown of a call of the tool. Where the same call is asked again, with another file by
   * then, nobody knows which of the two is answered: what was shown first counts, and the other file is refused.
   * @param asked what the assistant gave the tool
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

  /** What the user agreed to. @throws C3Error('input') where the user was not shown it */
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
