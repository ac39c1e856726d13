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
type EventHandlers<E extends Events> = {
  readonly [Type in keyof E & string]: (event: EventOf<E, Type>) => void | Promise<void>;
};

export interface Session<E extends Events = Events, R extends Requests = Requests> {
  readonly events: EventHandlers<E>;
  /** Left out where the page asks nothing. */
  readonly answers?: Answers<R>;
  /** Whether what fails is shown beside the page, which may be hidden by then. */
  readonly failsBeside?: true;
  /** The store may hold more; said while the page listens. */
  storeChanged?(): void;
  /** What shows the store and the run in progress, and how often at most. */
  readonly following?: { readonly milliseconds: number; readonly publish: () => void };
  /** The tab is closed. */
  dispose?(): void;
}

/** The session of a kind of panel, and its tables. */
export type SessionOf<P extends Panel> = Session<P['events'], P['requests']>;
export type EventsOf<P extends Panel> = EventHandlers<P['events']>;
export type AnswersOf<P extends Panel> = Answers<P['requests']>;

/** The page of a session, as the session sees it. */
export interface Page<FromHost> {
  /** Whether it is there to receive; a hidden one gets everything with its next "ready". */
  readonly isListening: boolean;
  post(message: FromHost): void;
  /** Sends what makes earlier messages of its type stale. */
  postNewest(message: FromHost): void;
  /** Shows in the page what went wrong, and notes it in the log. */
  fail(error: unknown): void;
  /** Shows it in a notification instead. */
  report(error: unknown): void;
}

/** Hands a session what its page sent. Never rejects: what fails is shown. */
export async function receive<E extends Events, R extends Requests>(
  session: Session<E, R>,
  message: EventOf<E> | RequestMessage<R>,
  page: Pick<Page<ReplyMessage>, 'post' | 'fail' | 'report'>,
): Promise<void> {
  try {
    if (!isRequest(message)) {
      await handle(session.events, message);
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

/** Does something for a page, which shows what fails of it. */
export function attempt(page: Pick<Page<never>, 'fail'>, work: () => void): void {
  try {
    work();
  } catch (error) {
    page.fail(error);
  }
}

const isRequest = <E extends Events, R extends Requests>(
  message: EventOf<E> | RequestMessage<R>,
): message is RequestMessage<R> => message.type === 'request';

const handle = <E extends Events, Type extends keyof E & string>(
  events: EventHandlers<E>,
  event: EventOf<E, Type>,
): void | Promise<void> => events[event.type](event);
