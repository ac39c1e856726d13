/** Requests of a page and the answers of its host: what is asked, what is answered, and what is dropped on the way. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdingKeys, integer, nullable, object, text } from '../../../../src/shared/guard.ts';
import {
  replyTo,
  guardRequest,
  type Answers,
  type ReplyMessage,
  type RequestMessage,
  type Requests,
} from '../../../../src/shared/protocols/requests.ts';
import { RequestSender } from '../../../../webview/common/requests.ts';

const KINDS = {
  title: { asked: object({ message: integer() }), answer: nullable(text(20)) },
  detail: {
    asked: object({ message: integer() }),
    answer: holdingKeys<{ readonly message: number; readonly title: string }>({ message: true, title: true }),
  },
} as const satisfies Requests;
const isRequest = guardRequest(KINDS);

const answers: Answers<typeof KINDS> = {
  title: ({ message }) => (message === 0 ? null : `message ${message}`),
  detail: ({ message }) => Promise.resolve({ message, title: 'a title' }),
};

/** A page, what it posted, and what came back to it. */
function page(): {
  readonly asking: RequestSender<typeof KINDS>;
  readonly posted: RequestMessage<typeof KINDS>[];
  readonly taken: unknown[];
  readonly take: (answer: unknown) => void;
} {
  const posted: RequestMessage<typeof KINDS>[] = [];
  const taken: unknown[] = [];
  const asking = new RequestSender(KINDS, (message) => posted.push(message));
  return { asking, posted, taken, take: (answer) => taken.push(answer) };
}

test('each answer goes to whoever asked, in whatever order they arrive', async () => {
  const { asking, posted, taken, take } = page();
  asking.ask('title', { message: 7 }, take);
  asking.ask('detail', { message: 8 }, take);
  asking.ask('title', { message: 0 }, take);
  assert.ok(posted.every(isRequest));
  const replies = await Promise.all(posted.map((message) => replyTo(answers, message)));
  for (const reply of replies.toReversed()) {
    asking.receive(reply);
  }
  assert.deepEqual(taken, [null, { message: 8, title: 'a title' }, 'message 7']);
});

test('an answer is taken once; one that nobody asked for, of another kind or shape is dropped', () => {
  const { asking, taken, take } = page();
  asking.ask('title', { message: 1 }, take);
  asking.ask('detail', { message: 2 }, take);
  const dropped: readonly ReplyMessage[] = [
    { type: 'reply', id: 3, kind: 'title', answer: 'of another page' },
    { type: 'reply', id: 1, kind: 'detail', answer: { message: 2, title: 'of another page' } },
    { type: 'reply', id: 2, kind: 'detail', answer: 'a title' },
    { type: 'reply', id: 2, kind: 'detail', answer: { message: 2, title: 'too late' } },
  ];
  for (const reply of dropped) {
    asking.receive(reply);
  }
  assert.deepEqual(taken, []);
  const reply = { type: 'reply', id: 1, kind: 'title', answer: 'the title' } as const;
  asking.receive(reply);
  asking.receive(reply);
  assert.deepEqual(taken, ['the title']);
});

test('a host takes requests of its table and nothing else', () => {
  const request = { type: 'request', id: 1, kind: 'title', asked: { message: 1 } };
  assert.ok(isRequest(request));
  for (const other of [
    null,
    { ...request, type: 'reply' },
    { ...request, id: '1' },
    { ...request, id: 0.5 },
    { ...request, kind: 'toString' },
    { ...request, kind: ['title'] },
    { ...request, asked: { message: -1 } },
    { ...request, asked: { message: 1, path: '/etc/passwd' } },
    { ...request, path: '/etc/passwd' },
    { type: 'request', id: 1, kind: 'title' },
  ]) {
    assert.ok(!isRequest(other), JSON.stringify(other));
  }
});

test('a request that fails gives the error to the host, and no answer', async () => {
  const failing: Answers<typeof KINDS> = {
    ...answers,
    title: () => {
      throw new Error('The store is gone.');
    },
  };
  await assert.rejects(
    replyTo(failing, { type: 'request', id: 1, kind: 'title', asked: { message: 1 } }),
    /The store is gone/u,
  );
});
