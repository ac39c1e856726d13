import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { c3, parseLine } from '../../../unit/engine/workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-grade-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const lines = (...items: readonly object[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('');
const answers = (stdout: string): Record<string, unknown>[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => parseLine(`${line}\n`));

describe('c3 grade --kind math', () => {
  it('answers one line each, in order, with the keys of the contract', async () => {
    // GSM8K's form: a solution with calculator notes, its answer behind ####.
    const solution = 'Ana buys 3 boxes of 12 eggs, 3*12 = <<3*12=36>>36.\nShe pays 36*2 = $<<36*2=72>>72.\n#### 72';
    const input = lines(
      { id: 'a', gold: solution, prediction: solution },
      { id: 2, gold: '72', prediction: '\\boxed{73}' },
      { id: 'c', gold: 72, prediction: 'So $72.' },
      { id: 'd', gold: '1/2', prediction: '所以答案是二分之一。' },
    );
    const { code, stdout, stderr } = await c3(folder, ['grade', '--kind', 'math'], { stdin: input });
    assert.equal(code, 0, stderr);
    assert.deepEqual(answers(stdout), [
      { id: 'a', score: 1, rule: 'hash-line: equal numbers' },
      { id: 2, score: 0, rule: 'boxed: different numbers' },
      { id: 'c', score: 0, rule: 'whole-message: different texts' },
      { id: 'd', score: 1, rule: 'answer-phrase: equal numbers' },
    ]);
  });

  it('takes a percent sign and the case of a choice as its users write them, each by a named rule', async () => {
    const input = lines(
      { id: 1, gold: '50', prediction: '\\boxed{50\\%}' },
      { id: 2, gold: '\\text{(B)}', prediction: 'Answer: b' },
      { id: 3, gold: 'x', prediction: '\\boxed{X}' },
      { id: 4, gold: '0.5', prediction: '\\boxed{50\\%}' },
      { id: 5, gold: '0.5', prediction: '50' },
    );
    const { stdout, stderr } = await c3(folder, ['grade', '--kind', 'math'], { stdin: input });
    assert.deepEqual(
      answers(stdout).map(({ score, rule }) => [score, rule]),
      [
        [1, 'boxed: equal, percent sign left out'],
        [1, 'answer-phrase: equal, letter case of a choice left out'],
        [0, 'boxed: different expressions'],
        [1, 'boxed: equal numbers'],
        [0, 'whole-message: different numbers'],
      ],
      stderr,
    );
  });

  it('is strict unless asked to be lenient, and masks a blank gold without stopping', async () => {
    const input = lines(
      { id: 1, gold: '3', prediction: '3.4' },
      { id: 2, gold: ' ', prediction: '3' },
      { id: 3, gold: '3', prediction: '3' },
    );
    const scores = async (...more: string[]): Promise<unknown[]> =>
      answers((await c3(folder, ['grade', '--kind', 'math', ...more], { stdin: input })).stdout).map(
        ({ score }) => score,
      );
    assert.deepEqual(await scores(), [0, null, 1]);
    assert.deepEqual(await scores('--grader', 'lenient'), [1, null, 1]);
    const { code, stdout, stderr } = await c3(folder, ['grade', '--kind', 'math'], { stdin: input });
    const [, masked] = answers(stdout);
    assert.deepEqual([masked?.['rule'], typeof masked?.['masked']], ['no-gold', 'string']);
    assert.deepEqual(
      [code, stderr],
      [1, 'c3: 1 of 3 lines are masked (no-gold 1): they have no score, and "masked" says why.\n'],
    );
  });

  it('names what is wrong: the line, the kind, the grader', async () => {
    const bad = await c3(folder, ['grade', '--kind', 'math'], {
      stdin: `${lines({ id: 1, gold: '3', prediction: '3' })}{"id": 2}\n`,
    });
    assert.equal(bad.code, 2);
    assert.match(bad.stderr, /line 2: gold/);
    assert.equal(answers(bad.stdout).length, 1, 'lines before it are answered');
    assert.match((await c3(folder, ['grade'])).stderr, /--kind/);
    assert.match(
      (await c3(folder, ['grade', '--kind', 'math', '--grader', 'kind'])).stderr,
      /--grader is strict, lenient or fraction, not "kind"/,
    );
  });
});
