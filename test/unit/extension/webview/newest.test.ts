import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Newest } from '../../../../src/extension/webview/newest.ts';

interface Sent {
  readonly message: { readonly type: string; readonly number: number };
  readonly arrived: PromiseWithResolvers<boolean>;
}

function channel(): {
  readonly newest: Newest<Sent['message']>;
  readonly sent: Sent[];
  readonly numbers: () => readonly number[];
} {
  const sent: Sent[] = [];
  const newest = new Newest((message: Sent['message']) => {
    const arrived = Promise.withResolvers<boolean>();
    sent.push({ message, arrived });
    return arrived.promise;
  });
  return { newest, sent, numbers: () => sent.map(({ message }) => message.number) };
}

test('while a message is on its way the newest of its type waits, and those between are dropped', async () => {
  const { newest, sent, numbers } = channel();
  for (const number of [1, 2, 3]) {
    newest.post({ type: 'replay', number });
  }
  newest.post({ type: 'changed', number: 10 });
  assert.deepEqual(numbers(), [1, 10], 'another type does not wait');
  sent[0]?.arrived.resolve(true);
  await turn();
  assert.deepEqual(numbers(), [1, 10, 3]);
  sent[2]?.arrived.reject(new Error('the panel is gone'));
  await turn();
  newest.post({ type: 'replay', number: 4 });
  assert.deepEqual(numbers(), [1, 10, 3, 4], 'what cannot arrive holds nothing up');
});

test('a page that comes back waits for nothing that its predecessor never got', async () => {
  const { newest, sent, numbers } = channel();
  newest.post({ type: 'replay', number: 1 });
  newest.post({ type: 'replay', number: 2 });
  newest.forget();
  newest.post({ type: 'replay', number: 3 });
  newest.post({ type: 'replay', number: 4 });
  assert.deepEqual(numbers(), [1, 3]);
  sent[0]?.arrived.resolve(false);
  await turn();
  assert.deepEqual(numbers(), [1, 3], 'what waited behind it was for the page before');
  sent[1]?.arrived.resolve(true);
  await turn();
  assert.deepEqual(numbers(), [1, 3, 4]);
});
