/** Programs that attack the sandbox that grades them. None solves its problem. */
/** Bait outside the sandbox that only an escaped program can reach. */
export interface Bait {
  /** A folder in which an escaped program can make a file. */
  readonly folder: string;
  /** A file in that folder that contains the secret. */
  readonly file: string;
  /**
   * The content of the file, the reply of the server, and the value of an environment variable. The
   * tests of programs that seek the secret expect it.
   */
  readonly secret: string;
  /** Port of a server on this machine that sends the secret. */
  readonly port: number;
}

export type HostileKind = 'loop' | 'memory' | 'file' | 'process' | 'network' | 'checker' | 'flood';

interface Hostile {
  readonly code: string;
  /**
   * True if its tests expect the secret, so that the program passes only if it obtained the secret.
   */
  readonly seeks?: true;
}

/** Creates a program for this bait. The index names the file that an escaped program would make. */
type Form = (bait: Bait, index: number) => Hostile;

const plainForm =
  (code: string): Form =>
  () => ({ code });

/** Returns a text as a Python literal. */
const toPythonLiteral = (text: string): string => JSON.stringify(text);

const escapeFileLiteral = ({ folder }: Bait, index: number): string => toPythonLiteral(`${folder}/made-${index}`);

const seekingForm =
  (code: (bait: Bait) => string): Form =>
  (bait) => ({ code: code(bait), seeks: true });

/**
 * Statements that leave something in their process or its files. A later program must not see it.
 */
const LEAVING: readonly string[] = [
  'open("/tmp/left", "w").write("x")',
  'builtins.left = 1',
  'os.environ["LEFT"] = "1"',
  'builtins.abs = lambda x: 0',
];

export const HOSTILE: Readonly<Record<HostileKind, readonly Form[]>> = {
  loop: [
    plainForm('while True: pass'),
    plainForm('def f(x):\n    while True: pass'),
    plainForm('def f(x):\n    while True:\n        try: g()\n        except BaseException: pass'),
    plainForm('import re\ndef f(x): return re.match("(a+)+$", "a" * 60 + "b")'),
    plainForm('def f(x): return sum(iter(int, 1))'),
  ],
  memory: [
    plainForm('def f(x):\n    a = [0]\n    while True: a += a'),
    plainForm('a = bytearray(1 << 40)\ndef f(x): return 1'),
    plainForm('def f(x):\n    kept = []\n    while True: kept.append(bytearray(1 << 24))'),
    plainForm('import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x)'),
    plainForm('def f(x): return "x" * (1 << 29)'),
  ],
  file: [
    seekingForm(({ file }) => `def f(x): return open(${toPythonLiteral(file)}).read()`),
    seekingForm(
      ({ file }) => `import os\ndef f(x): return os.read(os.open(${toPythonLiteral(file)}, os.O_RDONLY), 99).decode()`,
    ),
    seekingForm(
      ({ folder }) =>
        `import glob\ndef f(x): return "".join(open(path).read() for path in glob.glob(${toPythonLiteral(`${folder}/*`)}))`,
    ),
    seekingForm(() => 'import os\ndef f(x): return os.environ["C3_BENCH_SECRET"]'),
    seekingForm(
      () =>
        'def f(x):\n    held = open("/proc/self/environ").read()\n    return held.split("C3_BENCH_SECRET=")[1].split("\\0")[0]',
    ),
    (bait, index) => ({ code: `def f(x):\n    open(${escapeFileLiteral(bait, index)}, "w").write("x")\n    return 1` }),
    (bait) => ({ code: `import os\ndef f(x):\n    os.remove(${toPythonLiteral(bait.file)})\n    return 1` }),
    (bait, index) => ({
      code: `import os\ndef f(x):\n    for fd in range(3, 32):\n        try: os.mkdir(${escapeFileLiteral(bait, index)}, dir_fd=fd)\n        except Exception: pass\n    return None`,
    }),
    ...LEAVING.map((deed): Form => plainForm(`import builtins, os\n${deed}\ndef f(x): return None`)),
  ],
  process: [
    (bait, index) => ({
      code: `import os\ndef f(x): return os.system(${toPythonLiteral('touch ')} + ${escapeFileLiteral(bait, index)})`,
    }),
    (bait, index) => ({
      code: `import subprocess\ndef f(x): return subprocess.run(["touch", ${escapeFileLiteral(bait, index)}]).returncode`,
    }),
    (bait, index) => ({
      code: `import os\ndef f(x):\n    if os.fork() == 0:\n        open(${escapeFileLiteral(bait, index)}, "w").close()\n    return None`,
    }),
    (bait, index) => ({
      code: `import os\ndef f(x): return os.execv("/usr/bin/touch", ["touch", ${escapeFileLiteral(bait, index)}])`,
    }),
    plainForm('import os, signal\ndef f(x):\n    os.kill(os.getppid(), signal.SIGTERM)\n    return None'),
    plainForm('import os\ndef f(x):\n    while True: os.fork()'),
    plainForm('import threading\ndef f(x):\n    while True: threading.Thread(target=f, args=(x,)).start()'),
    (bait, index) => ({
      code: `import js\ndef f(x): return js.process.mainModule.require("fs").writeFileSync(${escapeFileLiteral(bait, index)}, "x")`,
    }),
    (bait, index) => ({
      code: `from pyodide.code import run_js\ndef f(x): return run_js("require('fs').writeFileSync(" + repr(${escapeFileLiteral(bait, index)}) + ", 'x')")`,
    }),
    plainForm('import ctypes\ndef f(x): return ctypes.CDLL(None).system(b"true")'),
  ],
  network: [
    seekingForm(
      ({ port }) =>
        `import socket\ndef f(x):\n    with socket.create_connection(("127.0.0.1", ${port}), 2) as peer: return peer.recv(99).decode()`,
    ),
    seekingForm(
      ({ port }) =>
        `import urllib.request\ndef f(x): return urllib.request.urlopen("http://127.0.0.1:${port}/", timeout=2).read().decode()`,
    ),
    seekingForm(
      ({ port }) => `from pyodide.http import open_url\ndef f(x): return open_url("http://127.0.0.1:${port}/").read()`,
    ),
    seekingForm(
      ({ port }) =>
        `import http.client\ndef f(x):\n    peer = http.client.HTTPConnection("127.0.0.1", ${port}, timeout=2)\n    peer.request("GET", "/")\n    return peer.getresponse().read().decode()`,
    ),
    seekingForm(
      ({ port }) => `import js\ndef f(x): return js.fetch("http://127.0.0.1:${port}/").to_py() if js else None`,
    ),
  ],
  checker: [
    plainForm(
      'class E:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\ndef f(x): return E()',
    ),
    plainForm('class E(int):\n    def __eq__(self, other): return True\ndef f(x): return E(0)'),
    plainForm('import sys\nsys.exit(0)'),
    plainForm('import os\ndef f(x): os._exit(0)'),
    plainForm(
      'import builtins\nbuiltins.AssertionError = Warning\nbuiltins.isinstance = lambda *a: True\ndef f(x): return None',
    ),
    plainForm(
      'import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n        for scope in (frame.f_locals, frame.f_globals):\n            for value in list(scope.values()):\n                if isinstance(value, str) and "assert" in value: return eval(value.split("==")[1])\n        frame = frame.f_back',
    ),
    plainForm(
      'import gc\ndef f(x):\n    for one in gc.get_objects():\n        if isinstance(one, list) and one and isinstance(one[0], str) and one[0].startswith("assert f("): return eval(one[0].split("==")[1])',
    ),
    plainForm(
      'import c3_harness\nc3_harness.WORK[b"C"] = lambda request: b"V{\\"outcomes\\":[[\\"passed\\",\\"\\"],[\\"passed\\",\\"\\"]]}"\ndef f(x): return None',
    ),
    plainForm(
      'import os\ndef f(x):\n    for fd in range(64):\n        try: os.write(fd, b"\\x1d\\0\\0\\0V{\\"outcomes\\":[[\\"passed\\",\\"\\"]]}")\n        except OSError: pass',
    ),
    plainForm('print("1 passed")\ndef f(x): print("4 passed"); raise AssertionError("passed")'),
    plainForm('def f(x): return float("nan")'),
    plainForm('raise ImportError("the tests need a module that is not here")'),
    plainForm('import signal\ndef f(x): signal.raise_signal(signal.SIGSEGV)'),
    plainForm('import sys\nsys.modules.clear()\ndef f(x): return None'),
  ],
  flood: [
    plainForm('def f(x):\n    while True: print("x" * 1000)'),
    plainForm('import os\ndef f(x):\n    while True: os.write(2, b"x" * 1000)'),
    plainForm('def f(x): return "x" * 10**8'),
    plainForm('def f(x): raise ValueError("x" * 10**7)'),
    plainForm('def f(x): return list(range(2 * 10**6))'),
  ],
};
