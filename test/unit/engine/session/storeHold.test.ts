/** A process's hold on its store: shared by its work, and sealed when it is quiet. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { StoreHold } from '../../../../src/engine/session/storeHold.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import { checkSeal, isSealed, sealPath } from '../../../../src/store/files/seal.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { eventually } from '../../../integration/harness/eventually.ts';

const CONTROL = { signal: new AbortController().signal };

function storeIn(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-hold-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'c3.sqlite');
}

async function write(hold: StoreHold, id: string): Promise<void> {
  using lease = await hold.lease({ kind: 'window', what: 'a test' }, CONTROL);
  lease.store.insertRun({
    id,
    method: 'c3',
    seed: 1,
    title: id,
    config: '{}',
    plannedSteps: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
  });
}

it('seals the store when it was quiet for a while, not after every piece of work, and unseals it for the next', async (t) => {
  const path = storeIn(t);
  const hold = new StoreHold(path, 300);
  for (const id of ['one', 'two', 'three']) {
    await write(hold, id);
    assert.ok(!isSealed(path), `after ${id}`);
    assert.ok(!existsSync(`${path}.lock`), 'others may write');
  }
  await eventually('the seal', () => isSealed(path));
  assert.equal(checkSeal(path).state, 'whole');
  await write(hold, 'four');
  assert.ok(!isSealed(path));
  hold.close();
  assert.equal(checkSeal(path).state, 'whole', 'a process that ends seals at once');
});

it('leaves the seal as it was where nothing was written', async (t) => {
  const path = storeIn(t);
  const hold = new StoreHold(path, 60_000);
  await write(hold, 'one');
  {
    using lease = await hold.lease({ kind: 'window', what: 'a test' }, CONTROL);
    lease.store.updateRunStatus('one', 'done', '2026-01-02T00:00:00.000Z', null);
  }
  hold.close();
  const before = readFileSync(sealPath(path), 'utf8');
  {
    using lease = await hold.lease({ kind: 'window', what: 'a look' }, CONTROL);
    assert.ok(lease.store.countRuns() === 1 && !isSealed(path));
  }
  assert.equal(readFileSync(sealPath(path), 'utf8'), before);
});

it('leaves the seal to another process that writes meanwhile', async (t) => {
  const path = storeIn(t);
  const hold = new StoreHold(path, 60_000);
  await write(hold, 'one');
  const other = openStoreForWriting(path);
  hold.close();
  assert.ok(!isSealed(path));
  other.close();
  assert.equal(checkSeal(path).state, 'whole');
});

it('is joined while nobody else waits, and by what belongs to a run that began before', async (t) => {
  const path = storeIn(t);
  const hold = new StoreHold(path);
  const lease = (kind: 'run' | 'window', signal = CONTROL.signal): ReturnType<StoreHold['lease']> =>
    hold.lease({ kind, what: 'a test' }, { signal });
  const first = await lease('window');
  (await lease('window'))[Symbol.dispose]();
  // Process 1 lives and never asks.
  const waiter = `${path}.lock.wait-000000000000001-1-1`;
  writeFileSync(waiter, JSON.stringify({ pid: 1, host: hostname(), startedAt: '2026', processStart: null }));
  const cancel = new AbortController();
  const refused = lease('window', cancel.signal);
  cancel.abort();
  await assert.rejects(refused, CancelledError);
  rmSync(waiter);
  const run = await lease('run');
  writeFileSync(waiter, JSON.stringify({ pid: 1, host: hostname(), startedAt: '2026', processStart: null }));
  (await lease('window'))[Symbol.dispose]();
  run[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(hold.open, undefined);
});
