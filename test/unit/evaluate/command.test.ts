/** A command of the user's as a scorer: what it prints is a score, and what goes wrong with it is none. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeCommandEvaluator } from '../../../src/evaluate/command.ts';
import { EvaluatorLost, type Graded } from '../../../src/evaluate/evaluator.ts';
import { CancelledError } from '../../../src/shared/errors.ts';

const INSTANCE = { uid: 'one', uidSha: 'sha', question: 'How many?', answer: '4', source: 'test', level: 0 };
const node = (script: string): readonly string[] => [process.execPath, '-e', script];
const graded = (
  command: readonly string[],
  { text = 'four', timeLimit = 20_000, signal }: { text?: string; timeLimit?: number; signal?: AbortSignal } = {},
): Promise<Graded> => makeCommandEvaluator({ command, folder: tmpdir(), timeLimit }).evaluate(INSTANCE, text, signal);

describe('a scoring command', () => {
  it('reads the message as JSON, and has no key of ours', async (t) => {
    process.env['C3_KEY_A_EXAMPLE'] = 'secret';
    t.after(() => {
      delete process.env['C3_KEY_A_EXAMPLE'];
    });
    const script = `const o = JSON.parse(require('fs').readFileSync(0, 'utf8'));
      const well = o.uid === 'one' && o.question === 'How many?' && o.answer === '4' && o.text === '"é"\\n'
        && Object.keys(o).length === 4 && process.env.C3_KEY_A_EXAMPLE === undefined;
      console.log(well ? 0.25 : 1)`;
    assert.deepEqual(await graded(node(script), { text: '"é"\n' }), { score: 0.25, rule: 'command' });
  });

  it('is no shell: what looks like one is an argument', async () => {
    const script = "console.log(process.argv[1] === '$(id); echo 1' ? 1 : 0)";
    assert.equal((await graded([...node(script), '$(id); echo 1'])).score, 1);
  });

  for (const [name, script, words] of [
    ['fails', "console.error('no model'); process.exit(3)", /^The scoring command ended with 3: no model\.$/],
    ['prints nothing', '', /printed "", which is no number from 0 to 1/],
    ['prints a number that is no score', 'console.log(1.5)', /printed "1\.5", which is no number/],
    ['prints another word', "console.log('NaN')", /printed "NaN"/],
    ['prints two', "console.log('1\\n0')", /printed "1\\n0"/],
    ['floods', "for (;;) require('fs').writeSync(1, 'x'.repeat(9999))", /printed 4096 characters and more/],
    ['ends itself', "process.kill(process.pid, 'SIGKILL')", /was ended by SIGKILL/],
  ] as const) {
    it(`masks where it ${name}, and never scores 0`, async () => {
      const { score, masked = '' } = await graded(node(script));
      assert.equal(score, null);
      assert.match(masked, words);
    });
  }

  it('is ended with what it started when its time is over', async () => {
    const script = `require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => 0, 1e6)'], { stdio: 'inherit' });
      setInterval(() => 0, 1e6)`;
    const { score, masked } = await graded(node(script), { timeLimit: 300 });
    assert.deepEqual([score, masked], [null, 'The scoring command took longer than 0.3 s.']);
  });

  it('that cannot be started leaves no evaluator, and a cancel is no failure', async () => {
    await assert.rejects(
      graded(['/nowhere/at-all']),
      (error) => error instanceof EvaluatorLost && /could not be started .*check scorer\.command/.test(error.message),
    );
    const leaving = new AbortController();
    const asked = graded(node('setInterval(() => 0, 1e6)'), { signal: leaving.signal });
    setTimeout(() => leaving.abort(), 50);
    await assert.rejects(asked, CancelledError);
  });

  it('runs a few at a time, and each message has its own score', async () => {
    const script = "console.log(JSON.parse(require('fs').readFileSync(0, 'utf8')).text)";
    const evaluator = makeCommandEvaluator({ command: node(script), folder: tmpdir(), timeLimit: 20_000 });
    const texts = ['0', '0.1', '0.2', '0.3', '0.4', '0.5'];
    const scores = await Promise.all(texts.map(async (text) => (await evaluator.evaluate(INSTANCE, text)).score));
    assert.deepEqual(scores, texts.map(Number));
  });

  it(
    'runs no more than four at a time, whoever asks, with all that they started',
    { skip: process.platform !== 'linux' },
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'c3-command-'));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      // Each leaves a child behind that only its end ends, and counts all of them.
      const script = `const { spawn } = require('child_process');
      spawn('sleep', ['1000'], { stdio: 'ignore', detached: true, cwd: process.cwd() }).unref();
      const here = (pid) => { try { return require('fs').readlinkSync('/proc/' + pid + '/cwd') === process.cwd() && require('fs').readFileSync('/proc/' + pid + '/comm', 'utf8') === 'sleep\\n'; } catch { return false; } };
      console.log(require('fs').readdirSync('/proc').filter((pid) => /^[0-9]+$/.test(pid) && here(pid)).length > 4 ? 0 : 1)`;
      const evaluators = [1, 2].map(() => makeCommandEvaluator({ command: node(script), folder, timeLimit: 20_000 }));
      const asked = evaluators.flatMap((evaluator) =>
        [1, 2, 3, 4, 5].map((text) => evaluator.evaluate(INSTANCE, String(text))),
      );
      assert.deepEqual(new Set((await Promise.all(asked)).map(({ score }) => score)), new Set([1]));
    },
  );
});
