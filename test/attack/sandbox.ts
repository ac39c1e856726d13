/**
 * Attacks on the sandboxes of model-written Python: a wrong candidate that wants to be masked and not to score 0; one
 * that leaves something to the next, or sees a clock or chance.
 */

import { describe, it } from 'node:test';
import { SANDBOX_PLACES } from '../../src/engine/places.ts';
import type { PythonBackend } from '../../src/evaluate/python/grader.ts';
import { findBackendOnce, makeNativeCommand } from '../../src/evaluate/python/native/native.ts';
import { DEFAULT_LIMITS } from '../../src/evaluate/python/rules.ts';
import type { PythonTests } from '../../src/evaluate/python/rules.ts';
import { SandboxProcess } from '../../src/evaluate/python/sandbox/sandboxProcess.ts';
import { HashedStream } from '../../src/tasks/hashedStream.ts';
import { BACKENDS, grader, tests } from '../unit/evaluate/python/support.ts';
import { seed, tally } from './harness.ts';
import { EVERY_LOOK, leaving, looking, someLooks } from './leaks.ts';

/**
 * No answer of a candidate can make these tests pass, and some use it in ways that break tests: given back, raised
 * again, as a module's name.
 */
const USES: readonly PythonTests[] = [
  tests({ tests: ['assert f(f(2)) == 4 and False'] }),
  tests({
    test: 'def check(candidate):\n    value = candidate(2)\n    for _ in range(30):\n        value = candidate([value])\n    assert False',
    entryPoint: 'f',
  }),
  tests({
    test: 'def check(candidate):\n    if candidate(2) != 4:\n        import nowhere\n    assert False',
    entryPoint: 'f',
  }),
  tests({ tests: ['assert f(2) == 4 and False or f(lambda: 1)'] }),
  tests({
    tests: [
      'try:\n    value = f(1)\nexcept Exception as error:\n    raise ImportError(str(error))\nassert False, repr(value)',
    ],
  }),
  tests({ setup: 'GIVEN = f(0)', tests: ['__import__(str(GIVEN))', 'assert False'] }),
  tests({ tests: ['value = f(1)\nassert {value} == sorted([value, value])[0], hash(value)'] }),
];

/** A candidate that answers each call with bytes of its own choice, in place of the harness. */
const forged = (body: string): string =>
  `import sys, c3_harness, json, os\ndef f(x): return 1\ndef forge(request):\n    ${body.replaceAll('\n', '\n    ')}\nsys.modules['c3_harness'].WORK[b'C'] = forge\n`;

const DEPTHS = [1, 99, 100, 101, 110, 111, 120, 400, 1000, 100_000];
const PIECES = ['b\'["l",[\'', 'b\'["t",[\'', 'b\'["d",[1],[\'', "b'['", 'b\'{"a":\'', 'b\'["z",[1,\''];
const ENDS = ["b']]'", "b']]'", "b']]'", "b']'", "b'}'", "b']]'"];

/** One answer that no harness would give. */
function answerOf(stream: HashedStream): string {
  const kind = stream.pick(['v', 'x', 'u', 'f', 'z', '']);
  const form = stream.integer(0, 9);
  if (form < 6) {
    const depth = stream.pick(DEPTHS.map(String));
    return forged(`return b'${kind}' + ${PIECES[form] ?? ''} * ${depth} + b'1' + ${ENDS[form] ?? ''} * ${depth}`);
  }
  const wires = [
    '["i","-0x"]',
    '["c",[["l",[]],1]]',
    '["d",[["l",[]]],[1]]',
    '["s",[["d",[],[]]]]',
    '["f","infinity"]',
    '["u","zz"]',
    '{"a":{}}',
    '["q"]',
    '[]',
    '[[]]',
    'NaN',
    '["ImportError","nowhere"]',
    '["ModuleNotFoundError","x"]',
    '["SystemExit","0"]',
    '["RecursionError",[[]]]',
    '["sandbox","x"]',
    '["tests-broken","x"]',
    '"\\ud800"',
  ];
  if (form < 9) {
    return forged(`return b'${kind}' + ${JSON.stringify(stream.pick(wires))}.encode('utf-8', 'surrogatepass')`);
  }
  return forged(
    `return ${stream.pick(['None', '5', "'v1'", "b''", "b'v' * (5 << 20)", "bytearray(b'v1')", "memoryview(b'v1')"])}`,
  );
}

/** Ends of the candidate's process, its harness and its interpreter, at load or when it is called. */
const DEEDS: readonly string[] = [
  'import os\nos._exit(0)',
  'import os\nos._exit(77)',
  'import os\nos.abort()',
  'import os, signal\nos.kill(os.getpid(), signal.SIGKILL)',
  'import signal\nsignal.raise_signal(signal.SIGSEGV)',
  'import faulthandler\nfaulthandler._sigsegv()',
  'import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass',
  'import os\nos.closerange(0, 2000)',
  'import os\nfor fd in range(64):\n    try: os.write(fd, b"\\0" * 64)\n    except OSError: pass',
  'import os\nfor fd in range(3, 64):\n    try: os.dup2(1, fd)\n    except OSError: pass',
  'import sys\nsys.settrace(lambda *a: sys.exit(0))\n(lambda: 1)()',
  'import sys\nsys.setprofile(lambda *a: 1 / 0)\n(lambda: 1)()',
  'import atexit\natexit.register(lambda: 1 / 0)\nraise SystemExit(0)',
  'import gc, types\nfor one in gc.get_objects():\n    if type(one) is dict and b"C" in one: one.clear()',
  'import gc\nfor one in gc.get_objects():\n    if type(one) is dict and one.get("__name__") == "c3_harness": one.clear()',
  'import sys\nframe = sys._getframe()\nwhile frame:\n    frame.f_globals.clear() if "WORK" in frame.f_globals else None\n    frame = frame.f_back',
  'import sys\nsys.modules.clear()',
  'import builtins\nfor name in dir(builtins):\n    if name != "delattr": delattr(builtins, name)',
  'import sys\nsys.setrecursionlimit(10**9)\ng = lambda n: g(n + 1)\ng(0)',
  'import sys\nsys.setrecursionlimit(10**9)\na = []\nfor i in range(10**6): a = [a]\nrepr(a)',
  'a = [0]\nwhile True: a += a',
  'import json\njson.dumps = lambda *a: "x" * (64 << 20)\njson.loads = None',
  'raise ImportError("the tests need a module that is not here")',
  'raise MemoryError()',
  'raise KeyboardInterrupt()',
  'raise BaseExceptionGroup("x", [KeyboardInterrupt()])',
  'import ctypes\nctypes.string_at(0)',
  'import ctypes\nctypes.CDLL(None).raise_(9) if 0 else ctypes.CDLL(None).abort()',
  'import time\ntime.sleep = None\nwhile True: time.time()',
  'import resource\nresource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nwhile True: pass',
  'import os\nwhile True: os.read(0, 1 << 20)',
];
const WHENS: readonly ((deed: string) => string)[] = [
  (deed) => `${deed}\ndef f(x): return 1`,
  (deed) => `def f(x):\n    ${deed.replaceAll('\n', '\n    ')}\n    return 1`,
  (deed) =>
    `class D:\n    def __del__(self):\n        ${deed.replaceAll('\n', '\n        ')}\ndef f(x):\n    d = D()\n    return 1`,
];

/** Sandboxes for one backend: fresh ones, and the one that is used again and again. */
class Rooms {
  private readonly backend: PythonBackend;
  private readonly begun = new Set<SandboxProcess>();
  private image: Promise<Uint8Array> | null = null;

  constructor(backend: PythonBackend) {
    this.backend = backend;
  }

  async fresh(): Promise<SandboxProcess> {
    const keep = (sandbox: SandboxProcess): void => {
      this.begun.add(sandbox);
    };
    if (this.backend === 'python3') {
      return SandboxProcess.begin(
        makeNativeCommand(await findBackendOnce(), 'candidate', DEFAULT_LIMITS),
        'candidate',
        new Uint8Array(),
        keep,
      );
    }
    this.image ??= SandboxProcess.image(SANDBOX_PLACES, DEFAULT_LIMITS, keep);
    return SandboxProcess.start(SANDBOX_PLACES, 'candidate', DEFAULT_LIMITS, await this.image, keep);
  }

  /** All that a program says: when it loads, and when it is called. */
  async says(sandbox: SandboxProcess, code: string): Promise<string> {
    const said: string[] = [];
    for (const request of [
      `L${JSON.stringify({ code, imports: [], longest: DEFAULT_LIMITS.message })}`,
      `C${JSON.stringify({ do: 'call', args: ['l', [['g', 'f']]], kwargs: ['d', [], []] })}`,
    ]) {
      try {
        const { kind, content } = await sandbox.exchange('H', new TextEncoder().encode(request));
        said.push(kind + new TextDecoder().decode(content));
      } catch {
        said.push('ended');
      }
    }
    return said.join('\n');
  }

  close(): void {
    for (const sandbox of this.begun) {
      sandbox.kill();
    }
  }
}

/** How much is tried. */
export interface SandboxSizes {
  /** Forged answers. */
  readonly answers: number;
  /** One of so many deeds is tried. */
  readonly deedsApart: number;
  /** Drawn lists of what a program looks at. */
  readonly drawnLooks: number;
  /** Of all that a program can look at. */
  readonly looks: number;
  /** Backends in which a program looks for traces of others. */
  readonly traced: readonly PythonBackend[];
  /** Pairs of programs, one after the other. */
  readonly pairs: number;
}

/** Attacks by a program in a sandbox, as many as the sizes say. */
export function sandboxAttacks(sizes: SandboxSizes): void {
  for (const backend of BACKENDS) {
    describe(`a wrong candidate (${backend})`, () => {
      const count = tally(`masked by choice, ${backend}`);
      const one = grader({ backend, limits: { seconds: 0.5, memory: 128 } });
      const scoresZero = async (code: string, given: PythonTests): Promise<void> => {
        const verdict = await one.grade(code, given);
        if (verdict.score === 0) {
          count.held();
        } else {
          count.broken(`${verdict.rule}, ${verdict.masked ?? verdict.detail}\n${code}\n${JSON.stringify(given)}`);
        }
      };

      it('scores 0 whatever answers it forges', async () => {
        try {
          const stream = new HashedStream(`answers ${seed()}`);
          const asked = Array.from(
            { length: sizes.answers },
            (_, index) => [answerOf(stream), USES[index % USES.length] ?? tests({})] as const,
          );
          await Promise.all(asked.map(([code, given]) => scoresZero(code, given)));
          const deeds = DEEDS.flatMap((deed) => WHENS.map((when) => when(deed)));
          const skipped = sizes.deedsApart;
          await Promise.all(
            deeds
              .filter((_, index) => (index + seed()) % skipped === 0)
              .map((code, index) => scoresZero(code, USES[index % USES.length] ?? tests({}))),
          );
        } finally {
          one.close();
        }
      });
    });
  }

  for (const backend of sizes.traced) {
    describe(`what a program sees (${backend})`, () => {
      it('is the same alone, after any other, and in every process', async () => {
        const count = tally(`traces between candidates, ${backend}`);
        const rooms = new Rooms(backend);
        const alone = new Map<string, string>();
        try {
          const stream = new HashedStream(`pairs ${backend} ${seed()}`);
          const drawn = Array.from({ length: sizes.drawnLooks }, () => someLooks(stream));
          const looks = [...EVERY_LOOK.slice(0, sizes.looks), ...drawn];
          let used = await rooms.fresh();
          for (let pair = 0; pair < sizes.pairs; pair++) {
            const second = looking(looks[pair % looks.length] ?? []);
            if (!alone.has(second)) {
              const one = await rooms.fresh();
              alone.set(second, await rooms.says(one, second));
              one.kill();
            }
            const first = leaving(stream);
            await rooms.says(used, first);
            if (!(await used.reset())) {
              used = await rooms.fresh();
            }
            const seen = await rooms.says(used, second);
            if (!(await used.reset())) {
              used = await rooms.fresh();
            }
            if (seen === alone.get(second)) {
              count.held();
            } else {
              count.broken(`\n${first}\n${second}\nalone ${alone.get(second) ?? ''}\nafter ${seen}`);
            }
          }
        } finally {
          rooms.close();
        }
      });
    });
  }
}
