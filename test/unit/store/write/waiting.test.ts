import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { CancelledError } from '../../../../src/shared/errors.ts';
import { describeStoreHolder, parseHolder } from '../../../../src/shared/protocols/storeHolder.ts';
import { lockHolder } from '../../../../src/store/files/lock.ts';
import { openStoreWhenFree, hasOtherWaiters, type WaitControl } from '../../../../src/store/write/waiting.ts';
import { openStoreForWriting, type StoreWriter } from '../../../../src/store/write/writer.ts';
import { temporaryFolder } from '../helpers.ts';

const WAITING = new URL('../../../../src/store/write/waiting.ts', import.meta.url).href;
const PURPOSE = { kind: 'window', what: 'replay of message 3' } as const;
const COMMAND = { kind: 'command', what: 'c3 replay' } as const;

/** Opens the store again and again, appends a run each time, and says when it is done. */
const VISITOR = `
  import { openStoreWhenFree } from ${JSON.stringify(WAITING)};
  const [path, name, times] = process.argv.slice(1);
  for (let time = 0; time < Number(times); time++) {
    const store = await openStoreWhenFree(path, { purpose: { kind: 'window', what: name } }, { signal: () => false, onWaiting: () => undefined });
    store.insertRun({ id: name + time, method: 'c3', seed: 1, title: '', config: '{}', plannedSteps: 1, createdAt: '2026' });
    store.close();
  }
`;

const linesOf = (path: string): string[] => readdirSync(dirname(path)).filter((name) => name.includes('.lock'));

function control(
  signal: AbortSignal = new AbortController().signal,
): WaitControl & { readonly said: (string | null)[]; readonly waits: Promise<undefined> } {
  const said: (string | null)[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return {
    signal,
    said,
    waits: promise,
    onWaiting: (words) => {
      said.push(words);
      resolve(undefined);
    },
  };
}

/** Waits until so many are in line. */
async function inLine(path: string, count: number): Promise<void> {
  while (linesOf(path).filter((name) => name.includes('.wait-')).length < count) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('whoever asks while another one writes waits for it, hears who that is, and then has the store', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const first = openStoreForWriting(path, { purpose: { kind: 'run', what: 'c3-1-abc' } });
  const waiting = control();
  const second = openStoreWhenFree(path, { purpose: PURPOSE }, waiting);
  await waiting.waits;
  assert.deepEqual(waiting.said, [`Waiting for run c3-1-abc (process ${process.pid}), which is writing to the store`]);
  first.describeHolder(COMMAND);
  assert.deepEqual(lockHolder(path)?.purpose, COMMAND);
  first.close();
  const store = await second;
  assert.deepEqual(lockHolder(path)?.purpose, PURPOSE);
  assert.equal(waiting.said.at(-1), null, 'the wait is over');
  store.close();
  assert.equal(lockHolder(path), null);
  assert.deepEqual(linesOf(path), []);
});

test('a wait that is cancelled ends as that and leaves no trace', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const first = openStoreForWriting(path);
  t.after(() => first.close());
  const controller = new AbortController();
  const waiting = control(controller.signal);
  const second = openStoreWhenFree(path, { purpose: PURPOSE }, waiting);
  await waiting.waits;
  controller.abort();
  await assert.rejects(second, CancelledError);
  assert.deepEqual(linesOf(path), ['c3.sqlite.lock']);
});

test('those who wait have their turns in the order in which they came; who comes again is behind', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const turns: string[] = [];
  const visit = async (name: string): Promise<StoreWriter> => {
    const store = await openStoreWhenFree(path, { purpose: PURPOSE }, control());
    turns.push(name);
    return store;
  };
  const first = await visit('a');
  const others: Promise<StoreWriter>[] = [];
  for (const name of ['b', 'c', 'd']) {
    others.push(visit(name));
    await inLine(path, others.length);
  }
  first.close();
  const again = visit('a again');
  for (const other of others) {
    (await other).close();
  }
  (await again).close();
  assert.deepEqual(turns, ['a', 'b', 'c', 'd', 'a again']);
});

test('one that waited and was killed bars nobody, and one of another machine neither', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const { pid } = spawnSync(process.execPath, ['--version']);
  const dead = `${path}.lock.wait-000000000000001-${pid}-1`;
  writeFileSync(dead, JSON.stringify({ pid, host: hostname(), startedAt: '2026', processStart: null }));
  writeFileSync(
    `${path}.lock.wait-000000000000002-1-1`,
    JSON.stringify({ pid: 1, host: 'elsewhere', startedAt: '2026', processStart: null }),
  );
  assert.equal(hasOtherWaiters(path), false);
  (await openStoreWhenFree(path, { purpose: PURPOSE }, control())).close();
  assert.ok(!existsSync(dead));
});

test('one that is in line and does not take the free store is passed over', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  // Process 1 lives and never asks.
  writeFileSync(
    `${path}.lock.wait-000000000000001-1-1`,
    JSON.stringify({ pid: 1, host: hostname(), startedAt: '2026', processStart: null }),
  );
  assert.equal(hasOtherWaiters(path), true);
  (await openStoreWhenFree(path, { purpose: PURPOSE }, control())).close();
});

test('two processes that write in turns 50 times each are never refused', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const visitors = ['x', 'y'].map((name) =>
    spawn(process.execPath, ['--input-type=module', '-e', VISITOR, path, name, '50'], {
      stdio: ['ignore', 'inherit', 'inherit'],
    }),
  );
  assert.deepEqual(
    await Promise.all(visitors.map(async (child) => ((await once(child, 'exit')) as [number])[0])),
    [0, 0],
  );
  const store = openStoreForWriting(path);
  t.after(() => store.close());
  assert.equal(store.countRuns(), 100);
});

test('what waiting does not solve is refused at once', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  writeFileSync(`${path}.lock`, 'no owner');
  await assert.rejects(openStoreWhenFree(path, { purpose: PURPOSE }, control()), /unreadable/);
  assert.deepEqual(linesOf(path), ['c3.sqlite.lock']);
});

test('a holder is named as window, run or command; a file from outside is bounded and read with care', () => {
  const words = (more: object): string =>
    describeStoreHolder(parseHolder(JSON.stringify({ pid: 7, host: 'h', ...more })) ?? assert.fail());
  assert.equal(words({ kind: 'run', what: 'c3-1-ab' }), 'run c3-1-ab (process 7)');
  assert.equal(words({ kind: 'window', what: 'label' }), 'a VS Code window, label (process 7)');
  assert.equal(words({ kind: 'command', what: 'c3 import' }), 'the command `c3 import` (process 7)');
  assert.equal(words({}), 'process 7', 'a lock of an older version');
  assert.equal(words({ kind: 'pirate', what: 'x' }), 'process 7');
  assert.ok(words({ kind: 'run', what: 'y'.repeat(5000) }).length < 200);
  assert.ok(!words({ kind: 'run', what: 'a\nb' }).includes('\n'));
  for (const content of ['', '{', 'null', '[]', '{"pid":-1,"host":"x"}', '{"pid":1.5,"host":"x"}', '{"pid":1}']) {
    assert.equal(parseHolder(content), null, content);
  }
});
