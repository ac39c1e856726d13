/** Recordings: made by one of the processes that ask, copied for another folder, and made again for another key. */

import assert from 'node:assert/strict';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { checkSeal } from '../../../src/store/files/seal.ts';
import { openStoreForReading } from '../../../src/store/read/reader.ts';

interface Place {
  readonly cache: string;
  /** The numbers of the processes that made a recording. */
  readonly makers: () => readonly string[];
  /** Asks for a recording from a process of its own, for a new folder. */
  readonly ask: (title: string, ...more: readonly string[]) => Asked;
}

interface Asked {
  readonly folder: string;
  readonly child: ChildProcessByStdio<null, Readable, null>;
}

function place(t: TestContext): Place {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'c3-recordings-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [cache, count] = [join(folder, 'cache'), join(folder, 'count')];
  let asked = 0;
  return {
    cache,
    makers: () => readFileSync(count, 'utf8').trimEnd().split('\n'),
    ask: (title, ...more) => {
      const own = join(folder, String(asked++));
      mkdirSync(own);
      const args = [join(import.meta.dirname, 'recordOne.ts'), own, count, title, ...more];
      const child = spawn(process.execPath, args, {
        env: { ...process.env, C3_CACHE: cache },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return { folder: own, child };
    },
  };
}

/** What a process printed, which must have succeeded. */
async function ended({ child }: Asked): Promise<string> {
  const closed = once(child, 'close');
  const printed = await text(child.stdout);
  assert.deepEqual(await closed, [0, null]);
  return printed;
}

const recordings = (cache: string): string[] => readdirSync(cache).filter((name) => name.startsWith('recorded-'));

test('two processes that ask at once get a copy each of what one of them made', async (t) => {
  const { cache, makers, ask } = place(t);
  const both = [ask('A'), ask('A')];
  for (const [index, printed] of (await Promise.all(both.map(ended))).entries()) {
    const folder = both[index]?.folder ?? assert.fail();
    const store = join(folder, '.c3', 'c3.sqlite');
    assert.deepEqual(JSON.parse(printed), { folder, store, runs: ['one'], run: 'one' });
    assert.equal(readFileSync(join(folder, 'title.txt'), 'utf8'), 'A');
    // It names the folder of the copy, as if it had been made there, and is as whole as a writer leaves it.
    assert.equal(checkSeal(store).state, 'whole');
    assert.deepEqual(readdirSync(join(folder, '.c3')).toSorted(), ['c3.sqlite', 'c3.sqlite.seal']);
    const reader = openStoreForReading(store);
    assert.deepEqual(JSON.parse(reader.runConfig('one')), { folder });
    reader.close();
  }
  assert.equal(makers().length, 1);
  assert.equal(recordings(cache).length, 1);
});

test('what a killed process began is made by the next one', async (t) => {
  const { cache, makers, ask } = place(t);
  const killed = ask('A', 'stay');
  await once(killed.child.stdout, 'data');
  const next = ask('A');
  killed.child.kill('SIGKILL');
  await ended(next);
  assert.deepEqual(makers(), [String(killed.child.pid), String(next.child.pid)]);
  assert.deepEqual(readdirSync(cache).toSorted(), recordings(cache));
});

test('another configuration is another recording; of the old ones, those used last stay', async (t) => {
  const { cache, makers, ask } = place(t);
  await ended(ask('A'));
  const [first = ''] = recordings(cache);
  utimesSync(join(cache, first), new Date(2020, 1), new Date(2020, 1));
  for (const title of ['B', 'C', 'B']) {
    await ended(ask(title));
  }
  assert.equal(makers().length, 3);
  assert.ok(recordings(cache).includes(first));
  await ended(ask('D'));
  assert.equal(recordings(cache).length, 3);
  assert.ok(!recordings(cache).includes(first));
});
