/** Owned programs: they are ended with all that they started, and no other process with the number of one is. */

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { endOwned, killOwned, spawnOwned, findListedProcess } from '../../../src/files/ownedProcess.ts';

/** The module as it is named in a program. */
const OWNED_PROCESS = JSON.stringify(new URL('../../../src/files/ownedProcess.ts', import.meta.url).href);
/** Where Linux is told which number was given last. */
const LAST = '/proc/sys/kernel/ns_last_pid';
const isLinux = process.platform === 'linux';
const MOST_TRIES = 100;
const MOST_NUMBERS = 10;
/** Seconds. Longer than a clock tick, so that the two processes with one number have different start times. */
const MOMENT = '0.05';

function isTold(): boolean {
  try {
    accessSync(LAST, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts a process under a number, in a group of that number. Null where another process has taken the number. */
function strangerAs(t: TestContext, pid: number): ChildProcess | null {
  for (let attempt = 0; attempt < MOST_TRIES; attempt++) {
    writeFileSync(LAST, String(pid - 1));
    const stranger = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    t.after(() => stranger.kill('SIGKILL'));
    if (stranger.pid === pid) {
      return stranger;
    }
    stranger.kill('SIGKILL');
  }
  return null;
}

/** Repeats a body until it got its number: another process can take a number for good. */
async function untilTried(body: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < MOST_NUMBERS; attempt++) {
    if (await body()) {
      return;
    }
  }
  assert.fail(`Other processes took ${MOST_NUMBERS} numbers.`);
}

const lives = (pid: number): boolean => findListedProcess(pid)?.hasEnded === false;

it('a program that stays when it is asked to end is killed with what it started', async () => {
  const stays = "trap '' TERM; sleep 1000 & echo $!; while true; do wait; done";
  const owned = spawnOwned(process.env, (own) =>
    spawn('sh', ['-c', stays], { ...own, stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  const [line] = (await once(createInterface({ input: owned.stdout }), 'line')) as [string];
  await endOwned(owned, 50);
  assert.deepEqual([lives(owned.pid ?? 0), lives(Number(line))], [false, false]);
});

/** Starts an owner that runs a program of its own; a test reads its one line. */
async function ownerOf(t: TestContext, program: string): Promise<{ owner: ChildProcess; line: string }> {
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => owner.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
  return { owner, line };
}

it('a program ends whose owner is killed as it starts', { skip: !isLinux, timeout: 60_000 }, async (t) => {
  const program = `
    import { spawn } from 'node:child_process';
    import { writeSync } from 'node:fs';
    import { spawnOwned } from ${OWNED_PROCESS};
    spawnOwned(process.env, (own) => {
      const child = spawn('sleep', ['1000'], { ...own, stdio: 'ignore' });
      writeSync(1, String(child.pid) + '\\n');
      process.kill(process.pid, 'SIGKILL');
      return child;
    });
  `;
  const { line } = await ownerOf(t, program);
  const pid = Number(line);
  t.after(() => lives(pid) && process.kill(pid, 'SIGKILL'));
  while (lives(pid)) {
    await delay(5, undefined, { signal: t.signal });
  }
});

describe('a process that has the number of an owned one is left alone', { skip: !isTold() }, () => {
  it('where the owner ends what it owned', (t) =>
    untilTried(async () => {
      const owned = spawnOwned(process.env, (own) => spawn('sleep', [MOMENT], { ...own, stdio: 'ignore' }));
      await once(owned, 'exit');
      const stranger = strangerAs(t, owned.pid ?? 0);
      killOwned(owned);
      assert.ok(stranger === null || lives(stranger.pid ?? 0));
      return stranger !== null;
    }));

  it('where the owner was killed', (t) =>
    untilTried(async () => {
      const program = `
      import { spawn } from 'node:child_process';
      import { once } from 'node:events';
      import { spawnOwned } from ${OWNED_PROCESS};
      const start = (...command) => spawnOwned(process.env, (own) => spawn('sleep', command, { ...own, stdio: 'ignore' }));
      const [gone, stays] = [start('${MOMENT}'), start('1000')];
      await once(gone, 'exit');
      console.log(gone.pid, stays.pid);
    `;
      const { owner, line } = await ownerOf(t, program);
      const [gone = 0, stays = 0] = line.split(' ').map(Number);
      const stranger = strangerAs(t, gone);
      owner.kill('SIGKILL');
      while (lives(stays)) {
        await delay(5);
      }
      assert.ok(stranger === null || lives(gone));
      return stranger !== null;
    }));
});
