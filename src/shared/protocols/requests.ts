/**
 * Requests of a page that its host answers. A panel names them in one table, each with a guard for the
 * question and one for the answer; the helpers of both sides do the rest. A request that fails is not
 * answered: the host shows the reason.
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
    /** Number of the request, counted by the page. */
    readonly id: number;
    readonly kind: Kind;
    readonly asked: AskedOf<R, Kind>;
  };
}[K];

/** An answer on its way to the page, which checks it against the kind of its request. */
export interface ReplyMessage {
  readonly type: 'reply';
  readonly id: number;
  readonly kind: string;
  readonly answer: unknown;
}

/** Returns a guard for the requests of a table: one of its kinds, with the fields of that kind. */
export function guardRequest<R extends Requests>(requests: R): Guard<RequestMessage<R>> {
  const isKind = literal(...Object.keys(requests));
  return (value): value is RequestMessage<R> =>
    isRecord(value) &&
    Object.keys(value).length === 4 &&
    value['type'] === 'request' &&
    Number.isSafeInteger(value['id']) &&
    isKind(value['kind']) &&
    requests[value['kind']]?.asked(value['asked']) === true;
}

/** Returns true if an answer has the form of its kind. */
export function isAnswer<R extends Requests, K extends KindOf<R>>(
  requests: R,
  kind: K,
  answer: unknown,
): answer is AnswerOf<R, K> {
  return requests[kind]?.answer(answer) === true;
}

/** The host's answer to each kind; null if the subject no longer exists. */
export type Answers<R extends Requests> = {
  readonly [K in KindOf<R>]: (asked: AskedOf<R, K>) => AnswerOf<R, K> | PromiseLike<AnswerOf<R, K>>;
};

/** Answers a request. @throws errors of the answer */
export async function replyTo<R extends Requests, K extends KindOf<R>>(
  answers: Answers<R>,
  { id, kind, asked }: RequestMessage<R, K>,
): Promise<ReplyMessage> {
  return { type: 'reply', id, kind, answer: await answers[kind](asked) };
}
