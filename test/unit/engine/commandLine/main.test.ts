/** The command line in process: what it says, its exit code, and that nothing of one command reaches another. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { createCommandContext, type Streams } from '../../../../src/engine/commandLine/command.ts';
import { COMMANDS } from '../../../../src/engine/commandLine/commands.ts';
import { isCancellable, main } from '../../../../src/engine/commandLine/main.ts';
import { createProgressPrinter } from '../../../../src/engine/commandLine/support.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import { c3 } from '../workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-main-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const line = (id: string, returns: readonly number[]): string =>
  `${JSON.stringify({ id, alternatives: returns.map((one) => ({ returns: [one] })) })}\n`;

/** Streams whose standard output and error keep what is written. */
function streamsOf(stdin: Readable, isTTY = false): Streams & { readonly said: string[]; readonly noted: string[] } {
  const [said, noted]: [string[], string[]] = [[], []];
  const into = (texts: string[]): Writable & { isTTY: boolean } =>
    Object.assign(
      new Writable({
        write: (chunk: Buffer, _, done) => {
          texts.push(chunk.toString());
          done();
        },
      }),
      { isTTY },
    );
  const signal = new AbortController().signal;
  return { stdin, stdout: into(said), stderr: into(noted), areInherited: false, folder, env: {}, signal, said, noted };
}

describe('main', () => {
  it('gives the exit code of a command: done, failed, wrong arguments', async () => {
    assert.deepEqual(
      await c3(folder, ['credit', '--estimator', 'loo'], { stdin: '' }),
      { code: 0, stdout: '', stderr: '' },
      'done',
    );
    const failed = await c3(folder, ['taxonomy', '--run', 'any']);
    assert.deepEqual([failed.code, failed.stdout], [1, '']);
    assert.match(failed.stderr, /^c3: There is no store at [^\n]+\n$/);
    const wrong = await c3(folder, ['taxonomy', '--rum', 'any']);
    assert.deepEqual(
      [wrong.code, wrong.stdout, wrong.stderr],
      [2, '', 'c3: c3 taxonomy has no option --rum; did you mean --run?\n'],
    );
  });

  it('says the error on one line of bounded length', async () => {
    const { code, stderr } = await c3(folder, ['run', `${'x'.repeat(5000)}\ny.yaml`]);
    assert.equal(code, 2);
    assert.match(stderr, /^c3: [^\n]{100,2000}\n$/);
  });

  it('reads its own folder, environment and input, beside others in one process', async () => {
    const told = Array.from({ length: 8 }, async (_, index) => {
      const { stdout } = await c3(folder, ['credit', '--estimator', 'loo'], { stdin: line(`id ${index}`, [index, 0]) });
      const { id, credits } = JSON.parse(stdout) as { id: string; credits: number[] };
      assert.deepEqual([id, credits], [`id ${index}`, [index, 0 - index]]);
    });
    await Promise.all(told);
    const streams = streamsOf(Readable.from([]));
    assert.equal(await main(['serve', '--json'], { ...streams, env: { C3_SERVE_TOKEN: 'short' } }), 2);
    assert.match(streams.noted.join(''), /^c3: C3_SERVE_TOKEN needs 16 to 512 letters/);
    assert.match((await c3(folder, ['status', '--json'])).stdout, new RegExp(`"store":"${folder}/\\.c3/c3\\.sqlite"`));
    assert.deepEqual(readdirSync(folder), []);
  });

  it('says nothing where its reader has left, and that it was cancelled where one is there', async () => {
    const endless = (): Readable =>
      Readable.from(
        (function* () {
          for (;;) {
            yield Buffer.from(line('a', [1, 0]));
          }
        })(),
      );
    const left = streamsOf(endless());
    left.stdout.on('error', () => undefined);
    left.stdout.destroy(new Error('write EPIPE'));
    assert.equal(await main(['credit', '--estimator', 'loo'], left), 1);
    assert.deepEqual(left.noted, []);
    const streams = streamsOf(Readable.from([]));
    const cancelled = AbortSignal.abort();
    const log = JSON.stringify({
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: 'a' },
      ],
    });
    writeFileSync(join(folder, 'log.jsonl'), `${log}\n`);
    assert.equal(await main(['import', 'log.jsonl'], { ...streams, signal: cancelled }), 1);
    assert.deepEqual(streams.noted, ['Cancelled; what was stored stays.\n']);
  });

  it('gives a recorded program the streams and the environment of the command', async () => {
    const streams = streamsOf(Readable.from([Buffer.from('given')]));
    const program = "process.stdin.pipe(process.stdout); process.stderr.write(process.env.OF_THE_COMMAND ?? 'none')";
    const env = { ...process.env, OF_THE_COMMAND: 'own' };
    const code = await main(['record', '--', process.execPath, '-e', program], { ...streams, env });
    assert.match(streams.said.join(''), /^given/);
    assert.match(streams.noted.join(''), /^own/);
    assert.equal(code, 0, streams.noted.join(''));
  });
});

describe('Ctrl+C', () => {
  it('cancels what may leave something half done, and ends anything else at once', () => {
    const ended = Object.keys(COMMANDS).filter((name) => !isCancellable([name]));
    assert.deepEqual(ended, [
      ...['convert', 'status', 'taxonomy', 'diagnose', 'report', 'infer', 'credit', 'completion'],
    ]);
    assert.equal(isCancellable(['diagnose', '--run', 'x', '--sample']), true);
    assert.equal(isCancellable(['diagnose', '--run', 'x', '--emptied']), true);
    assert.equal(isCancellable(['diagnose', '--run', 'x', '--training-credit']), true);
    assert.equal(isCancellable(['record', '--', 'program', '--help']), true);
    for (const args of [[], ['help'], ['--version'], ['run', '--help'], ['repaly'], ['constructor']]) {
      assert.equal(isCancellable(args), false, args.join(' '));
    }
  });
});

describe('a context', () => {
  it('stops printing where nobody reads, and takes note of what has failed', () => {
    const streams = streamsOf(Readable.from([]));
    let failed = 0;
    const context = createCommandContext('verify', streams, () => failed++);
    context.print('a');
    context.note('b');
    context.fails();
    assert.deepEqual([streams.said, streams.noted, failed], [['a\n'], ['b\n'], 1]);
    streams.stdout.on('error', () => undefined);
    streams.stdout.destroy(new Error('write EPIPE'));
    assert.throws(() => context.print('c'), CancelledError);
  });

  it('writes below a line of progress, which is there on a terminal alone', () => {
    const written = (isTTY: boolean): readonly string[] => {
      const streams = streamsOf(Readable.from([]), isTTY);
      const context = createCommandContext('blame', streams, () => undefined);
      context.showProgress('1 of 2');
      context.showProgress('2 of 2');
      context.note('a remark');
      context.print('a result');
      context.showProgress('3 of 4');
      context.print('another');
      return [streams.noted.join(''), streams.said.join('')];
    };
    assert.deepEqual(written(true), [
      '\r\u001b[2K1 of 2\r\u001b[2K2 of 2\na remark\n\r\u001b[2K3 of 4\n',
      'a result\nanother\n',
    ]);
    assert.deepEqual(written(false), ['a remark\n', 'a result\nanother\n']);
  });

  it('rewrites one line of progress on a terminal, and writes a line for each tenth elsewhere', () => {
    const progress = [1, 2, 3, 100].map((done) => ({
      stage: 'evaluate-before' as const,
      done,
      total: 100,
      message: `Evaluating: ${done} of 100`,
    }));
    const shown = (isTTY: boolean): string => {
      const streams = streamsOf(Readable.from([]), isTTY);
      const show = createProgressPrinter(createCommandContext('run', streams, () => undefined));
      progress.forEach(show);
      return streams.noted.join('');
    };
    assert.equal(
      shown(true),
      progress
        .map(({ message }) => `\r\u001b[2K${message}`)
        .join('')
        .concat('\n'),
    );
    assert.equal(shown(false), 'Evaluating: 1 of 100\nEvaluating: 100 of 100\n');
  });
});
