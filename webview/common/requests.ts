/** Sends a page's requests to the host and passes each valid answer to the function that waits for it. */

import {
  isAnswer,
  type AnswerOf,
  type AskedOf,
  type KindOf,
  type ReplyMessage,
  type RequestMessage,
  type Requests,
} from '../../src/shared/protocols/requests.ts';

export class RequestSender<R extends Requests> {
  private readonly kinds: R;
  private readonly post: (message: RequestMessage<R>) => void;
  private readonly pending = new Map<number, { readonly kind: string; take(answer: unknown): void }>();
  private count = 0;

  constructor(kinds: R, post: (message: RequestMessage<R>) => void) {
    this.kinds = kinds;
    this.post = post;
  }

  /** @param take receives the answer; it is never called if the request fails */
  ask<K extends KindOf<R>>(kind: K, asked: AskedOf<R, K>, take: (answer: AnswerOf<R, K>) => void): void {
    const id = ++this.count;
    this.pending.set(id, {
      kind,
      take: (answer) => {
        if (isAnswer(this.kinds, kind, answer)) {
          take(answer);
        }
      },
    });
    this.post({ type: 'request', id, kind, asked });
  }

  /** Takes an answer. Drops it if no request of its kind waits for it. */
  receive({ id, kind, answer }: ReplyMessage): void {
    const asked = this.pending.get(id);
    if (asked?.kind === kind) {
      this.pending.delete(id);
      asked.take(answer);
    }
  }
}
