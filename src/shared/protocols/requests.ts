/**
 * Requests of a page that its host answers. A panel names them in one table, each with a guard for what is asked and
 * one for the answer; the helpers of both sides do the rest. A request that fails is not answered: the host shows why.
 */
import { isRecord, literal, type Guard, type Guarded } from '../guard.ts';

export interface RequestKind<Asked = unknown, Answer = unknown> {
  readonly asked: Guard<Asked>;
  readonly answer: Guard<Answer>;
}

export type Requests = Readonly<Record<string, RequestKind>>;
export type KindOf<R extends Requests> = keyof R & string;
export type AskedOf<R extends Requests, K extends KindOf<R>> = Guarded<R[K]['asked']>;
export type AnswerOf<R extends Requests, K extends KindOf<R>> = Guarded<R[K]['answer']>;

/** A request on its way to the host. */
export type RequestMessage<R extends Requests, K extends KindOf<R> = KindOf<R>> = {
  readonly [Kind in K]: {
    readonly type: 'request';
    /** Counted by the page. */
    readonly id: number;
    readonly kind: Kind;
    readonly asked: AskedOf<R, Kind>;
  };
}[K];

/** An answer on its way to the page; the page checks what it holds against the kind that it asked for. */
export interface ReplyMessage {
  readonly type: 'reply';
  readonly id: number;
  readonly kind: string;
  readonly answer: unknown;
}

/** What passes for a request of the table: one of its kinds, with what that kind asks. */
export function requestOf<R extends Requests>(requests: R): Guard<RequestMessage<R>> {
  const isKind = literal(...Object.keys(requests));
  return (value): value is RequestMessage<R> =>
    isRecord(value) &&
    Object.keys(value).length === 4 &&
    value['type'] === 'request' &&
    Number.isSafeInteger(value['id']) &&
    isKind(value['kind']) &&
    requests[value['kind']]?.asked(value['asked']) === true;
}

/** Whether an answer is one of its kind. */
export function isAnswer<R extends Requests, K extends KindOf<R>>(
  requests: R,
  kind: K,
  answer: unknown,
): answer is AnswerOf<R, K> {
  return requests[kind]?.answer(answer) === true;
}

/** How a host answers each kind; null where what is asked about is no longer there. */
export type Answers<R extends Requests> = {
  readonly [K in KindOf<R>]: (asked: AskedOf<R, K>) => AnswerOf<R, K> | PromiseLike<AnswerOf<R, K>>;
};

/**
 * Answers a request.
 * @throws what the answer throws
 */
export async function replyTo<R extends Requests, K extends KindOf<R>>(
  answers: Answers<R>,
  { id, kind, asked }: RequestMessage<R, K>,
): Promise<ReplyMessage> {
  return { type: 'reply', id, kind, answer: await answers[kind](asked) };
}
