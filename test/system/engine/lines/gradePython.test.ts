import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { c3, c3Apart, parseLine, type Finished } from '../../../unit/engine/workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-grade-python-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const lines = (...items: readonly object[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('');
const answers = (stdout: string): Record<string, unknown>[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => parseLine(`${line}\n`));

const TESTS = ['assert f(1) == 2'];
const RIGHT = 'def f(x):\n    return x + 1\n';
const WRONG = 'def f(x):\n    return x\n';
// Fences in a program's own documentation are none of a message.
const DOCUMENTED = `def f(x):\n    \"\"\"\n\`\`\`python\nraise SystemExit\n\`\`\`\n    \"\"\"\n    return x + 1\n`;
const block = (code: string, language = 'python'): string => `\`\`\`${language}\n${code}\`\`\`\n`;
const MESSAGES: readonly (readonly [code: string, score: number, rule: string])[] = [
  [block(RIGHT), 1, 'fenced-block: passed'],
  [`Here it is:\n${block(RIGHT)}It adds one.`, 1, 'fenced-block: passed'],
  [`Run pip first:\n${block('pip install x\n', 'bash')}${block(RIGHT)}${block(WRONG)}`, 1, 'fenced-block: passed'],
  [block(RIGHT, ''), 1, 'fenced-block: passed'],
  [`\n\n${block(WRONG)}`, 0, 'fenced-block: wrong-answer'],
  [DOCUMENTED, 1, 'passed'],
  [`So:\n${block('def f(:\n')}`, 0, 'fenced-block: does-not-compile'],
  ['I do not know.', 0, 'does-not-compile'],
  [RIGHT, 1, 'passed'],
];
const PROGRAMS = [
  { id: 'a', code: 'def f(x):\n    return x + 1', tests: ['assert f(1) == 2', 'assert f(-1) == 0'] },
  {
    id: 2,
    code: 'def f(x):\n    return x',
    test: 'def check(candidate):\n    assert candidate(1) == 2',
    entryPoint: 'f',
  },
  { id: 'c', code: 'def f(x):\n    return math.floor(x)', tests: ['assert f(1.5) == 1'], setup: 'import math' },
  { id: 'd', code: 'def f(x):\n    return x', tests: ['assert f('] },
];

describe('c3 grade --kind python', () => {
  let graded: Finished;
  before(async () => {
    // One start of the interpreters for all programs. The byte order mark is none of the first line.
    const stdin = `\ufeff${lines(...PROGRAMS, ...MESSAGES.map(([code], id) => ({ id, code, tests: TESTS })))}`;
    graded = await c3(folder, ['grade', '--kind', 'python'], { stdin });
  });

  it('answers one line each, in order, with the keys of the contract', () => {
    assert.deepEqual(
      [graded.code, graded.stderr],
      [1, 'c3: 1 of 13 lines are masked (tests-broken 1): they have no score, and "masked" says why.\n'],
    );
    const [a, b, c, d] = answers(graded.stdout);
    assert.deepEqual(
      [a, b, c],
      [
        { id: 'a', score: 1, rule: 'passed' },
        { id: 2, score: 0, rule: 'wrong-answer' },
        { id: 'c', score: 1, rule: 'passed' },
      ],
    );
    assert.deepEqual(
      [d?.['id'], d?.['score'], d?.['rule'], typeof d?.['masked']],
      ['d', null, 'tests-broken', 'string'],
    );
  });

  it('takes the fenced block that a run takes, and names the rule; a program with fences is taken whole', () => {
    assert.deepEqual(
      answers(graded.stdout)
        .slice(PROGRAMS.length)
        .map(({ id, score, rule }) => [id, score, rule]),
      MESSAGES.map(([, score, rule], id) => [id, score, rule]),
    );
  });

  it('gives the share of passed tests where it is asked for', async () => {
    const input = lines({ id: 1, code: 'def f(x):\n    return 1', tests: ['assert f(1) == 1', 'assert f(2) == 2'] });
    const { code, stdout, stderr } = await c3(folder, ['grade', '--kind', 'python', '--grader', 'fraction'], {
      stdin: input,
    });
    assert.deepEqual([code, answers(stdout)], [0, [{ id: 1, score: 0.5, rule: 'partly' }]], stderr);
  });

  it('names a line that is wrong, and a grader that it does not know', async () => {
    for (const line of [
      { id: 1, code: 'x = 1' },
      { id: 1, code: 'x = 1', test: 'check()', entryPoint: 'f(1)' },
      { id: 1, tests: ['assert True'] },
    ]) {
      const { code, stderr } = await c3(folder, ['grade', '--kind', 'python'], { stdin: lines(line) });
      assert.equal(code, 2);
      assert.match(stderr, /standard input, line 1: /);
    }
    const { code, stderr } = await c3(folder, ['grade', '--kind', 'python', '--grader', 'lenient'], { stdin: '' });
    assert.equal(code, 2);
    assert.match(stderr, /strict and fraction/);
  });

  it('runs the Python of this machine where that is asked for and can be kept apart, and says in one sentence where it cannot', async () => {
    const input = lines({
      id: 1,
      code: 'import sys\ndef f(x):\n    return sys.platform',
      tests: ["assert f(1) == 'linux'"],
    });
    const { code, stdout, stderr } = await c3(folder, ['grade', '--kind', 'python', '--backend', 'python3'], {
      stdin: input,
    });
    if (code === 0) {
      assert.deepEqual(answers(stdout), [{ id: 1, score: 1, rule: 'passed' }]);
    } else {
      assert.match(stderr, /The backend python3 refuses to work here: .+\. --backend bundled/);
    }
    const none = await c3Apart(folder, ['grade', '--kind', 'python', '--backend', 'python3'], {
      stdin: input,
      shell: `export C3_PYTHON='${join(folder, 'nowhere')}'`,
    });
    assert.deepEqual([none.code, none.stdout], [1, '']);
    assert.match(none.stderr, /refuses to work here: .*nowhere is not installed\. --backend bundled/);
    for (const args of [
      ['--kind', 'python', '--backend', 'docker'],
      ['--kind', 'math', '--backend', 'python3'],
    ]) {
      const wrong = await c3(folder, ['grade', ...args], { stdin: '' });
      assert.equal(wrong.code, 2);
      assert.match(wrong.stderr, /--backend/);
    }
  });
});
