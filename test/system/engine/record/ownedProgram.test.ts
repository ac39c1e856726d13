/** A recorded program is owned to its end: all that it started ends with it, whatever holds its streams open. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { record, type RecordSettings } from '../../../../src/engine/record/recordProgram.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { startC3 } from '../../../unit/engine/workspace.ts';

/** Ignores what it is asked to do, holds what it was given open, and says who it is. */
const GRANDCHILD = `process.on('SIGTERM', () => undefined);
process.on('SIGHUP', () => undefined);
require('node:fs').writeFileSync('grandchild', String(process.pid));
setInterval(() => undefined, 1000);
`;
/** Its child has a session of its own where such a one is found. @param end what it does once that child is there */
const program = (end: string): string => `const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
spawn(process.execPath, ['grandchild.cjs'], { stdio: 'inherit', detached: process.platform === 'linux' });
const watch = setInterval(() => {
  if (existsSync('grandchild')) {
    clearInterval(watch);
    console.log('last words');
    ${end}
  }
}, 10);
`;
const STAYS = 'setInterval(() => undefined, 1000);';
const LEAVES = 'process.exit(3);';

function folderWith(t: TestContext, end: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-owned-'));
  writeFileSync(join(folder, 'grandchild.cjs'), GRANDCHILD);
  writeFileSync(join(folder, 'program.cjs'), program(end));
  t.after(() => {
    const file = join(folder, 'grandchild');
    if (existsSync(file)) {
      try {
        process.kill(Number(readFileSync(file, 'utf8')), 'SIGKILL');
      } catch {
        // It has ended, as it should have.
      }
    }
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Whether a process is there and no corpse: nobody may be there to bury what lost its parent. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+[XZ]/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    // A system without /proc has the first answer only.
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' && process.platform !== 'linux';
  }
}

/** The grandchild's process, as soon as it has said it. */
async function grandchildIn(folder: string): Promise<number> {
  for (;;) {
    const said = existsSync(join(folder, 'grandchild')) ? readFileSync(join(folder, 'grandchild'), 'utf8') : '';
    if (said !== '') {
      return Number(said);
    }
    await delay(10);
  }
}

async function recordIn(
  t: TestContext,
  folder: string,
  signal: AbortSignal,
  more: Partial<RecordSettings>,
): Promise<Awaited<ReturnType<typeof record>>> {
  const service = new EngineService(join(folder, 'c3.sqlite'));
  t.after(() => service.close());
  const settings = {
    command: [process.execPath, 'program.cjs'] as const,
    folder,
    maskSecrets: false,
    right: null,
    upstream: 'http://127.0.0.1:9/v1',
    served: null,
    quiet: true,
    ...more,
  };
  return record(service, settings, signal);
}

describe(
  'a program whose child ignores what it is asked, and holds its output open',
  { concurrency: true, timeout: 60_000 },
  () => {
    for (const [name, given] of [
      ['lines', (heard: string[]) => ({ onLine: (line: string) => heard.push(line) })],
      [
        'streams',
        (heard: string[]) => {
          const stdin = new PassThrough();
          const [stdout, stderr] = [new PassThrough(), new PassThrough()];
          for (const stream of [stdout, stderr]) {
            stream.on('data', (text: Buffer) => heard.push(text.toString().trim()));
          }
          return { streams: { stdin, stdout, stderr } };
        },
      ],
    ] as const) {
      it(`ends with it by a cancel (${name})`, async (t) => {
        const folder = folderWith(t, STAYS);
        const [heard, controller]: [string[], AbortController] = [[], new AbortController()];
        const recorded = recordIn(t, folder, controller.signal, given(heard));
        const pid = await grandchildIn(folder);
        controller.abort();
        const { ended } = await recorded;
        assert.deepEqual([ended, lives(pid)], ['SIGTERM', false]);
      });

      it(`ends with it where it ends by itself (${name})`, async (t) => {
        const folder = folderWith(t, LEAVES);
        const heard: string[] = [];
        const { ended } = await recordIn(t, folder, new AbortController().signal, given(heard));
        assert.deepEqual([ended, heard, lives(await grandchildIn(folder))], [3, ['last words'], false]);
      });
    }

    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
      it(`ends with c3 that gets ${signal}`, async (t) => {
        const folder = folderWith(t, STAYS);
        const c3 = startC3(folder, ['record', '--', process.execPath, 'program.cjs']);
        t.after(() => c3.kill('SIGKILL'));
        c3.stdin.end();
        const pid = await grandchildIn(folder);
        const exit = once(c3, 'exit');
        c3.kill(signal);
        assert.deepEqual(await exit, [1, null]);
        assert.equal(lives(pid), false);
      });
    }

    it('ends with c3 that is killed', { skip: process.platform === 'win32' }, async (t) => {
      const folder = folderWith(t, STAYS);
      const c3 = startC3(folder, ['record', '--', process.execPath, 'program.cjs']);
      c3.stdin.end();
      const pid = await grandchildIn(folder);
      c3.kill('SIGKILL');
      await once(c3, 'exit');
      while (lives(pid)) {
        await delay(10);
      }
    });

    it('ends with c3 that is told twice', async (t) => {
      const asked = "process.on('SIGTERM', () => { require('node:fs').writeFileSync('asked', ''); });";
      const folder = folderWith(t, `${asked} require('node:fs').writeFileSync('ready', ''); ${STAYS}`);
      const there = async (name: string): Promise<void> => {
        while (!existsSync(join(folder, name))) {
          await delay(10);
        }
      };
      const c3 = startC3(folder, ['record', '--', process.execPath, 'program.cjs']);
      t.after(() => c3.kill('SIGKILL'));
      c3.stdin.end();
      const pid = await grandchildIn(folder);
      const exit = once(c3, 'exit');
      await there('ready');
      c3.kill('SIGTERM');
      await there('asked');
      c3.kill('SIGTERM');
      assert.deepEqual(await exit, [130, null]);
      while (lives(pid)) {
        await delay(10);
      }
    });
  },
);

it('what a program prints comes in lines, however long they are', async (t) => {
  const folder = folderWith(t, STAYS);
  const heard: string[] = [];
  const prints = "process.stdout.write('a\\r\\n\\n' + 'x'.repeat(2 ** 22) + '\\nlast')";
  const command = [process.execPath, '-e', prints] as const;
  await recordIn(t, folder, new AbortController().signal, { command, onLine: (line: string) => heard.push(line) });
  assert.deepEqual(heard, ['a', '', `${'x'.repeat(999)}\u2026`, 'last']);
});
