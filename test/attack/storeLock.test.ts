/**
 * Attacks on who writes a store: other names for the same file, links and files planted where ours are to be, and the
 * rights of what is made. Real files and real processes; what a victim file held must be there unchanged.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { storeName } from '../../src/client/address.ts';
import { QueueFile } from '../../src/engine/server/queueFile.ts';
import { writeFileAtomically } from '../../src/runtime/files/wholeFile.ts';
import { C3Error } from '../../src/shared/errors.ts';
import { acquireLock, lockHolder } from '../../src/store/files/lock.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { openStoreWhenFree, hasOtherWaiters } from '../../src/store/write/waiting.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addRun, storeErrorLike, temporaryFolder } from '../unit/store/helpers.ts';
import { tally } from './harness.ts';

const locks = tally('store locks and links');
const ROOT = join(import.meta.dirname, '..', '..');
const WRITER = new URL('../../src/store/write/writer.ts', import.meta.url).href;
const HELPERS = new URL('../unit/store/helpers.ts', import.meta.url).href;
const NO_LINKS = { skip: process.platform === 'win32' ? 'links need rights of an administrator there' : false };

/** Holds a store with a live run until its input ends. */
const HOLDER = `
  import { openStoreForWriting } from ${JSON.stringify(WRITER)};
  import { addRun, INSTANCE, newBucket } from ${JSON.stringify(HELPERS)};
  const store = openStoreForWriting(process.argv[1], { purpose: { kind: 'run', what: 'live' } });
  addRun(store, 'live', '2026');
  store.insertProblems([INSTANCE]);
  store.insertBucket(newBucket({ run: 'live' }));
  console.log('holds');
  process.stdin.resume();
  process.stdin.on('end', () => process.exit());
`;

async function startHolder(path: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [says] = (await once(createInterface(child.stdout), 'line')) as [string];
  assert.equal(says, 'holds');
  return child;
}

/** Ends a process, so that nothing writes any more where it wrote. */
async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  if (child.kill('SIGKILL')) {
    await ended;
  }
}

const statusOf = (path: string): string => {
  const reader = openStoreForReading(path);
  try {
    return reader.run('live').status;
  } finally {
    reader.close();
  }
};

/** Other names that lead to a store: links to the file, chains of them, and links to its folder. */
function otherNames(real: string): string[] {
  const folder = dirname(dirname(real));
  const [link, chain, relative, throughFolder] = [
    join(folder, 'link.sqlite'),
    join(folder, 'chain.sqlite'),
    join(folder, 'relative.sqlite'),
    join(folder, 'folder'),
  ];
  symlinkSync(real, link);
  symlinkSync(link, chain);
  symlinkSync(join(basename(dirname(real)), basename(real)), relative);
  symlinkSync(dirname(real), throughFolder);
  return [
    link,
    chain,
    relative,
    join(throughFolder, basename(real)),
    join(dirname(real), '..', basename(dirname(real)), basename(real)),
  ];
}

describe('a store by another name', NO_LINKS, () => {
  it('is held by the same lock: nobody marks a live run as failed', async (t) => {
    const real = join(temporaryFolder(t), 'deep', 'c3.sqlite');
    const holder = await startHolder(real);
    for (const name of otherNames(real)) {
      await locks.attempt(`writing by ${name}`, () => {
        assert.throws(() => openStoreForWriting(name), storeErrorLike(/is being written by run live/));
        assert.equal(lockHolder(name)?.purpose?.what, 'live');
        assert.equal(storeName(name), storeName(real), 'one engine serves it by every name');
        assert.equal(statusOf(name), 'running');
      });
    }
    const label = spawn(
      process.execPath,
      [
        join(ROOT, 'src', 'engine', 'cli.ts'),
        'label',
        '1',
        'x',
        '--store',
        join(dirname(dirname(real)), 'link.sqlite'),
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    try {
      await locks.attempt('c3 label by a link', async () => {
        const [says] = (await once(createInterface(label.stderr), 'line')) as [string];
        assert.match(says, /Waiting for run live/);
        assert.equal(statusOf(real), 'running');
      });
    } finally {
      await end(label);
      await end(holder);
    }
  });

  it('waits in one line, whatever name it came by', async (t) => {
    const real = join(temporaryFolder(t), 'deep', 'c3.sqlite');
    const store = openStoreForWriting(real);
    const [link = ''] = otherNames(real);
    const controller = new AbortController();
    const waiting = openStoreWhenFree(
      link,
      { purpose: { kind: 'command', what: 'c3 label' } },
      { signal: controller.signal, onWaiting: () => controller.abort() },
    );
    await assert.rejects(waiting, { name: 'CancelledError' });
    await locks.attempt('waiting by a link', () => {
      assert.equal(controller.signal.aborted, true);
      assert.equal(hasOtherWaiters(real), false);
      assert.deepEqual(
        readdirSync(dirname(link)).filter((name) => name.includes('.lock')),
        [],
      );
    });
    store.close();
  });

  it('is only read while it has a hard link: SQLite would keep a log for each name', async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'c3.sqlite');
    const first = openStoreForWriting(path);
    addRun(first, 'run', '2026');
    first.close();
    const other = join(folder, 'other.sqlite');
    linkSync(path, other);
    for (const name of [path, other]) {
      await locks.attempt(`writing by ${basename(name)}`, () => {
        assert.throws(() => openStoreForWriting(name), storeErrorLike(/has 2 names \(hard links\)/, /copy it/));
        const reader = openStoreForReading(name);
        assert.equal(reader.countRuns(), 1);
        reader.close();
      });
    }
    rmSync(other);
    openStoreForWriting(path).close();
  });

  it('is not made through a link that leads nowhere', async (t) => {
    const folder = temporaryFolder(t);
    const target = join(folder, 'elsewhere', 'autostart');
    mkdirSync(dirname(target));
    const path = join(folder, 'c3.sqlite');
    symlinkSync(target, path);
    await locks.attempt('a dangling link', () => {
      assert.throws(
        () => openStoreForWriting(path),
        storeErrorLike(/is a link to .*autostart, which does not exist/, /--store/),
      );
      assert.deepEqual(readdirSync(dirname(target)), []);
    });
    symlinkSync(join(folder, 'circle'), join(folder, 'circle'));
    await locks.attempt('a link to itself', () =>
      assert.throws(() => openStoreForWriting(join(folder, 'circle')), C3Error),
    );
  });
});

describe('what is planted where a file of ours is to be', NO_LINKS, () => {
  const secret = 'of the victim\n';

  it('is not written through: lock, claim, line, queue and whole files', async (t) => {
    const folder = temporaryFolder(t);
    const victim = join(folder, 'victim');
    const path = join(folder, 'c3.sqlite');
    writeFileSync(victim, secret);
    const pid = String(process.pid);
    for (const name of [
      `c3.sqlite.lock.${pid}.new`,
      `c3.sqlite.lock.${pid}.tmp`,
      `c3.sqlite.queue.json.${pid}.new`,
      `c3.sqlite.queue.json.${pid}.tmp`,
      `weights.${pid}.tmp`,
    ]) {
      symlinkSync(victim, join(folder, name));
    }
    const store = openStoreForWriting(path);
    store.describeHolder({ kind: 'command', what: 'another' });
    new QueueFile(path).write([
      {
        id: 'a',
        kind: 'start',
        title: '',
        run: null,
        config: null,
        overrides: [],
        folder,
        askedAt: '2026',
        begun: false,
      },
    ]);
    await writeFileAtomically(join(folder, 'weights'), Buffer.from('whole'));
    store.close();
    await locks.attempt('names that one could know', () => assert.equal(readFileSync(victim, 'utf8'), secret));
    symlinkSync(victim, join(folder, 'linked'));
    await writeFileAtomically(join(folder, 'linked'), Buffer.from('whole'));
    await locks.attempt('a link in the place of a whole file', () => {
      assert.equal(readFileSync(victim, 'utf8'), secret);
      assert.equal(lstatSync(join(folder, 'linked')).isSymbolicLink(), false);
    });
    rmSync(`${path}.queue.json`);
    symlinkSync(victim, `${path}.queue.json`);
    new QueueFile(path).write([
      {
        id: 'a',
        kind: 'start',
        title: '',
        run: null,
        config: null,
        overrides: [],
        folder,
        askedAt: '2026',
        begun: false,
      },
    ]);
    await locks.attempt('a link in the place of the queue', () => assert.equal(readFileSync(victim, 'utf8'), secret));
  });

  it('makes the lock unreadable, in one sentence, and is neither read nor waited for', async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'c3.sqlite');
    const lock = `${path}.lock`;
    const huge = join(folder, 'huge');
    spawnSync('truncate', ['-s', '3G', huge]);
    const live = join(folder, 'live');
    writeFileSync(live, JSON.stringify({ pid: 2 ** 22 + 7, host: 'x', startedAt: '2026', processStart: null }));
    const plants: readonly (readonly [string, () => void])[] = [
      ['a link to a file', () => symlinkSync(live, lock)],
      ['a link that leads nowhere', () => symlinkSync(join(folder, 'nowhere'), lock)],
      ['a pipe', () => spawnSync('mkfifo', [lock])],
      ['a folder', () => mkdirSync(lock)],
      ['a link to a device', () => symlinkSync('/dev/zero', lock)],
      ['3 GB', () => linkSync(huge, lock)],
      ['noise', () => writeFileSync(lock, Buffer.alloc(1000, 0xff))],
    ];
    for (const [what, plant] of plants) {
      plant();
      const began = performance.now();
      await locks.attempt(what, () => {
        assert.throws(() => openStoreForWriting(path), storeErrorLike(/\.lock is unreadable/, /delete that file/));
        assert.equal(lockHolder(path), null);
        assert.ok(performance.now() - began < 1000, `it took ${performance.now() - began} ms`);
        assert.equal(existsSync(path), false);
      });
      rmSync(lock, { recursive: true });
    }
    openStoreForWriting(path).close();
  });
});

describe('what is made', { skip: process.platform === 'win32' ? 'rights are lists there' : false }, () => {
  const rights = (path: string): number => statSync(path).mode & 0o777;

  for (const umask of [0o000, 0o022, 0o277]) {
    it(`belongs to the user alone under the umask ${umask.toString(8)}`, async (t) => {
      const folder = temporaryFolder(t);
      chmodSync(folder, 0o755);
      const path = join(folder, 'deep', '.c3', 'c3.sqlite');
      const before = process.umask(umask);
      try {
        // A folder without rights could not be entered: that umask is for files.
        if ((umask & 0o700) !== 0) {
          mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        }
        if ((umask & 0o700) !== 0) {
          for (const made of [join(folder, 'deep'), dirname(path)]) {
            chmodSync(made, 0o700);
          }
        }
        const store = openStoreForWriting(path);
        addRun(store, 'run', '2026');
        const snapshot = join(dirname(path), 'snapshot');
        await writeFileAtomically(snapshot, Buffer.from('weights'));
        const lock = acquireLock(join(dirname(path), 'engine'));
        await locks.attempt(`umask ${umask.toString(8)}`, () => {
          for (const name of readdirSync(dirname(path))) {
            assert.equal(rights(join(dirname(path), name)), 0o600, name);
          }
          assert.ok(existsSync(`${path}-wal`));
          for (const made of [dirname(path), join(folder, 'deep')]) {
            assert.equal(rights(made), 0o700, made);
          }
        });
        lock.release();
        store.close();
      } finally {
        process.umask(before);
      }
    });
  }
});
