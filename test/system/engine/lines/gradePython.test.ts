import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { c3, c3Apart, parseLine } from '../../../unit/engine/workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-grade-python-'));
});
after(() => {
  rmSync(folder, { recursive: true, force: true });
});

const lines = (...items: readonly object[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('');
const answers = (stdout: string): Record<string, unknown>[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => parseLine(`${line}\n`));

describe('c3 grade --kind python', () => {
  it('answers one line each, in order, with the keys of the contract', async () => {
    const input = lines(
      { id: 'a', code: 'def f(x):\n    return x + 1', tests: ['assert f(1) == 2', 'assert f(-1) == 0'] },
      {
        id: 2,
        code: 'def f(x):\n    return x',
        test: 'def check(candidate):\n    assert candidate(1) == 2',
        entryPoint: 'f',
      },
      { id: 'c', code: 'def f(x):\n    return math.floor(x)', tests: ['assert f(1.5) == 1'], setup: 'import math' },
      { id: 'd', code: 'def f(x):\n    return x', tests: ['assert f('] },
    );
    const { code, stdout, stderr } = await c3(folder, ['grade', '--kind', 'python'], { stdin: input });
    assert.deepEqual(
      [code, stderr],
      [1, 'c3: 1 of 4 lines are masked (tests-broken 1): they have no score, and "masked" says why.\n'],
    );
    const [a, b, c, d] = answers(stdout);
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

  it('takes the fenced block that a run takes, and names the rule; a program with fences is taken whole', async () => {
    const tests = ['assert f(1) == 2'];
    const right = 'def f(x):\n    return x + 1\n';
    const wrong = 'def f(x):\n    return x\n';
    // Fences in a program's own documentation are none of a message.
    const documented = `def f(x):\n    \"\"\"\n\`\`\`python\nraise SystemExit\n\`\`\`\n    \"\"\"\n    return x + 1\n`;
    const block = (code: string, language = 'python'): string => `\`\`\`${language}\n${code}\`\`\`\n`;
    const cases: [code: string, score: number, rule: string][] = [
      [block(right), 1, 'fenced-block: passed'],
      [`Here it is:\n${block(right)}It adds one.`, 1, 'fenced-block: passed'],
      [`Run pip first:\n${block('pip install x\n', 'bash')}${block(right)}${block(wrong)}`, 1, 'fenced-block: passed'],
      [block(right, ''), 1, 'fenced-block: passed'],
      [`\n\n${block(wrong)}`, 0, 'fenced-block: wrong-answer'],
      [documented, 1, 'passed'],
      [`So:\n${block('def f(:\n')}`, 0, 'fenced-block: does-not-compile'],
      ['I do not know.', 0, 'does-not-compile'],
      [right, 1, 'passed'],
    ];
    const input = lines(...cases.map(([code], id) => ({ id, code, tests })));
    const { code, stdout, stderr } = await c3(folder, ['grade', '--kind', 'python'], { stdin: input });
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      answers(stdout).map(({ score, rule }) => [score, rule]),
      cases.map(([, score, rule]) => [score, rule]),
    );
  });

  it('gives the share of passed tests where it is asked for', async () => {
    const input = lines({ id: 1, code: 'def f(x):\n    return 1', tests: ['assert f(1) == 1', 'assert f(2) == 2'] });
    assert.deepEqual(
      answers((await c3(folder, ['grade', '--kind', 'python', '--grader', 'fraction'], { stdin: input })).stdout),
      [{ id: 1, score: 0.5, rule: 'partly' }],
    );
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
