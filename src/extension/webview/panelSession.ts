/**
 * What is behind a panel while its tab is there. A session says what it does with each event of its page and how it
 * answers each request; it knows nothing of the editor.
 */
import type { EventOf, Events, Panel } from '../../shared/protocols/panel.ts';
import {
  replyTo,
  type Answers,
  type ReplyMessage,
  type RequestMessage,
  type Requests,
} from '../../shared/protocols/requests.ts';

/** What is done with each event of a page. */
export type EventHandlers<E extends Events> = {
  readonly [Type in keyof E & string]: (event: EventOf<E, Type>) => void | Promise<void>;
};

export interface Session<E extends Events = Events, R extends Requests = Requests> {
  readonly events: EventHandlers<E>;
  readonly answers: Answers<R>;
  /** Shows what went wrong with an event or a request, where the page is not to. */
  failed?(error: unknown): void;
  /** The store may hold more; said while the page listens. */
  storeChanged?(): void;
  /** The run in progress went on; said while the page listens. */
  runWentOn?(): void;
  /** The page was thrown away; the next one says "ready". */
  hidden?(): void;
  /** The tab is closed. */
  dispose?(): void;
}

/** The session of a kind of panel. */
export type SessionOf<P extends Panel> = Session<P['events'], P['requests']>;

/** The page of a session, as the session sees it. */
export interface Page<FromHost> {
  /** Whether it is there to receive; a hidden one gets everything with its next "ready". */
  readonly isListening: boolean;
  post(message: FromHost): void;
  /** Sends what makes earlier messages of its type stale. */
  postNewest(message: FromHost): void;
  /** Shows what went wrong, and notes it in the log. */
  fail(error: unknown): void;
}

/** Hands a session what its page sent. Never rejects: what fails is shown. */
export async function receive<E extends Events, R extends Requests>(
  session: Session<E, R>,
  message: EventOf<E> | RequestMessage<R>,
  page: Pick<Page<ReplyMessage>, 'post' | 'fail'>,
): Promise<void> {
  try {
    if (isRequest(message)) {
      page.post(await replyTo(session.answers, message));
    } else {
      await handle(session.events, message);
    }
  } catch (error) {
    if (session.failed === undefined) {
      page.fail(error);
    } else {
      session.failed(error);
    }
  }
}

const isRequest = <E extends Events, R extends Requests>(
  message: EventOf<E> | RequestMessage<R>,
): message is RequestMessage<R> => message.type === 'request';

const handle = <E extends Events, Type extends keyof E & string>(
  events: EventHandlers<E>,
  event: EventOf<E, Type>,
): void | Promise<void> => events[event.type](event);
