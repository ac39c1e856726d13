/** The page of a session, in the hand of a test. */

import { receiveMessage, type Page, type SessionOf } from '../../../../src/extension/webview/panelSession.ts';
import { toErrorMessage } from '../../../../src/shared/errors.ts';
import type { Panel, ToHost } from '../../../../src/shared/protocols/panel.ts';
import type { ReplyMessage } from '../../../../src/shared/protocols/requests.ts';

export class PageInHand<P extends Panel, FromHost extends { readonly type: string }> implements Page<FromHost> {
  readonly posted: (FromHost | ReplyMessage)[] = [];
  /** What went wrong, as the page would show it. */
  readonly failures: string[] = [];
  readonly reported: string[] = [];
  isListening = true;

  post(message: FromHost | ReplyMessage): void {
    this.posted.push(message);
  }

  postNewest(message: FromHost): void {
    this.post(message);
  }

  fail(error: unknown): void {
    this.failures.push(toErrorMessage(error));
  }

  report(error: unknown): void {
    this.reported.push(toErrorMessage(error));
  }

  /** Sends as the page; done once the session is done with it. */
  send(session: SessionOf<P>, message: ToHost<P>): Promise<void> {
    return receiveMessage(session, message, this);
  }

  /** The newest of a type. */
  last<Type extends FromHost['type'] | 'reply'>(type: Type): Extract<FromHost | ReplyMessage, { type: Type }> {
    const found = this.posted.findLast((message) => message.type === type);
    if (found === undefined) {
      throw new Error(`No "${type}" was posted.`);
    }
    return found as Extract<FromHost | ReplyMessage, { type: Type }>;
  }
}
