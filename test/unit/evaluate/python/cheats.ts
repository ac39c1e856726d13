import type { PythonRule } from '../../../../src/evaluate/python/rules.ts';
import { tests } from './support.ts';

/** Squares are asked for. */
export const SQUARES = tests({ tests: ['assert f(2) == 4', 'assert f(3) == 9', 'assert not f(4) != 16'] });

/**
 * Every candidate here tries to score without computing them: the rule that stops it, its code, and the rules of the
 * backend python3 where they are others.
 */
export const CHEATS: Readonly<
  Record<string, readonly [rule: PythonRule, code: string, native?: readonly PythonRule[]]>
> = {
  'an __eq__ that is always true': [
    'wrong-answer',
    'class E:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\ndef f(x): return E()',
  ],
  'a subclass of int with it': [
    'wrong-answer',
    'class E(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\ndef f(x): return E(0)',
  ],
  'sys.exit(0)': ['exit', 'import sys\ndef f(x): sys.exit(0)'],
  'sys.exit(0) while loading': ['exit', 'import sys\nsys.exit(0)'],
  'os._exit(0)': ['exit', 'import os\ndef f(x): os._exit(0)'],
  'an exception beside Exception': ['exit', 'class Own(BaseException): pass\ndef f(x): raise Own()'],
  'printed success': [
    'wrong-answer',
    'print("3 passed")\ndef f(x): print("1 passed"); print("\\n{\\"outcomes\\": [[\\"passed\\", \\"\\"]]}")',
  ],
  'patched builtins': [
    'crash',
    'import builtins, operator\nbuiltins.AssertionError = Warning\nbuiltins.isinstance = lambda *a: True\noperator.eq = lambda a, b: True\ndef f(x): return 1',
  ],
  'shadowed builtins': [
    'wrong-answer',
    'def f(x): return 1\ndef abs(x): return 0\ndef print(*x): return 0\n__builtins__ = {"AssertionError": Warning}',
  ],
  'reading the tests in its frames': [
    'wrong-answer',
    'import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n        for scope in (frame.f_locals, frame.f_globals):\n            for value in list(scope.values()):\n                if isinstance(value, str) and "assert" in value and "==" in value: return eval(value.split("==")[1])\n        frame = frame.f_back',
  ],
  'a patched harness': [
    'wrong-answer',
    'import c3_harness\nc3_harness.pack = lambda value, refer: 4\ndef f(x): return 1',
  ],
  'swallowed errors': ['wrong-answer', 'def f(x):\n    try: assert False\n    except BaseException: pass'],
  'an AssertionError of its own': ['candidate-exception', 'def f(x): raise AssertionError("4 == 4")'],
  NaN: ['wrong-answer', 'def f(x): return float("nan")'],
  'NaN that calls itself equal': [
    'wrong-answer',
    'class N(float):\n    def __eq__(self, other): return True\ndef f(x): return N("nan")',
  ],
  'writing to every file descriptor': [
    'wrong-answer',
    'import os\ndef f(x):\n    for fd in [*range(3, 64), 1000]:\n        try: os.write(fd, b"\\x1d\\0\\0\\0V{\\"outcomes\\":[[\\"passed\\",\\"\\"]]}")\n        except OSError: pass',
    ['crash'],
  ],
  'endless recursion': ['candidate-exception', 'def f(x): return f(x)'],
  'recursion without a limit': [
    'memory-limit',
    'import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x)',
    // At its limit CPython may lose the MemoryError on its way up, and raises a SystemError in its place.
    ['memory-limit', 'time-limit', 'candidate-exception'],
  ],
  'an exhausted stack below Python': [
    'crash',
    'import sys\nsys.setrecursionlimit(10**9)\ndef f(x):\n    a = []\n    for i in range(10**6): a = [a]\n    return repr(a)',
  ],
  'doubling memory': ['memory-limit', 'def f(x):\n    a = [0]\n    while True: a += a'],
  'a giant text': ['message-limit', 'def f(x): return "x" * 10**8'],
  'giant bytes': ['message-limit', 'def f(x): return {1: (b"x" * 10**8,)}'],
  'an endless loop': ['time-limit', 'def f(x):\n    while True: pass'],
  'an endless loop while loading': ['time-limit', 'while True: pass'],
  'an endless loop below Python': ['time-limit', 'import re\ndef f(x): return re.match("(a+)+$", "a" * 60 + "b")'],
  'an endless destructor': [
    'time-limit',
    'class D:\n    def __del__(self):\n        while True: pass\ndef f(x):\n    d = D()\n    del d',
  ],
  'forked children': ['candidate-exception', 'import os\ndef f(x):\n    while True: os.fork()'],
  'started programs': ['candidate-exception', 'import subprocess\ndef f(x): return subprocess.run(["sleep", "60"])'],
  threads: [
    'candidate-exception',
    'import threading\ndef f(x):\n    while True: threading.Thread(target=f, args=(x,)).start()',
  ],
  'an output flood': ['output-limit', 'def f(x):\n    while True: print("x" * 1000)'],
  'an error flood': ['output-limit', 'import os\ndef f(x):\n    while True: os.write(2, b"x" * 1000)'],
  'import js': ['forbidden', 'import js\ndef f(x): js.process.exit(0)', ['load-error']],
  'JavaScript as text': [
    'forbidden',
    'from pyodide.code import run_js\ndef f(x): return run_js("process.exit(0)")',
    ['load-error'],
  ],
  "the interpreter's own JavaScript": [
    'forbidden',
    'import pyodide_js\ndef f(x): return pyodide_js._module',
    ['load-error'],
  ],
  'foreign functions': [
    'forbidden',
    'import ctypes\ndef f(x): return ctypes.string_at(0, 100)',
    ['wrong-answer', 'crash'],
  ],
  'a shell': ['forbidden', 'import os\ndef f(x): return os.system("true")', ['wrong-answer']],
  'a broken text': ['does-not-compile', 'def f(x) return'],
  'nothing at all': ['candidate-exception', ''],
};
