/** Which runs end the process of a sandbox, and which leave one that is put back: after those it is as a new one. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { SANDBOX_PLACES } from '../../../../../src/engine/places.ts';
import { startBundledSandboxes, SandboxPool } from '../../../../../src/evaluate/python/pool.ts';
import { DEFAULT_LIMITS, type PythonVerdict } from '../../../../../src/evaluate/python/rules.ts';
import { tryCandidate } from '../../../../../src/evaluate/python/trial.ts';
import { tests } from '../../../../unit/evaluate/python/support.ts';

/** Runs that this wall ends in order, each in the middle of something that it has changed. */
const ENDED: readonly (readonly [rule: string, code: string])[] = [
  ['exit', 'import os, builtins\nbuiltins.left = 1\ndef f(): os._exit(0)'],
  ['forbidden', 'import os\nos.environ["LEFT"] = "1"\nimport js'],
  ['output-limit', 'kept = open("/lib/python314.zip", "rb")\ndef f():\n    while True: print("x" * 1000)'],
  ['time-limit', 'import builtins\nbuiltins.abs = None\nwhile True: pass'],
  ['time-limit', 'def f():\n    while True:\n        try: g()\n        except BaseException: pass'],
  ['time-limit', 'import re\ndef f(): return re.match("(a+)+$", "a" * 60 + "b")'],
  ['message-limit', 'def f(): return "x" * 10_000'],
];

/** Says all that a program before it could have left. */
const LOOK =
  'import builtins, os, random, sys, time\ndef f(): return [hasattr(builtins, "left"), "LEFT" in os.environ, abs(-1), time.time(), random.random(), sys.getrecursionlimit(), len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None]';

describe('a sandbox of the bundled interpreter', () => {
  const limits = { ...DEFAULT_LIMITS, seconds: 0.3, message: 5000 };
  const begin = startBundledSandboxes(SANDBOX_PLACES, limits);
  let candidates = 0;
  const pool = new SandboxPool((role, onBegun) => {
    candidates += role === 'candidate' ? 1 : 0;
    return begin(role, onBegun);
  });
  after(() => pool.giveUp('the tests are over'));
  const run = (code: string, test: string): Promise<PythonVerdict> =>
    tryCandidate(code, tests({ tests: [test] }), pool, limits, 'strict');

  it('is put back after a run that its wall ended, and is then as a new one', async () => {
    const fresh = (await run(LOOK, 'assert f() == 0, f()')).detail;
    assert.match(fresh, /False, False, 1, /);
    for (const [rule, code] of ENDED) {
      assert.equal((await run(code, 'assert f() == 0')).rule, rule, code);
      assert.equal((await run(LOOK, 'assert f() == 0, f()')).detail, fresh, code);
    }
    assert.equal(candidates, 1);
  });

  it('is replaced where memory has grown and where Python never asks for the time', async () => {
    const before = candidates;
    const grown = await run('def f():\n    a = [0]\n    while True: a += a', 'assert f() == 0');
    assert.equal(grown.rule, 'memory-limit');
    const unasked = await run('def f(): return sum(iter(int, 1))', 'assert f() == 0');
    assert.deepEqual([unasked.rule, unasked.detail], ['time-limit', 'took more than 0.3 s']);
    assert.equal((await run('def f(): return 1', 'assert f() == 1')).score, 1);
    assert.equal(candidates, before + 2);
  });

  it('has no other state than memory, tables and four globals, of which one changes while Python runs', () => {
    const program = readFileSync(join(SANDBOX_PLACES.pyodide ?? '', 'pyodide.asm.wasm'));
    // The pointer to the stack, its two ends, which are set at start, and the upper half of a result for JavaScript.
    assert.equal(mutableGlobals(program), 4);
  });
});

/** How many globals of its own a WebAssembly program may change (binary format, sections 5.5.2 and 5.5.9). */
function mutableGlobals(program: Uint8Array): number {
  let at = 8;
  const number = (): number => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = program[at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) {
        return value;
      }
    }
  };
  while (at < program.length) {
    const section = program[at++];
    const end = number() + at;
    if (section === 6) {
      let mutable = 0;
      for (let left = number(); left > 0; left--) {
        const [type, changes, instruction] = program.subarray(at, at + 3);
        assert.ok(type === 0x7f && instruction === 0x41, 'a global that is not an integer set to a constant');
        mutable += changes ?? 0;
        at += 3;
        number();
        assert.equal(program[at++], 0x0b);
      }
      return mutable;
    }
    at = end;
  }
  return 0;
}
