import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import {
  addRun,
  filledStore,
  inputErrorLike,
  INSTANCE,
  newBucket,
  newCredit,
  newMessage,
  newEpisode,
  OTHER_INSTANCE,
  RUN,
} from '../helpers.ts';

const GROUP = { run: RUN, phase: 'train', iteration: 1, problem: INSTANCE.uidSha } as const;

test('an outline is the whole tree depth first, siblings by their index, as its windows show it', (t) => {
  const store = filledStore(t);
  const root = store.insertMessage(newMessage());
  const late = store.insertMessage(newMessage({ parent: root, siblingIndex: 1 }));
  const early = store.insertMessage(newMessage({ parent: root, siblingIndex: 0 }));
  const below = store.insertMessage(newMessage({ parent: early }));
  store.insertMessage(newMessage({ problem: OTHER_INSTANCE.uidSha }));
  const branch = store.insertMessage(newMessage({ phase: 'replay', parent: early }));
  const { messages } = store.outline(GROUP);
  assert.deepEqual(messages, [
    { id: root, parent: null },
    { id: early, parent: root },
    { id: below, parent: early },
    { id: late, parent: root },
  ]);
  assert.deepEqual(
    store.transcript({ ...GROUP, offset: 0, limit: 9 }).messages.map(({ id, parent }) => ({ id, parent })),
    messages,
  );
  assert.deepEqual(store.outline({ ...GROUP, phase: 'replay' }).messages, [{ id: branch, parent: early }]);
  assert.deepEqual(store.outline({ ...GROUP, iteration: 9 }).messages, []);
});

test("an outline's version changes with every message, return and credit of its group, and with nothing else", (t) => {
  const store = filledStore(t);
  const reader = openStoreForReading(store.path);
  t.after(() => reader.close());
  const bucket = store.insertBucket(newBucket());
  const elsewhere = store.insertBucket(newBucket());
  const seen = new Set<string>();
  const isNew = (): boolean => {
    const { version } = reader.outline(GROUP);
    assert.equal(reader.outline(GROUP).version, version);
    const fresh = !seen.has(version);
    seen.add(version);
    return fresh;
  };
  assert.ok(isNew());
  const id = store.insertMessage(newMessage({ bucket }));
  assert.ok(isNew(), 'a message');
  store.insertEpisode(newEpisode(id, 1));
  assert.ok(isNew(), 'a return');
  store.insertCredit(bucket, id, newCredit(0.5));
  assert.ok(isNew(), 'a credit');
  setHeadline(store.path, id, headline(0.5));
  assert.ok(isNew(), 'a headline');
  const other = store.insertMessage(newMessage({ iteration: 2, bucket: elsewhere }));
  store.insertEpisode(newEpisode(other, 1, { iteration: 2 }));
  store.insertCredit(elsewhere, other, newCredit(0.25));
  assert.ok(!isNew(), 'what belongs to another group');
});

test("the store's version changes with what is appended here or by another connection, and not by reading", (t) => {
  const store = filledStore(t);
  const reader = openStoreForReading(store.path);
  t.after(() => reader.close());
  const versions = (): string[] => [store.version(), reader.version()];
  const before = versions();
  store.counts();
  reader.counts();
  assert.deepEqual(versions(), before);
  store.insertMessage(newMessage());
  const after = versions();
  assert.notEqual(after[0], before[0]);
  assert.notEqual(after[1], before[1]);
  assert.deepEqual(versions(), after);
});

test('many messages come in the order that was asked for, each as it comes alone', (t) => {
  const store = filledStore(t);
  const bucket = store.insertBucket(newBucket());
  const ids = [0, 1, 2, 3].map((siblingIndex) =>
    store.insertMessage(
      newMessage({ bucket, siblingIndex, text: `plan ${siblingIndex}`, iteration: 1 + (siblingIndex % 2) }),
    ),
  );
  const [first = 0, second = 0, third = 0] = ids;
  store.insertEpisode(newEpisode(second, 0.5, { iteration: 2 }));
  store.insertCredit(bucket, third, newCredit(-0.25, { low: null, high: null, interval: 'none' }));
  setHeadline(store.path, third, headline(0.125));
  const asked = [third, first, third, second];
  assert.deepEqual(
    store.messages(asked),
    asked.map((id) => store.message(id)),
  );
  assert.deepEqual(
    store.messages(asked).map((message) => [message.text, message.return, message.credit]),
    [
      ['plan 2', null, headline(0.125)],
      ['plan 0', null, null],
      ['plan 2', null, headline(0.125)],
      ['plan 1', 0.5, null],
    ],
  );
  assert.deepEqual(store.messages([]), []);
  assert.throws(() => store.messages([first, 99]), inputErrorLike(/no message 99/));
});

test('buckets of one context come oldest first, by run, role and key; requests by run and problem', (t) => {
  const store = filledStore(t);
  addRun(store, 'run-2', '2026-02-01');
  const given = [
    newBucket(),
    newBucket({ origin: 'request', message: null }),
    newBucket({ role: 'actor' }),
    newBucket({ run: 'run-2', origin: 'request' }),
    newBucket({ contextKey: '1' }),
    newBucket({ origin: 'request', problem: OTHER_INSTANCE.uidSha }),
    newBucket({ origin: 'request', iteration: 2 }),
  ].map((bucket) => ({ ...bucket, id: store.insertBucket(bucket) }));
  const { contextKey } = newBucket();
  const at = (...places: readonly number[]): unknown[] => places.map((place) => given[place]);
  const page = { contextKey, offset: 0, limit: 9 };
  assert.deepEqual(store.bucketsOfContext({ ...page, run: RUN, role: 'reasoner' }), at(0, 1, 5, 6));
  assert.deepEqual(store.bucketsOfContext({ ...page, run: RUN, role: 'reasoner', offset: 1, limit: 2 }), at(1, 5));
  assert.deepEqual(store.bucketsOfContext({ ...page, run: RUN, role: 'actor' }), at(2));
  assert.deepEqual(store.bucketsOfContext({ ...page, run: 'none', role: 'actor' }), []);
  assert.deepEqual(store.requestsOf(RUN, INSTANCE.uidSha), at(1, 6));
  assert.deepEqual(store.requestsOf(RUN, OTHER_INSTANCE.uidSha), at(5));
  assert.deepEqual(store.requestsOf('run-2', INSTANCE.uidSha), at(3));
});
