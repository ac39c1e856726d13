/** Programs that cheat a grader. */

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { PythonBackend, PythonGrader } from '../../../../src/evaluate/python/grader.ts';
import { findBackendOnce, makeNativeCommand } from '../../../../src/evaluate/python/native/native.ts';
import { startBundledSandboxes } from '../../../../src/evaluate/python/pool.ts';
import { DEFAULT_LIMITS } from '../../../../src/evaluate/python/rules.ts';
import { SandboxProcess } from '../../../../src/evaluate/python/sandbox/sandboxProcess.ts';
import { sandboxPlaces } from '../../../support/programs.ts';
import { CHEATS, SQUARES } from '../../../unit/evaluate/python/cheats.ts';
import { grader, tests } from '../../../unit/evaluate/python/support.ts';

// What a sandbox must not see of its parent.
process.env['C3_CANARY'] = 'x';

/** One sandbox by itself. */
async function startOne(backend: PythonBackend, keep: (sandbox: SandboxProcess) => void): Promise<SandboxProcess> {
  if (backend === 'python3') {
    return SandboxProcess.begin(
      makeNativeCommand(await findBackendOnce(), 'candidate', DEFAULT_LIMITS),
      'candidate',
      new Uint8Array(),
      keep,
    );
  }
  return startBundledSandboxes(sandboxPlaces(), DEFAULT_LIMITS)('candidate', keep);
}

/**
 * @param names of the cheats, which are keys of CHEATS
 * @param backends that each is tried on
 */
export function triedCheats(names: readonly string[], backends: readonly PythonBackend[]): void {
  for (const backend of backends) {
    describe(`a cheat (${backend})`, () => {
      // What ends by its time ends soon; all others have the time to meet the limit that they are about.
      let hasty: PythonGrader;
      let patient: PythonGrader;
      before(() => {
        hasty = grader({ backend, lanes: 1, limits: { seconds: 2 } });
        patient = grader({ backend, lanes: 1, limits: { seconds: 20 } });
      });
      after(() => {
        hasty.close();
        patient.close();
      });

      for (const [name, [bundled, code, native]] of Object.entries(CHEATS).filter(([cheat]) => names.includes(cheat))) {
        it(`scores 0 within its limits: ${name}`, async () => {
          const verdict = await (bundled === 'time-limit' ? hasty : patient).grade(code, SQUARES);
          assert.equal(verdict.score, 0, verdict.masked ?? verdict.detail);
          const rules = backend === 'python3' && native !== undefined ? native : [bundled];
          assert.ok(rules.includes(verdict.rule), `${verdict.rule}: ${verdict.detail}`);
        });
      }

      it('leaves nothing behind for the next candidate of its process', async () => {
        const begun: SandboxProcess[] = [];
        const keep = (sandbox: SandboxProcess): void => {
          begun.push(sandbox);
        };
        const sandbox = await startOne(backend, keep);
        const ask = async (request: string): Promise<string> =>
          new TextDecoder().decode((await sandbox.exchange('H', new TextEncoder().encode(request))).content);
        const load = (code: string): Promise<string> =>
          ask(`L${JSON.stringify({ code, imports: [], longest: DEFAULT_LIMITS.message })}`);
        const call = (): Promise<string> =>
          ask(`C${JSON.stringify({ do: 'call', args: ['l', [['g', 'f']]], kwargs: ['d', [], []] })}`);
        try {
          const look =
            'import math, json, os, re, sys, time, random\ndef f(): return [abs(-2), bool(re.match("a", "a")), "SPOILT" in os.environ, math.sqrt(4), len(sys.path), sys.getrecursionlimit(), sys.stdout is not None, time.time(), random.random(), hasattr(sys.modules["candidate"], "stay")]';
          assert.equal(await load(look), 'v');
          const first = await call();
          assert.match(
            first,
            /^v\["l", \[2, true, false, 2\.0, \d+, 1000, true, 17672256\d\d\.\d+, 0\.\d+, false\]\]$/,
          );
          assert.equal(await sandbox.reset(), true);
          const spoil =
            'import builtins, os, re, sys, time, random, c3_harness\nbuiltins.abs = lambda x: 0\nre.match = None\nos.environ["SPOILT"] = "1"\nsys.modules["math"] = None\nc3_harness.TAGS.clear()\ntime.sleep(100)\nsys.setrecursionlimit(500)\nsys.stdout = None\nfile = open(re.__file__ if os.path.exists(re.__file__) else "/lib/python314.zip", "rb")\nstay = b"SPOILT" * 10**6\nrandom.random()\nsys.path.clear()\ndef f(): return 1';
          assert.equal(await load(spoil), 'v');
          assert.equal(await call(), 'v1');
          assert.equal(await sandbox.reset(), true);
          assert.equal(await load(look), 'v');
          assert.equal(await call(), first);
        } finally {
          for (const one of begun) {
            one.kill();
          }
        }
      });

      it('reads no file of this machine and writes none', async () => {
        const code = `import os\ndef f(path):\n    try: return open(path).read()\n    except OSError as error: return type(error).__name__\ndef w(path):\n    try: open(path, "w").write("x")\n    except OSError as error: return error.strerror\ndef seen(): return [*os.environ], os.listdir("/tmp") if os.path.exists("/tmp") else []`;
        const paths = ['/etc/passwd', '/proc/self/environ', process.execPath, import.meta.filename].map((path) =>
          JSON.stringify(path),
        );
        const verdict = await patient.grade(
          code,
          tests({
            tests: [
              ...paths.map((path) => `assert f(${path}) == 'FileNotFoundError', f(${path})`),
              "for path in ['/tmp/left', 'left', '/left', '/dev/shm/left']: assert w(path) in ('Read-only file system', 'No such file or directory'), w(path)",
              "assert seen()[1] == [] and 'C3_CANARY' not in seen()[0], seen()",
            ],
          }),
        );
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
          const attempts = [
            `import socket\ndef f(x):\n    s = socket.socket()\n    s.connect(("127.0.0.1", ${port}))`,
            `import urllib.request\ndef f(x): return urllib.request.urlopen("http://127.0.0.1:${port}/").read()`,
            `from pyodide.http import open_url\ndef f(x): return open_url("http://127.0.0.1:${port}/").read()`,
          ];
          for (const code of attempts) {
            assert.equal((await patient.grade(code, SQUARES)).score, 0);
          }
          assert.equal(reached, 0);
        } finally {
          server.close();
        }
      });

      it('does not hinder the honest candidate after it', async () => {
        assert.equal((await patient.grade('def f(x):\n    return x * x', SQUARES)).rule, 'passed');
      });
    });
  }
}
