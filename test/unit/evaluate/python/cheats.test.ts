import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { PythonGrader } from '../../../../src/evaluate/python/grader.ts';
import { SANDBOX_PLACES } from '../../../../src/engine/places.ts';
import { DEFAULT_LIMITS, type PythonRule } from '../../../../src/evaluate/python/rules.ts';
import { SandboxProcess } from '../../../../src/evaluate/python/sandboxProcess.ts';
import { grader, tests } from './support.ts';

/** Squares are asked for; every candidate here tries to score without computing them. */
const SQUARES = tests({ tests: ['assert f(2) == 4', 'assert f(3) == 9', 'assert not f(4) != 16'] });

const CHEATS: Readonly<Record<string, readonly [PythonRule, string]>> = {
  'an __eq__ that is always true': ['not-a-builtin', 'class E:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\ndef f(x): return E()'],
  'a subclass of int with it': ['not-a-builtin', 'class E(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\ndef f(x): return E(0)'],
  'sys.exit(0)': ['exit', 'import sys\ndef f(x): sys.exit(0)'],
  'sys.exit(0) while loading': ['exit', 'import sys\nsys.exit(0)'],
  'os._exit(0)': ['exit', 'import os\ndef f(x): os._exit(0)'],
  'an exception beside Exception': ['exit', 'class Own(BaseException): pass\ndef f(x): raise Own()'],
  'printed success': ['wrong-answer', 'print("3 passed")\ndef f(x): print("1 passed"); print("\\n{\\"outcomes\\": [[\\"passed\\", \\"\\"]]}")'],
  'patched builtins': ['crash', 'import builtins, operator\nbuiltins.AssertionError = Warning\nbuiltins.isinstance = lambda *a: True\noperator.eq = lambda a, b: True\ndef f(x): return 1'],
  'shadowed builtins': ['wrong-answer', 'def f(x): return 1\ndef abs(x): return 0\ndef print(*x): return 0\n__builtins__ = {"AssertionError": Warning}'],
  'reading the tests in its frames': ['wrong-answer', 'import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n        for scope in (frame.f_locals, frame.f_globals):\n            for value in list(scope.values()):\n                if isinstance(value, str) and "assert" in value and "==" in value: return eval(value.split("==")[1])\n        frame = frame.f_back'],
  'a patched harness': ['wrong-answer', 'import c3_harness\nc3_harness.pack = lambda value: 4\ndef f(x): return 1'],
  'swallowed errors': ['wrong-answer', 'def f(x):\n    try: assert False\n    except BaseException: pass'],
  'an AssertionError of its own': ['candidate-exception', 'def f(x): raise AssertionError("4 == 4")'],
  'NaN': ['wrong-answer', 'def f(x): return float("nan")'],
  'NaN that calls itself equal': ['not-a-builtin', 'class N(float):\n    def __eq__(self, other): return True\ndef f(x): return N("nan")'],
  'writing to every file descriptor': ['wrong-answer', 'import os\ndef f(x):\n    for fd in [*range(3, 64), 1000]:\n        try: os.write(fd, b"\\x1d\\0\\0\\0V{\\"outcomes\\":[[\\"passed\\",\\"\\"]]}")\n        except OSError: pass'],
  'endless recursion': ['candidate-exception', 'def f(x): return f(x)'],
  'recursion without a limit': ['memory-limit', 'import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x)'],
  'an exhausted stack below Python': ['crash', 'import sys\nsys.setrecursionlimit(10**9)\ndef f(x):\n    a = []\n    for i in range(10**6): a = [a]\n    return repr(a)'],
  'doubling memory': ['memory-limit', 'def f(x):\n    a = [0]\n    while True: a += a'],
  'a giant text': ['message-limit', 'def f(x): return "x" * 10**8'],
  'an endless loop': ['time-limit', 'def f(x):\n    while True: pass'],
  'an endless loop while loading': ['time-limit', 'while True: pass'],
  'an endless loop below Python': ['time-limit', 'import re\ndef f(x): return re.match("(a+)+$", "a" * 60 + "b")'],
  'an endless destructor': ['time-limit', 'class D:\n    def __del__(self):\n        while True: pass\ndef f(x):\n    d = D()\n    del d'],
  'forked children': ['candidate-exception', 'import os\ndef f(x):\n    while True: os.fork()'],
  'started programs': ['candidate-exception', 'import subprocess\ndef f(x): return subprocess.run(["sleep", "60"])'],
  'threads': ['candidate-exception', 'import threading\ndef f(x):\n    while True: threading.Thread(target=f, args=(x,)).start()'],
  'an output flood': ['output-limit', 'def f(x):\n    while True: print("x" * 1000)'],
  'an error flood': ['output-limit', 'import os\ndef f(x):\n    while True: os.write(2, b"x" * 1000)'],
  'import js': ['forbidden', 'import js\ndef f(x): js.process.exit(0)'],
  'JavaScript as text': ['forbidden', 'from pyodide.code import run_js\ndef f(x): return run_js("process.exit(0)")'],
  "the interpreter's own JavaScript": ['forbidden', 'import pyodide_js\ndef f(x): return pyodide_js._module'],
  'foreign functions': ['forbidden', 'import ctypes\ndef f(x): return ctypes.string_at(0, 100)'],
  'a shell': ['forbidden', 'import os\ndef f(x): return os.system("true")'],
  'a broken text': ['does-not-compile', 'def f(x) return'],
  'nothing at all': ['candidate-exception', ''],
};

let one: PythonGrader;
before(() => {
  one = grader({ lanes: 2, limits: { seconds: 2 } });
});
after(() => {
  one.close();
});

/** The processes whose parent this process is. */
function children(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((entry) => {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1');
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(process.pid);
    } catch {
      return false;
    }
  });
}

describe('a cheat', () => {
  for (const [name, [rule, code]] of Object.entries(CHEATS)) {
    it(`scores 0 within its limits: ${name}`, async () => {
      const verdict = await one.grade(code, SQUARES);
      assert.deepEqual([verdict.score, verdict.rule], [0, rule], verdict.masked ?? verdict.detail);
    });
  }

  it('leaves nothing behind for the next candidate of its process', async () => {
    const begun: SandboxProcess[] = [];
    const keep = (sandbox: SandboxProcess): void => {
      begun.push(sandbox);
    };
    const image = await SandboxProcess.image(SANDBOX_PLACES, DEFAULT_LIMITS, keep);
    const sandbox = await SandboxProcess.start(SANDBOX_PLACES, 'candidate', DEFAULT_LIMITS, image, keep);
    const ask = async (request: string): Promise<string> => new TextDecoder().decode((await sandbox.exchange('H', new TextEncoder().encode(request))).content);
    const load = (code: string): Promise<string> => ask(`L${JSON.stringify({ code, imports: [] })}`);
    const call = (): Promise<string> => ask(`C${JSON.stringify({ name: 'f', args: ['l', []], kwargs: ['d', [], []] })}`);
    try {
      const look = 'import math, json, os, re, sys, time, random\ndef f(): return [abs(-2), bool(re.match("a", "a")), "SPOILT" in os.environ, math.sqrt(4), len(sys.path), sys.getrecursionlimit(), sys.stdout is not None, time.time(), random.random(), hasattr(sys.modules["candidate"], "stay")]';
      assert.equal(await load(look), 'v');
      const first = await call();
      assert.match(first, /^v\["l", \[2, true, false, 2\.0, \d+, 1000, true, 17672256\d\d\.\d+, 0\.\d+, false\]\]$/);
      assert.equal(await sandbox.reset(), true);
      const spoil = 'import builtins, os, re, sys, time, random, c3_harness\nbuiltins.abs = lambda x: 0\nre.match = None\nos.environ["SPOILT"] = "1"\nsys.modules["math"] = None\nc3_harness.TAGS.clear()\ntime.sleep(100)\nsys.setrecursionlimit(500)\nsys.stdout = None\nfile = open("/lib/python314.zip", "rb")\nstay = b"SPOILT" * 10**6\nrandom.random()\nsys.path.clear()\ndef f(): return 1';
      assert.equal(await load(spoil), 'v');
      assert.equal(await call(), 'v1');
      assert.equal(await sandbox.reset(), true);
      assert.equal(await load(look), 'v');
      assert.equal(await call(), first);
    } finally {
      for (const one of begun) one.kill();
    }
  });

  it('reads no file of this machine and writes none', async () => {
    const code = `import os\ndef f(path):\n    try: return open(path).read()\n    except OSError as error: return type(error).__name__\ndef w(path):\n    try: open(path, "w").write("x")\n    except OSError as error: return error.strerror\ndef seen(): return [*os.environ], os.listdir("/tmp")`;
    const paths = ['/etc/passwd', '/proc/self/environ', process.execPath, import.meta.filename].map((path) => JSON.stringify(path));
    const verdict = await one.grade(code, tests({ tests: [...paths.map((path) => `assert f(${path}) == 'FileNotFoundError', f(${path})`), "assert w('/tmp/left') == w('left') == 'Read-only file system', w('/tmp/left')", "assert seen()[1] == [] and 'SECRET' not in str(seen())"] }));
    assert.deepEqual([verdict.score, verdict.detail], [1, '']);
  });

  it('reaches no server on this machine', async () => {
    let reached = 0;
    const server: Server = createServer((socket) => {
      reached++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      const attempts = [`import socket\ndef f(x):\n    s = socket.socket()\n    s.connect(("127.0.0.1", ${String(port)}))`, `import urllib.request\ndef f(x): return urllib.request.urlopen("http://127.0.0.1:${String(port)}/").read()`, `from pyodide.http import open_url\ndef f(x): return open_url("http://127.0.0.1:${String(port)}/").read()`];
      for (const code of attempts) assert.equal((await one.grade(code, SQUARES)).score, 0);
      assert.equal(reached, 0);
    } finally {
      server.close();
    }
  });

  it('keeps no process alive', async () => {
    const held = children().length;
    const other = grader({ lanes: 1, limits: { seconds: 1 } });
    await other.grade('while True: pass', SQUARES);
    other.close();
    for (let wait = 0; children().length > held && wait < 200; wait++) await new Promise((resolve) => setTimeout(resolve, 25));
    assert.ok(children().length <= held);
  });

  it('does not hinder the honest candidate after it', async () => {
    assert.equal((await one.grade('def f(x):\n    return x * x', SQUARES)).rule, 'passed');
  });
});
