/**
 * Sending what makes earlier messages of its type stale, no faster than it arrives: a page that is slow is never far
 * behind.
 */

export class Newest<Message extends { readonly type: string }> {
  private readonly send: (message: Message) => PromiseLike<unknown>;
  /** The types of which a message is on its way, each with the one that waits behind it. */
  private underWay = new Map<string, Message | null>();

  /** @param send ends once the message has arrived, or cannot */
  constructor(send: (message: Message) => PromiseLike<unknown>) {
    this.send = send;
  }

  /**
   * Sends a message at once, or once the one of its type that is on its way has arrived; a newer one takes its place
   * until then.
   */
  post(message: Message): void {
    const { type } = message;
    const { underWay } = this;
    if (underWay.has(type)) {
      underWay.set(type, message);
      return;
    }
    underWay.set(type, null);
    const arrived = (): void => {
      const next = underWay.get(type) ?? null;
      underWay.delete(type);
      if (next !== null && underWay === this.underWay) {
        this.post(next);
      }
    };
    this.send(message).then(arrived, arrived);
  }

  /** Whoever listened is gone: nothing is on its way any more. */
  forget(): void {
    this.underWay = new Map();
  }
}
