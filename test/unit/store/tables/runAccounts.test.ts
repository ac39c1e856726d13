import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Credit } from '../../../../src/shared/credit/credit.ts';
import { migrateStore } from '../../../../src/store/tables/migrations.ts';
import { VERSION_1 } from '../../../../src/store/tables/schema.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import {
  addRun,
  filledStore,
  newBucket,
  newMessage,
  newEpisode,
  rawConnection,
  RUN,
  storeErrorLike,
  temporaryFolder,
} from '../helpers.ts';

const ACCOUNT = { pendingCalls: 24, lostCalls: 3, seconds: 1.5, trainingSeconds: 0.5, samplingSeconds: 0.25 };
const credit = (estimator: string, value: number): Credit => ({
  estimator,
  value,
  low: null,
  high: null,
  n: 2,
  evaluatorCalls: 2,
  interval: 'none',
});

test('a run has one account, which is rewritten, with what else is in the transaction or not at all', (t) => {
  const store = filledStore(t);
  assert.equal(store.account(RUN), null);
  store.writeAccount(RUN, ACCOUNT);
  addRun(store, 'run-2', '2026');
  store.writeAccount('run-2', { ...ACCOUNT, lostCalls: 9 });
  assert.throws(
    () =>
      store.transaction(() => {
        store.writeAccount(RUN, { ...ACCOUNT, pendingCalls: 0 });
        throw new Error('undone');
      }),
    /undone/,
  );
  assert.deepEqual([store.account(RUN), store.account('run-2')?.lostCalls], [ACCOUNT, 9]);
  store.writeAccount(RUN, { ...ACCOUNT, pendingCalls: 0, seconds: 2 });
  assert.deepEqual(store.account(RUN), { ...ACCOUNT, pendingCalls: 0, seconds: 2 });
  assert.throws(() => store.writeAccount('no run', ACCOUNT), storeErrorLike(/refers to one that it does not hold/));
});

test('a store of version 1 keeps its rows and gets accounts', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const old = rawConnection(t, path);
  migrateStore(old, path, [VERSION_1]);
  old.exec("INSERT INTO run VALUES ('old', 'c3', 1, 'Old', '{}', 3, 'failed', '2026', '2026', NULL)");
  old.close();
  const store = openStoreForWriting(path);
  t.after(() => store.close());
  assert.deepEqual([store.run('old').title, store.account('old')], ['Old', null]);
  store.writeAccount('old', ACCOUNT);
  assert.deepEqual(store.account('old'), ACCOUNT);
});

test('the messages of an iteration come as they were appended, with the first credit of the estimator', (t) => {
  const store = filledStore(t);
  const buckets = [store.insertBucket(newBucket()), store.insertBucket(newBucket({ turn: 1 }))];
  const [first = 0, second = 0] = buckets;
  const insert = (bucket: number, text: string, changes = {}): number =>
    store.insertMessage(
      newMessage({
        bucket,
        text,
        tokens: Int32Array.from(text, (letter) => letter.charCodeAt(0)),
        logprobs: Float32Array.from(text, () => -0.1),
        ...changes,
      }),
    );
  const one = insert(first, 'c');
  insert(second, 'ab', { parent: one, role: 'actor', position: 1, context: 'other', contextKey: '5', promptTokens: 7 });
  // A row of the first bucket after one of the second: the order is that of buckets.
  insert(first, 'de', { siblingIndex: 1 });
  insert(first, 'next', { iteration: 2 });
  store.insertMessage(newMessage({ phase: 'evaluate' }));
  store.insertCredit(first, one, credit('full', 9));
  store.insertCredit(first, one, credit('loo', 0.1));
  store.insertCredit(first, one, credit('loo', 0.7));
  const found = store
    .trainingMessages(RUN, 1, 'loo')
    .map(({ tokens, logprobs, message, ...row }) => ({
      ...row,
      stored: store.fullMessage(message).text,
      said: String.fromCharCode(...tokens),
      logprobs: [...logprobs],
    }));
  const single = Math.fround(-0.1);
  const { problem, turn, snapshot, finish } = newMessage();
  assert.deepEqual(found, [
    {
      bucket: first,
      parent: null,
      ...{ problem, turn, snapshot, finish },
      role: 'reasoner',
      position: 0,
      context: 'Question: 12 + 7',
      promptTokens: 16,
      credit: 0.1,
      said: 'c',
      stored: 'c',
      logprobs: [single],
    },
    {
      bucket: first,
      parent: null,
      ...{ problem, turn, snapshot, finish },
      role: 'reasoner',
      position: 0,
      context: 'Question: 12 + 7',
      promptTokens: 16,
      credit: null,
      said: 'de',
      stored: 'de',
      logprobs: [single, single],
    },
    {
      bucket: second,
      parent: one,
      ...{ problem, turn, snapshot, finish },
      role: 'actor',
      position: 1,
      context: 'other',
      promptTokens: 7,
      credit: null,
      said: 'ab',
      stored: 'ab',
      logprobs: [single, single],
    },
  ]);
  assert.equal(store.trainingMessages(RUN, 1, 'full')[0]?.credit, 9);
  assert.deepEqual(store.trainingMessages('none', 1, 'loo'), []);
});

test("a run's cost is that of its own messages by position, replay requests left out", (t) => {
  const store = filledStore(t);
  addRun(store, 'run-2', '2026');
  const environment = store.environmentId({ runtime: 'r', provider: 'p', device: 'd', threads: 1, platform: 'x' });
  const root = store.insertMessage(newMessage({ phase: 'evaluate' }));
  store.insertEpisode(newEpisode(store.insertMessage(newMessage({ role: 'actor', position: 1, parent: root })), 1));
  store.insertMessage(
    newMessage({
      siblingIndex: 1,
      promptTokens: 4,
      reusedTokens: 1,
      tokens: Int32Array.of(1),
      logprobs: Float32Array.of(-1),
    }),
  );
  store.insertMessage(newMessage({ environment }));
  store.insertMessage(newMessage({ phase: 'replay' }));
  store.insertMessage(newMessage({ run: 'run-2' }));
  const cost = (
    role: string,
    position: number,
    of: number,
    messages: number,
    promptTokens: number,
    reusedTokens: number,
    completionTokens: number,
  ): unknown => ({
    role,
    position,
    environment: of,
    messages,
    promptTokens,
    reusedTokens,
    completionTokens,
    reusedCompletionTokens: 0,
  });
  assert.deepEqual(store.costs(RUN), [
    cost('reasoner', 0, 1, 2, 20, 9, 5),
    cost('actor', 1, 1, 1, 16, 8, 4),
    cost('reasoner', 0, environment, 1, 16, 8, 4),
  ]);
  assert.deepEqual(store.costs('none'), []);
});
