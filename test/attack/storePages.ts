/**
 * Pages of a store made by hand, so that a scan never ends: they are found by a process of its own, which ends whatever
 * happens.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { examineApart } from '../../src/client/examineStore.ts';
import { EXAMINE_ENTRY } from '../../src/engine/places.ts';
import { loadSqlite } from '../../src/store/files/sqlite.ts';
import { makeEndless } from '../support/endlessStore.ts';
import { tally } from './harness.ts';
import { recordedStore, type RecordedStore } from './recordedStore.ts';

const pages = tally('pages of a store');
/** Milliseconds of a scan that does not end, and at most of one that does. */
const [ENDLESS, WHOLE] = [1_000, 20_000];

let recorded: RecordedStore;
let endless: string;

/** A process that counts messages in a store. */
const scan = (path: string): readonly string[] => [
  '--input-type=module',
  '--eval',
  `import Database from 'better-sqlite3'; new Database(${JSON.stringify(path)}).prepare('SELECT count(*) FROM decision NOT INDEXED').get();`,
];

/** How much is tried. */
export interface StorePagesSizes {
  /** Tables, page sizes and ways to hide the end. */
  readonly endless: number;
}

/** Attacks with pages of a store, as many as the sizes say. */
export function storePagesAttacks(sizes: StorePagesSizes): void {
  before(async () => {
    recorded = await recordedStore();
    endless = join(recorded.folder, 'endless.sqlite');
    copyFileSync(recorded.path, endless);
    makeEndless(endless);
  });
  after(() => rmSync(recorded.folder, { recursive: true, force: true }));

  it('such a store keeps a process that scans it busy, which is why it is looked at apart', () => {
    const { signal } = spawnSync(process.execPath, scan(endless), {
      timeout: ENDLESS,
      killSignal: 'SIGKILL',
      cwd: import.meta.dirname,
    });
    assert.equal(signal, 'SIGKILL', 'the scan does not end');
    const whole = spawnSync(process.execPath, scan(recorded.path), {
      timeout: WHOLE,
      killSignal: 'SIGKILL',
      cwd: import.meta.dirname,
    });
    assert.equal(whole.signal, null, 'one that is whole is scanned at once');
  });

  it('the examination finds it, and calls the store that it was made from whole', async () => {
    await pages.attempt('endless pages', async () => {
      const { findings } = await examineApart(endless, 'sampled', EXAMINE_ENTRY, 60_000);
      assert.match(findings.join(' '), /SQLite finds damage/);
    });
    assert.deepEqual((await examineApart(recorded.path, 'sampled', EXAMINE_ENTRY, 60_000)).findings, []);
  });

  it('a look at the pages alone finds it in every table, in small and in huge pages', async () => {
    const attacks = ['run', 'text', 'decision', 'episode', 'bucket', 'instance', 'snapshot', 'replay'].flatMap(
      (table) =>
        [512, 4096, 65_536].flatMap((pageSize) => [false, true].map((hidden) => ({ table, pageSize, hidden }))),
    );
    const path = join(recorded.folder, 'made.sqlite');
    for (const attack of attacks.slice(0, sizes.endless)) {
      copyFileSync(recorded.path, path);
      makeEndless(path, attack);
      await pages.attempt(JSON.stringify(attack), async () => {
        const { findings, refusal } = await examineApart(path, 'pages', EXAMINE_ENTRY, 60_000);
        assert.match(findings.join(' '), /SQLite finds damage/);
        assert.equal(refusal, null);
      });
    }
    for (const pageSize of [512, 65_536]) {
      copyFileSync(recorded.path, path);
      const db = new (loadSqlite())(path);
      db.pragma('journal_mode = DELETE');
      db.pragma(`page_size = ${pageSize}`);
      db.exec('VACUUM');
      db.close();
      assert.deepEqual((await examineApart(path, 'pages', EXAMINE_ENTRY, 60_000)).findings, [], String(pageSize));
    }
  });
}
