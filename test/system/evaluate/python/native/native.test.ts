import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  findBackend,
  findPython,
  makeNativeCommand,
  WALLS,
  type NativePython,
} from '../../../../../src/evaluate/python/native/native.ts';
import { findWallWeakness } from '../../../../../src/evaluate/python/native/nativeCheck.ts';
import { KEEPER_PROGRAM } from '../../../../../src/evaluate/python/native/nativeKeeper.ts';
import { isAlive } from '../../../../../src/files/processes.ts';
import { listProcessesBelow } from '../../../../support/processes.ts';
import { BACKENDS } from '../../../../unit/evaluate/python/support.ts';

/** Whether this machine can keep a python3 apart; where it cannot, all that is tested is that nothing runs. */
const WALLED = BACKENDS.includes('python3');

const altered = (...changes: readonly (readonly [was: string, is: string])[]): string =>
  changes.reduce((program, [was, is]) => {
    assert.ok(program.includes(was), was);
    return program.replaceAll(was, is);
  }, KEEPER_PROGRAM);

/** Lets system calls through, by their numbers on both machines. */
const letThrough = (...numbers: readonly number[]): readonly [string, string] => [
  "'allowed': [",
  `'allowed': [${numbers.join(', ')}, `,
];

const NO_FILTER = ['    filter_calls()\n', ''] as const;

describe('the check before the first use', () => {
  /** A wall with one stone missing: what it finds. */
  const found = async (
    program: string,
    change: (python: NativePython) => NativePython = (python) => python,
  ): Promise<string | null> => {
    const python = change(await findPython());
    return findWallWeakness((role, limits) => makeNativeCommand({ python, wall: 'namespaces' }, role, limits, program));
  };
  const finds = async (
    words: RegExp,
    program: string,
    change?: (python: NativePython) => NativePython,
  ): Promise<void> => {
    const said = WALLED || process.platform === 'linux' ? await found(program, change) : 'no Linux';
    assert.match(said ?? 'nothing', WALLED ? words : /^(?!nothing$)/);
  };

  it('finds that nothing is open where a wall is built', async () => {
    if (WALLED) {
      assert.ok(WALLS.includes((await findBackend()).wall));
    } else {
      await assert.rejects(findBackend(), /^Error: The backend python3 refuses to work here: .+\.$/);
    }
  });

  it('finds each stone that is missing', async () => {
    await finds(/^code could open a socket$/, altered(NO_FILTER));
    // socket; socketpair
    await finds(/^code could open a socket$/, altered(letThrough(53, 199)));
    await finds(/^code could read this machine's files$/, KEEPER_PROGRAM, (python) => ({
      ...python,
      folders: [...python.folders, tmpdir()],
    }));
    await finds(
      /^code could write a file$/,
      altered(["    mount(None, '/', None, BIND | REMOUNT | READ_ONLY | kept('/'))\n", ''], ["('FSIZE', 0), ", '']),
    );
    // kill
    await finds(/^code could see another process$/, altered(letThrough(62, 129)));
    // unshare
    await finds(/^code could take rights/, altered(letThrough(272, 97)));
    // clone, fork, vfork, clone3, wait4
    await finds(/^code could start a process/, altered(letThrough(56, 57, 58, 435, 220), ["('NPROC', 0), ", '']));
    await finds(/^code could take more memory/, altered(["('AS', memory), ", '']));
    await finds(
      /^code could compute longer/,
      altered([
        '            self.late()\n',
        '            if time.clock_gettime(~self.child << 3 | 2) > 1: self.last("exit", "")\n',
      ]),
    );
    await finds(/not the first process of its own/, altered(['        build_wall()\n', '        pass\n']));
  });
});

describe('the backend python3', () => {
  it('is refused by name where no wall is known', async () => {
    await assert.rejects(
      findBackend('darwin'),
      /^Error: The backend python3 refuses to work here: macOS gives no wall [^.]*\.$/,
    );
    await assert.rejects(findBackend('win32'), /Windows gives no wall/);
    await assert.rejects(findBackend('freebsd'), /freebsd gives no wall/);
  });

  it('is refused where the Python is none, too old, of an unknown machine, or says nothing sensible', async () => {
    if (process.platform === 'win32') {
      return;
    }
    const folder = mkdtempSync(join(tmpdir(), 'c3-python-'));
    const before = process.env['C3_PYTHON'];
    try {
      const good = {
        program: '/python',
        version: [3, 12, 0],
        machine: 'x86_64',
        folders: ['/lib/python3.12', '/lib/python3.12/lib-dynload'],
        libraries: [],
        size: 1,
      };
      const says = async (text: string): Promise<NativePython> => {
        const program = join(folder, 'python3');
        writeFileSync(program, `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`);
        chmodSync(program, 0o755);
        process.env['C3_PYTHON'] = program;
        return findPython();
      };
      assert.deepEqual((await says(JSON.stringify(good))).folders, ['/lib/python3.12']);
      await assert.rejects(
        says(JSON.stringify({ ...good, version: [3, 9, 18] })),
        /Python 3\.9\.18, and 3\.10 is the oldest/,
      );
      await assert.rejects(says(JSON.stringify({ ...good, version: [2, 7, 18] })), /oldest/);
      await assert.rejects(says(JSON.stringify({ ...good, machine: 'riscv64' })), /riscv64 is not known/);
      await assert.rejects(says('hello'), /does not say what it is/);
      process.env['C3_PYTHON'] = join(folder, 'nowhere');
      await assert.rejects(findPython(), /nowhere is not installed/);
    } finally {
      if (before === undefined) {
        delete process.env['C3_PYTHON'];
      } else {
        process.env['C3_PYTHON'] = before;
      }
      rmSync(folder, { recursive: true });
    }
  });

  it('leaves nothing alive when its parent is killed in the middle of an endless candidate', async () => {
    const program = `
      import { PythonGrader } from ${JSON.stringify(new URL('../../../../../src/evaluate/python/grader.ts', import.meta.url).href)};
      const grader = new PythonGrader({ places: { entry: new URL('file:///none'), pyodide: null, image: null }, backend: 'python3', lanes: 1 });
      void grader.grade('while True: pass', { tests: ['f()'], test: '', entryPoint: null, setup: '' }).then(({ masked }) => console.log(masked));
      setInterval(() => console.log('working'), 200);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const said: string[] = [];
    parent.stdout.on('data', (piece: Buffer) => said.push(piece.toString()));
    const until = async (met: () => boolean): Promise<void> => {
      for (let wait = 0; !met() && wait < 2400; wait++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      assert.ok(met(), said.join(''));
    };
    try {
      // Two sandboxes of four processes each: the one that waits, the keeper, the guard, its child.
      await until(() =>
        WALLED
          ? listProcessesBelow(parent.pid ?? 0).length >= 8
          : said.some((line) => /refuses to work here/.test(line)),
      );
      const all = listProcessesBelow(parent.pid ?? 0);
      parent.kill('SIGKILL');
      await until(() => !all.some(({ pid }) => isAlive({ pid, processStart: null })));
    } finally {
      parent.kill('SIGKILL');
    }
  });
});
