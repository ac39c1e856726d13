import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isAlive } from '../../../src/files/processes.ts';
import { eventually } from '../../integration/harness/eventually.ts';
import { runTestFiles, type FileResult, type FileResults } from '../../runner/testFile.ts';

const folder = mkdtempSync(join(tmpdir(), 'c3-runner-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const never = new AbortController().signal;

/** Runs a test file with this body. */
async function running(
  body: string,
  milliseconds = 60_000,
  stop = never,
): Promise<FileResult & { readonly output: FileResults['output'] }> {
  const { files, output } = await runTestFiles([written('one', body)], { C3_WORD: 'lent' }, milliseconds, stop);
  return { ...(files[0] ?? assert.fail()), output };
}

/** A test file with this body. */
function written(name: string, body: string): string {
  const file = join(folder, `${name}.test.mjs`);
  writeFileSync(file, `import { test } from 'node:test';\nimport assert from 'node:assert/strict';\n${body}`);
  return file;
}

test('the tests of a file are counted, and what it uses of the processor', async () => {
  const result = await running(`
    test('lent', () => assert.equal(process.env.C3_WORD, 'lent'));
    test('works', () => {
      const { user } = process.cpuUsage();
      for (let sum = 0; process.cpuUsage().user - user < 100_000; ) { for (let i = 0; i < 1e6; i++) sum += i; }
    });
    test('fails', () => assert.fail('why it fails'));
  `);
  assert.deepEqual([result.passed, result.failed], [2, 1]);
  assert.ok(result.processorSeconds > 0.1 && result.processorSeconds < 20, String(result.processorSeconds));
  assert.match(result.output, /✖ fails[\s\S]*why it fails/u);
});

test('a file that ends before its tests have is a failure, whatever its code', async () => {
  const result = await running(`test('ends', () => process.exit(0)); test('never', () => {});`);
  assert.equal(result.passed, 0);
  assert.equal(result.failed, 1);
  assert.match(result.output, /one\.test\.mjs ended with code 0, without a report of all its tests\./u);
});

test('a file that cannot be loaded is a failure with the reason', async () => {
  const result = await running(`import './absent.mjs';`);
  assert.ok(result.failed > 0);
  assert.match(result.output, /absent\.mjs/u);
});

test('a file that passes and then throws is a failure', async () => {
  const result = await running(`test('passes', () => {}); process.on('exit', () => { process.exitCode = 3; });`);
  assert.deepEqual([result.passed, result.failed], [1, 1]);
});

test('a file that does not end is ended with what it started', async () => {
  const result = await running(
    `import { spawn } from 'node:child_process';
    test('hangs', async () => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      console.log('child', child.pid);
      await new Promise((resolve) => setInterval(() => undefined, 1000));
    });`,
    3_000,
  );
  assert.equal(result.failed, 1);
  assert.match(result.output, /did not end in time/u);
});

test('a file that is stopped is ended with what it started, and has no result', async () => {
  const stop = new AbortController();
  const note = join(folder, 'child');
  const file = written(
    'stopped',
    `import { spawn } from 'node:child_process';
    import { writeFileSync } from 'node:fs';
    test('hangs', async () => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      writeFileSync(${JSON.stringify(note)}, String(child.pid));
      await new Promise((resolve) => setInterval(() => undefined, 1000));
    });`,
  );
  const done = runTestFiles([file], {}, 60_000, stop.signal);
  await eventually('its child', () => existsSync(note) && readFileSync(note, 'utf8') !== '');
  stop.abort();
  assert.deepEqual(await done, { files: [], output: '' });
  await eventually(
    'the end of its child',
    () => !isAlive({ pid: Number(readFileSync(note, 'utf8')), processStart: null }),
  );
  assert.deepEqual(await runTestFiles([file], {}, 60_000, stop.signal), { files: [], output: '' });
});

test('files that share a process are counted apart', async () => {
  const long = written(
    'long',
    "test('long', () => { const end = performance.now() + 200; while (performance.now() < end); });",
  );
  const wrong = written(
    'wrong',
    "test('right', () => {}); test('wrong', () => assert.fail('why')); test.skip('left out', () => {});",
  );
  const { files, output } = await runTestFiles([long, wrong], {}, 60_000, never);
  assert.deepEqual(
    files.map(({ file, passed, failed }) => [file, passed, failed]),
    [
      [long, 1, 0],
      [wrong, 1, 2],
    ],
  );
  assert.match(output, /✖ wrong[\s\S]*why/u);
  const [first = NaN, second = NaN] = files.map(({ processorSeconds }) => processorSeconds);
  assert.ok(first > second && second >= 0, `${first} and ${second}`);
});

test('hooks run for the tests of their own file; tests that a helper declares count for the calling file', async () => {
  const helper = join(folder, 'declares.mjs');
  writeFileSync(helper, "import { test } from 'node:test'; export const declare = (name) => test(name, () => {});");
  const hooked = written(
    'hooked',
    `import { beforeEach } from 'node:test';
    import { declare } from './declares.mjs';
    beforeEach(() => { globalThis.times = (globalThis.times ?? 0) + 1; });
    declare('first');
    declare('second');`,
  );
  const plain = written(
    'plain',
    `import { declare } from './declares.mjs';
    declare('third');
    test('counts', () => assert.equal(globalThis.times, 2));`,
  );
  const { files, output } = await runTestFiles(
    [hooked, plain, written('broken', "import './absent.mjs';")],
    {},
    60_000,
    never,
  );
  assert.deepEqual(
    files.map(({ passed, failed }) => [passed, failed]),
    [
      [2, 0],
      [2, 0],
      [0, 1],
    ],
    output,
  );
});

test('a process that is ended in the middle is one failure, for all of its files', async () => {
  const { files, output } = await runTestFiles(
    [written('fine', "test('fine', () => {});"), written('ends', "test('ends', () => process.exit(0));")],
    {},
    60_000,
    never,
  );
  assert.equal(
    files.reduce((sum, { failed }) => sum + failed, 0),
    1,
  );
  assert.match(output, /fine\.test\.mjs, .*ends\.test\.mjs ended with code 0, without a report of all its tests\./u);
});
