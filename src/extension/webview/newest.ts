/**
 * Sends messages that make earlier ones of their type obsolete, no faster than they arrive, so that a
 * slow page does not fall behind.
 */

export class Newest<Message extends { readonly type: string }> {
  private readonly send: (message: Message) => PromiseLike<unknown>;
  /** Types of which a message is in transit, each with the message that waits behind it, or null. */
  private underWay = new Map<string, Message | null>();

  /** @param send resolves once the message has arrived, and rejects if it cannot arrive */
  constructor(send: (message: Message) => PromiseLike<unknown>) {
    this.send = send;
  }

  /**
   * Sends a message at once, or after the message of its type in transit has arrived. A newer message
   * replaces one that waits.
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

  /** Forgets all messages in transit, after the receiver is gone. */
  forget(): void {
    this.underWay = new Map();
  }
}
