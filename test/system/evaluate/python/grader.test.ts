import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { SANDBOX_PLACES } from '../../../../src/engine/places.ts';
import { PythonGrader, makeVerdictKey, type VerdictCache } from '../../../../src/evaluate/python/grader.ts';
import { scoreVerdict, type PythonVerdict } from '../../../../src/evaluate/python/rules.ts';
import type { SandboxPlaces } from '../../../../src/evaluate/python/sandbox/sandboxProcess.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import { grader, tests } from '../../../unit/evaluate/python/support.ts';

const GIVEN = tests({ tests: ['assert f(1) == 2'] });
const RIGHT = 'def f(x):\n    return x + 1';

describe('a failure of the sandbox itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-sandbox-'));
  const program = (text: string): URL => {
    const path = join(folder, `program-${text.length}.mjs`);
    writeFileSync(path, text);
    return pathToFileURL(path);
  };
  const fails = async (places: SandboxPlaces, words: RegExp): Promise<void> => {
    const one = new PythonGrader({ places, limits: { seconds: 1 } });
    try {
      const verdict = await one.grade(RIGHT, GIVEN);
      assert.deepEqual([verdict.score, verdict.rule], [null, 'sandbox']);
      assert.match(verdict.masked ?? '', words);
    } finally {
      one.close();
    }
  };

  it('is masked: no interpreter, no program, a program that dies, one that speaks nonsense', async () => {
    try {
      await fails({ ...SANDBOX_PLACES, pyodide: null }, /not installed/);
      await fails({ ...SANDBOX_PLACES, pyodide: folder }, /cannot work here/);
      await fails({ ...SANDBOX_PLACES, entry: pathToFileURL(join(folder, 'nowhere.mjs')) }, /ended with code 1/);
      await fails({ ...SANDBOX_PLACES, entry: program('process.exit(3)') }, /ended with code 3/);
      await fails(
        {
          ...SANDBOX_PLACES,
          entry: program('process.stdout.write("hello, this is no message at all\\n"); setInterval(() => 0, 1000)'),
        },
        /not a message/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a cancel', () => {
  it('gives up what waits for its turn, unless somebody else waits for the same verdict', async () => {
    const ran: string[] = [];
    const one = grader({ lanes: 1, cache: { get: () => undefined, set: (key) => ran.push(key) } });
    const controller = new AbortController();
    const other = new AbortController().signal;
    const code = (name: string): string => `${RIGHT}\n# ${name}`;
    const ask = (name: string, given = controller.signal): Promise<PythonVerdict> =>
      one.grade(code(name), GIVEN, 'uid', given);
    try {
      const [running, waiting, shared, also] = [ask('running'), ask('waiting'), ask('shared'), ask('shared', other)];
      const refused = assert.rejects(waiting, CancelledError);
      controller.abort();
      // What has begun ends; of what had not, only what another asked for too is run.
      assert.equal((await running).score, 1);
      await refused;
      assert.deepEqual([(await shared).score, (await also).score], [1, 1]);
      assert.deepEqual(new Set(ran), new Set(['running', 'shared'].map((name) => makeVerdictKey('uid', code(name)))));
      // It is free for the next one.
      assert.equal((await ask('waiting', other)).score, 1);
    } finally {
      one.close();
    }
  });
});

describe('verdicts', () => {
  it('are kept by uidSha and code, to the byte; what is known is not run again', async () => {
    const kept = new Map<string, PythonVerdict>([
      [makeVerdictKey('uid', RIGHT), scoreVerdict(0.5, 'partly', 'from before', 1, 2)],
    ]);
    const sets: string[] = [];
    const cache: VerdictCache = { get: (key) => kept.get(key), set: (key) => sets.push(key) };
    const one = grader({ cache });
    try {
      assert.equal((await one.grade(RIGHT, GIVEN, 'uid')).detail, 'from before');
      assert.equal((await one.grade(RIGHT, GIVEN, 'other')).rule, 'passed');
      assert.equal((await one.grade(`${RIGHT}\n`, GIVEN, 'uid')).rule, 'passed');
      assert.deepEqual(sets, [makeVerdictKey('other', RIGHT), makeVerdictKey('uid', `${RIGHT}\n`)]);
      // Another interpreter's verdict is another verdict.
      assert.notEqual(makeVerdictKey('uid', RIGHT, 'python3'), makeVerdictKey('uid', RIGHT, 'bundled'));
      // Masked verdicts are not kept.
      await one.grade(RIGHT, tests({ tests: ['assert f('] }), 'broken');
      assert.equal(sets.length, 2);
    } finally {
      one.close();
    }
  });

  it('are masked for what is still running when the grader is closed', async () => {
    const one = grader({ lanes: 1 });
    await one.grade(RIGHT, GIVEN);
    const running = one.grade('while True: pass', GIVEN);
    setTimeout(() => one.close(), 100);
    assert.equal((await running).score, null);
  });
});
