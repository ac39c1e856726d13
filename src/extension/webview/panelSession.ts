/**
 * The session of an open panel: its handlers for events of the page and its answers to requests. A
 * session does not depend on the editor.
 */

import type { PanelEvent, Events, Panel } from '../../shared/protocols/panel.ts';
import {
  replyTo,
  type Answers,
  type ReplyMessage,
  type RequestMessage,
  type Requests,
} from '../../shared/protocols/requests.ts';

/** The handlers for the events of a page. */
type EventHandlers<E extends Events> = {
  readonly [Type in keyof E & string]: (event: PanelEvent<E, Type>) => void | Promise<void>;
};

export interface Session<E extends Events = Events, R extends Requests = Requests> {
  readonly events: EventHandlers<E>;
  /** The answers to requests; omitted if the page has no requests. */
  readonly answers?: Answers<R>;
  /** True if failures are shown in a notification, since the page may be hidden by then. */
  readonly failsBeside?: true;
  /** Called after a change of the store, while the page is listening. */
  storeChanged?(): void;
  /** Publishes the store and the run in progress, with the minimum time between two updates. */
  readonly following?: { readonly milliseconds: number; readonly publish: () => void };
  /** Called when the tab is closed. */
  dispose?(): void;
}

/** The session of a kind of panel. */
export type SessionOf<P extends Panel> = Session<P['events'], P['requests']>;
export type EventsOf<P extends Panel> = EventHandlers<P['events']>;
export type AnswersOf<P extends Panel> = Answers<P['requests']>;

/** The interface of a page for its session. */
export interface Page<FromHost> {
  /** True if the page can receive messages. A hidden page gets everything after its next "ready". */
  readonly isListening: boolean;
  post(message: FromHost): void;
  /** Sends a message that makes earlier ones of its type obsolete. */
  postNewest(message: FromHost): void;
  /** Shows an error in the page, and logs it. */
  fail(error: unknown): void;
  /** Shows an error in a notification, and logs it. */
  report(error: unknown): void;
}

/** Passes a message of the page to its session. Never rejects: failures are shown. */
export async function receiveMessage<E extends Events, R extends Requests>(
  session: Session<E, R>,
  message: PanelEvent<E> | RequestMessage<R>,
  page: Pick<Page<ReplyMessage>, 'post' | 'fail' | 'report'>,
): Promise<void> {
  try {
    if (!isRequest(message)) {
      await handleEvent(session.events, message);
    } else if (session.answers !== undefined) {
      page.post(await replyTo(session.answers, message));
    }
  } catch (error) {
    if (session.failsBeside === true) {
      page.report(error);
    } else {
      page.fail(error);
    }
  }
}

/** Runs work for a page, and shows a failure in the page. */
export function attemptForPage(page: Pick<Page<never>, 'fail'>, work: () => void): void {
  try {
    work();
  } catch (error) {
    page.fail(error);
  }
}

const isRequest = <E extends Events, R extends Requests>(
  message: PanelEvent<E> | RequestMessage<R>,
): message is RequestMessage<R> => message.type === 'request';

const handleEvent = <E extends Events, Type extends keyof E & string>(
  events: EventHandlers<E>,
  event: PanelEvent<E, Type>,
): void | Promise<void> => events[event.type](event);
