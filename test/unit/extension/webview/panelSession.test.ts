/** What becomes of what a page sends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionOf } from '../../../../src/extension/webview/panelSession.ts';
import { integer, object, text } from '../../../../src/shared/guard.ts';
import { guardToHost, type Panel } from '../../../../src/shared/protocols/panel.ts';
import { PageInHand } from './pageInHand.ts';

const PANEL = {
  view: 'c3.clock',
  title: 'Clock',
  bundle: 'clock',
  icon: 'tab',
  events: { set: { hour: integer(0, 23) }, stop: {} },
  requests: { zone: { asked: object({ city: text() }), answer: text() } },
} as const satisfies Panel;
type Clock = SessionOf<typeof PANEL>;

const asking = { type: 'request', id: 7, kind: 'zone', asked: { city: 'Turin' } } as const;

test('an event goes to its handler with what it carries, and a request is answered under its number', async () => {
  const page = new PageInHand<typeof PANEL, never>();
  const done: unknown[] = [];
  const session: Clock = {
    events: { set: ({ hour }) => void done.push(hour), stop: () => Promise.resolve(void done.push('stop')) },
    answers: { zone: ({ city }) => `${city}: CET` },
  };
  await page.send(session, { type: 'set', hour: 3 });
  await page.send(session, { type: 'stop' });
  await page.send(session, asking);
  assert.ok(guardToHost(PANEL)(asking));
  assert.deepEqual(done, [3, 'stop']);
  assert.deepEqual(page.posted, [{ type: 'reply', id: 7, kind: 'zone', answer: 'Turin: CET' }]);
  assert.deepEqual(page.failures, []);
});

test('what fails at once, later or in an answer is shown in the page, or beside it', async () => {
  const page = new PageInHand<typeof PANEL, never>();
  const broken: Clock = {
    events: {
      set: () => {
        throw new Error('no hand');
      },
      stop: () => Promise.reject(new Error('no spring')),
    },
    answers: { zone: () => Promise.reject(new Error('no map')) },
  };
  const all = [{ type: 'set', hour: 3 }, { type: 'stop' }, asking] as const;
  for (const message of all) {
    await page.send(broken, message);
  }
  assert.deepEqual(page.failures, ['no hand', 'no spring', 'no map']);
  for (const message of all) {
    await page.send({ ...broken, failsBeside: true }, message);
  }
  assert.deepEqual(page.reported, page.failures);
  assert.equal(page.failures.length, 3);
  assert.deepEqual(page.posted, []);
});

test('a session without answers leaves a request alone', async () => {
  const page = new PageInHand<typeof PANEL, never>();
  await page.send({ events: { set: () => undefined, stop: () => undefined } }, asking);
  assert.deepEqual([page.posted, page.failures], [[], []]);
});
