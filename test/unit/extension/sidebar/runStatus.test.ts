import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isResumable, shownStatus, type ShownStatus } from '../../../../src/domain/run.ts';
import { isBeingWritten } from '../../../../src/extension/engine/storeOwner.ts';
import { listChildren, Limits, listResumableRuns } from '../../../../src/extension/sidebar/runsModel.ts';
import { isRecord } from '../../../../src/shared/guard.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { addRun, temporaryStore } from '../storeFixture.ts';

const STATUSES: readonly ShownStatus[] = ['running', 'done', 'cancelled', 'failed', 'interrupted'];

/** The number of a process that has ended. */
async function endedProcess(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid ?? assert.fail('no process was started');
}

/** Stores runs as their processes leave them, the last one without an end; `remove` deletes everything. */
function someRuns(): ReturnType<typeof temporaryStore> {
  const store = temporaryStore();
  const at = '2026-01-03T00:00:00.000Z';
  (['done', 'cancelled', 'failed'] as const).forEach((status, index) => {
    addRun(store.writer, status, `2026-01-0${index + 1}T00:00:00.000Z`);
    store.writer.updateRunStatus(status, status, at, null);
  });
  addRun(store.writer, 'unfinished', '2026-01-09T00:00:00.000Z');
  return store;
}

test('a run whose process is gone is interrupted, and one whose process lives is running', async () => {
  const store = someRuns();
  const lock = `${store.path}.lock`;
  const statuses = (): unknown[] =>
    listChildren(store.writer, null, new Limits()).map((node) => node.kind === 'run' && [node.id, node.status]);
  const rest = [
    ['failed', 'failed'],
    ['cancelled', 'cancelled'],
    ['done', 'done'],
  ];
  try {
    assert.deepEqual(statuses(), [['unfinished', 'running'], ...rest], 'this process holds the lock');
    const held = readFileSync(lock, 'utf8');
    writeFileSync(lock, held.replace(`"pid":${process.pid}`, `"pid":${await endedProcess()}`));
    assert.deepEqual(statuses(), [['unfinished', 'interrupted'], ...rest]);
    writeFileSync(lock, held);
  } finally {
    store.remove();
  }
});

test('every run that did not come to its end can be resumed, newest first; a running one cannot', () => {
  const store = someRuns();
  assert.deepEqual(
    listResumableRuns(store.writer).map(({ id }) => id),
    ['failed', 'cancelled'],
  );
  store.writer.close();
  const reader = openStoreForReading(store.path);
  try {
    assert.deepEqual(
      listResumableRuns(reader).map(({ id }) => id),
      ['unfinished', 'failed', 'cancelled'],
      'the lock was given back',
    );
  } finally {
    reader.close();
    store.remove();
  }
});

test('a failure whose end nobody saw is an interruption', () => {
  assert.equal(shownStatus({ status: 'failed', finishedAt: null }, true), 'interrupted');
  assert.equal(shownStatus({ status: 'failed', finishedAt: '2026-01-01T00:00:00.000Z' }, false), 'failed');
  assert.equal(shownStatus({ status: 'done', finishedAt: null }, false), 'done');
});

test('a lock that cannot be judged counts as held', async () => {
  const store = temporaryStore();
  store.writer.close();
  const lock = `${store.path}.lock`;
  const written = (content: string): boolean => {
    writeFileSync(lock, content);
    return isBeingWritten(store.path);
  };
  const pid = await endedProcess();
  try {
    assert.equal(written(JSON.stringify({ pid, host: hostname() })), false);
    assert.equal(written(JSON.stringify({ pid: process.pid, host: hostname() })), true);
    assert.equal(written(JSON.stringify({ pid, host: `not ${hostname()}` })), true);
    for (const content of [
      '',
      '{',
      '[]',
      JSON.stringify({ host: hostname() }),
      JSON.stringify({ pid: -1, host: hostname() }),
    ]) {
      assert.equal(written(content), true, content);
    }
    rmSync(lock);
    assert.equal(isBeingWritten(store.path), false);
  } finally {
    store.remove();
  }
});

test('the menus of the tree offer exactly the runs that can be resumed', () => {
  const manifest: unknown = JSON.parse(
    readFileSync(join(import.meta.dirname, '..', '..', '..', '..', 'package.json'), 'utf8'),
  );
  const menus = isRecord(manifest) && isRecord(manifest['contributes']) ? manifest['contributes']['menus'] : undefined;
  const items: unknown = isRecord(menus) ? menus['view/item/context'] : undefined;
  assert.ok(Array.isArray(items));
  const conditions = items.flatMap((item: unknown) =>
    isRecord(item) && item['command'] === 'c3.resumeRun' ? [String(item['when'])] : [],
  );
  assert.equal(conditions.length, 2, 'inline and in the context menu');
  for (const condition of conditions) {
    const pattern = new RegExp(/=~ \/(.*)\/$/u.exec(condition)?.[1] ?? assert.fail(condition), 'u');
    assert.deepEqual(
      STATUSES.filter((status) => pattern.test(`run ${status}`)),
      STATUSES.filter(isResumable),
    );
  }
});
