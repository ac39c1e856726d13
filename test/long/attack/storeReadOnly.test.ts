/**
 * Stores where nothing can be written: every reader reads them, as a user who has no rights there, and nothing is left
 * behind.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { openStoreForReading } from '../../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../../src/store/write/writer.ts';
import { tally } from '../../attack/harness.ts';
import { recordedStore, type RecordedStore } from '../../attack/recordedStore.ts';
import { programOf } from '../../support/programs.ts';
import { finished, type Finished } from '../../unit/engine/workspace.ts';
import { addRun, filesOf, rawConnection, temporaryFolder } from '../../unit/store/helpers.ts';

const readOnly = tally('read-only stores');
const CLI = programOf('cli');
const NOBODY = 65_534;
const SKIP = { skip: process.platform === 'win32' ? 'rights are lists there' : false };
/** Root may write anywhere: then the command runs as nobody. */
const USER = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

function c3(folder: string, ...args: readonly string[]): Promise<Finished> {
  const env = { ...process.env, HOME: folder, XDG_RUNTIME_DIR: '' };
  const child = spawn(process.execPath, [CLI, ...args], { ...USER, cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
  return finished(child);
}

/** A folder that nobody can write to, with copies of files that all may read. */
function readOnlyFolder(t: TestContext, files: Readonly<Record<string, string>>): string {
  const above = mkdtempSync(join(tmpdir(), 'c3-read-only-'));
  const folder = join(above, 'read only?#%41');
  mkdirSync(folder);
  for (const [name, from] of Object.entries(files)) {
    copyFileSync(from, join(folder, name));
    chmodSync(join(folder, name), 0o444);
  }
  chmodSync(above, 0o755);
  chmodSync(folder, 0o555);
  t.after(() => {
    chmodSync(folder, 0o755);
    rmSync(above, { recursive: true, force: true });
  });
  return folder;
}

describe('a store in a folder that cannot be written', SKIP, () => {
  let recorded: RecordedStore;

  before(async () => {
    recorded = await recordedStore();
  });
  after(() => rmSync(recorded.folder, { recursive: true, force: true }));

  it('is read by taxonomy, diagnose, report, export and status, with the answers of a writable one', async (t) => {
    const folder = readOnlyFolder(t, { 'c3.sqlite': recorded.path });
    const out = temporaryFolder(t);
    chmodSync(out, 0o777);
    const files = filesOf(folder);
    const commands = [
      ['taxonomy', '--run', recorded.run, '--json'],
      ['diagnose', '--run', recorded.run, '--json'],
      ['report', '--run', recorded.run, '--json'],
      ['export', '--run', recorded.run, '--format', 'buckets', '--out'],
    ];
    for (const command of commands) {
      const named = (name: string): string[] => (command[0] === 'export' ? [...command, join(out, name)] : command);
      await readOnly.attempt(`c3 ${command[0] ?? ''}`, async () => {
        const found = await c3(out, ...named('read-only'), '--store', join(folder, 'c3.sqlite'));
        assert.equal(found.code, 0, found.stderr);
        const before = await c3Writable(out, recorded.path, named('writable'));
        const paths = /"(?:store|out)":"[^"]*"|\S*\/(?:read-only|writable)\b/gu;
        assert.equal(found.stdout.replace(paths, ''), before.replace(paths, ''));
      });
    }
    await readOnly.attempt('exports', () =>
      assert.equal(readFileSync(join(out, 'read-only'), 'utf8'), readFileSync(join(out, 'writable'), 'utf8')),
    );
    await readOnly.attempt('c3 status', async () =>
      assert.equal((await c3(out, 'status', '--store', join(folder, 'c3.sqlite'))).code, 0),
    );
    await readOnly.attempt('nothing is left behind', () => assert.deepEqual(filesOf(folder), files));
    await readOnly.attempt('c3 label says what is the matter', async () => {
      const { code, stderr } = await c3(out, 'label', '1', 'x', '--store', join(folder, 'c3.sqlite'));
      assert.deepEqual([code, /is read-only: .*--store/u.test(stderr)], [1, true], stderr);
    });
  });

  it('is read as the reader of the editor does, in a process without rights there', async (t) => {
    const folder = readOnlyFolder(t, { 'c3.sqlite': recorded.path });
    await readOnly.attempt('the reader', async () => {
      const { code, stdout, stderr } = await reads(folder);
      assert.deepEqual([code, stderr], [0, '']);
      assert.deepEqual(JSON.parse(stdout), { fixed: true, counts: writableCounts(recorded.path) });
    });
  });

  it('says in one sentence that a log beside it must be folded in', async (t) => {
    const path = join(temporaryFolder(t), 'c3.sqlite');
    openStoreForWriting(path).close();
    const raw = rawConnection(t, path);
    raw.exec(
      "PRAGMA wal_autocheckpoint = 0; INSERT INTO environment (runtime, provider, device, threads, platform) VALUES ('a', 'b', 'c', 1, 'd')",
    );
    const folder = readOnlyFolder(t, { 'c3.sqlite': path, 'c3.sqlite-wal': `${path}-wal` });
    await readOnly.attempt('a log without its index', async () => {
      const { code, stderr } = await reads(folder);
      assert.equal(code, 1);
      assert.match(stderr, /^[^\n]*has a log \([^\n]*-wal\) that must be merged into it[^\n]*copy both files[^\n]*$/u);
    });
  });

  it('is read with its log while another user writes it', async (t) => {
    const above = temporaryFolder(t);
    const folder = join(above, 'written');
    mkdirSync(folder, 0o755);
    const path = join(folder, 'c3.sqlite');
    const store = openStoreForWriting(path);
    t.after(() => store.close());
    addRun(store, 'run', '2026');
    for (const name of ['c3.sqlite', 'c3.sqlite-wal', 'c3.sqlite-shm']) {
      chmodSync(join(folder, name), 0o644);
    }
    chmodSync(above, 0o755);
    await readOnly.attempt('a live store of another user', async () => {
      const { code, stdout, stderr } = await reads(folder);
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), { fixed: false, counts: store.counts() });
    });
  });
});

function writableCounts(path: string): unknown {
  const reader = openStoreForReading(path);
  try {
    return reader.counts();
  } finally {
    reader.close();
  }
}

/** What the command prints for the store in its own folder, as the user of these tests. */
async function c3Writable(folder: string, path: string, command: readonly string[]): Promise<string> {
  const { stdout } = await finished(
    spawn(process.execPath, [CLI, ...command, '--store', path], { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] }),
  );
  return stdout;
}

const READER = new URL('../../../src/store/read/reader.ts', import.meta.url).href;
const READ = `
  import { openStoreForReading } from ${JSON.stringify(READER)};
  try {
    const reader = openStoreForReading(process.argv[1]);
    console.log(JSON.stringify({ fixed: reader.fixed, counts: reader.counts() }));
  } catch (error) {
    process.stderr.write(error.message);
    process.exitCode = 1;
  }
`;

function reads(folder: string): Promise<Finished> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', READ, join(folder, 'c3.sqlite')], {
    ...USER,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return finished(child);
}
