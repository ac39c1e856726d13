import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { addRun, storeErrorLike, temporaryFolder } from '../helpers.ts';

const WRITER = new URL('../../../../src/store/write/writer.ts', import.meta.url).href;

/** Opens the store, appends a run named after its pid, says so on a line, and holds it until its input ends. */
const HOLDER = `
  import { openStoreForWriting } from ${JSON.stringify(WRITER)};
  try {
    const store = openStoreForWriting(process.argv[1]);
    store.insertRun({ id: 'by ' + process.pid, method: 'c3', seed: 1, title: '', config: '{}', plannedSteps: 1, createdAt: '2026' });
    console.log('holds');
  } catch (error) {
    console.log(error.name + ' ' + error.message);
  }
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
`;

/** The lock of a store and whatever belongs to it. */
const lockFiles = (path: string): string[] => readdirSync(dirname(path)).filter((name) => name.includes('.lock'));
const claimOn = (path: string, content: string): string =>
  `${path}.lock.takeover-${hash('sha256', content).slice(0, 16)}`;

interface Holder {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly says: string;
}

async function startHolder(t: TestContext, path: string): Promise<Holder> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [says] = (await once(createInterface(child.stdout), 'line')) as [string];
  assert.ok(child.pid !== undefined);
  return { child, pid: child.pid, says };
}

test('a second writer is refused with the pid of the first, who may read on; closing gives the lock back', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const store = openStoreForWriting(path);
  const owner: unknown = JSON.parse(readFileSync(`${path}.lock`, 'utf8'));
  assert.ok(typeof owner === 'object' && owner !== null && 'pid' in owner && 'host' in owner);
  assert.deepEqual([owner.pid, owner.host], [process.pid, hostname()]);
  assert.throws(
    () => openStoreForWriting(path),
    storeErrorLike(new RegExp(`process ${process.pid}\\b`), /reading works/),
  );
  openStoreForReading(path).close();
  store.close();
  store.close();
  assert.equal(existsSync(`${path}.lock`), false);
  openStoreForWriting(path).close();
});

test('a live process keeps its lock; a killed one loses it, and what it had stored stays', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const { child, pid, says } = await startHolder(t, path);
  assert.equal(says, 'holds');
  assert.throws(() => openStoreForWriting(path), storeErrorLike(new RegExp(`process ${pid}\\b`)));
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  assert.ok(existsSync(`${path}.lock`));
  const store = openStoreForWriting(path);
  t.after(() => store.close());
  assert.equal(store.run(`by ${pid}`).status, 'running');
  assert.match(readFileSync(`${path}.lock`, 'utf8'), new RegExp(`"pid":${process.pid}\\b`));
  assert.deepEqual(lockFiles(path), ['c3.sqlite.lock']);
});

test('of several processes that find an abandoned lock exactly one takes it over', async (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const first = await startHolder(t, path);
  const ended = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await ended;
  const holders = await Promise.all([1, 2, 3, 4].map(() => startHolder(t, path)));
  const winners = holders.filter((holder) => holder.says === 'holds');
  assert.equal(winners.length, 1, holders.map((holder) => holder.says).join('\n'));
  for (const loser of holders.filter((holder) => holder.says !== 'holds')) {
    assert.match(loser.says, /^StoreHeldError .*(process \d+|taking over)/);
  }
});

test('a pid that was given to another process since does not keep the lock', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  writeFileSync(
    `${path}.lock`,
    JSON.stringify({ pid: process.pid, host: hostname(), startedAt: '2020', processStart: 'another' }),
  );
  const takes = (): void => openStoreForWriting(path).close();
  if (existsSync('/proc/self/stat')) {
    takes();
  } else {
    assert.throws(takes, storeErrorLike(/process/));
  }
});

test('the lock of another machine, an unreadable lock and a takeover in progress are left alone', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const gone = 2 ** 22 + 1;
  const abandoned = JSON.stringify({ pid: gone, host: hostname(), startedAt: '2026', processStart: null });
  const cases: readonly [string, RegExp][] = [
    [JSON.stringify({ pid: gone, host: 'elsewhere', startedAt: '2026' }), /machine elsewhere/],
    ['', /unreadable/],
    ['{"pid":-1,"host":"x"}', /unreadable/],
    ['null', /unreadable/],
  ];
  for (const [content, expected] of cases) {
    writeFileSync(`${path}.lock`, content);
    assert.throws(() => openStoreForWriting(path), storeErrorLike(expected, /\.lock/));
    assert.equal(readFileSync(`${path}.lock`, 'utf8'), content);
  }
  writeFileSync(`${path}.lock`, abandoned);
  // Process 1 is always there.
  for (const claimant of [
    { pid: 1, host: hostname() },
    { pid: gone, host: 'elsewhere' },
  ]) {
    writeFileSync(claimOn(path, abandoned), JSON.stringify({ ...claimant, startedAt: '2026', processStart: null }));
    assert.throws(() => openStoreForWriting(path), storeErrorLike(/taking over/, /takeover/));
  }
  assert.equal(readFileSync(`${path}.lock`, 'utf8'), abandoned);
  assert.equal(existsSync(path), false);
});

test('a takeover in which the process was killed does not bar the next one, however often', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const gone = [1, 2, 3].map((number) =>
    JSON.stringify({ pid: 2 ** 22 + number, host: hostname(), startedAt: '2026', processStart: null }),
  );
  const [abandoned = '', first = '', second = ''] = gone;
  writeFileSync(`${path}.lock`, abandoned);
  writeFileSync(claimOn(path, abandoned), first);
  writeFileSync(claimOn(path, first), second);
  const store = openStoreForWriting(path);
  assert.match(readFileSync(`${path}.lock`, 'utf8'), new RegExp(`"pid":${process.pid}\\b`));
  assert.deepEqual(lockFiles(path), ['c3.sqlite.lock']);
  store.close();
  assert.deepEqual(lockFiles(path), []);
});

test('a lock that someone else took meanwhile is not removed on close', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const store = openStoreForWriting(path);
  addRun(store, 'run', '2026');
  writeFileSync(`${path}.lock`, 'of someone else');
  store.close();
  assert.equal(readFileSync(`${path}.lock`, 'utf8'), 'of someone else');
});
