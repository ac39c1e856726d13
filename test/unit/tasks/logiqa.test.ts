import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeMathEvaluator } from '../../../src/evaluate/evaluator.ts';
import { loadProblems, type LoadedProblems } from '../../../src/tasks/files/load.ts';
import { isInputError } from './expect.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-logiqa-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function load(lines: readonly string[]): Promise<LoadedProblems> {
  const path = join(folder, 'Train.txt');
  await writeFile(path, lines.join('\n'));
  return loadProblems(path, { format: 'logiqa' });
}

/** Records as the data set publishes them: options with letters of their own. */
const FIRST = ['', 'c', 'All birds fly.', 'Which must be true?', 'A.Owls swim.', 'B.Owls run.', 'C.Owls fly.', 'D.No.'];
const SECOND = ['', 'a', 'Ann sits left of Ben.', 'Who is left?', 'Ann', 'Ben', 'both', 'A. neither'];

test('a record of LogiQA becomes a question with four lettered options and the letter as its answer', async () => {
  const { problems, formats } = await load([...FIRST, ...SECOND]);
  assert.deepEqual([...formats], [['logiqa', 2]]);
  assert.deepEqual(
    problems.map(({ uid, question, answer, source }) => [uid, question, answer, source]),
    [
      [
        'Train.txt:2',
        'All birds fly.\nWhich must be true?\nA Owls swim.\nB Owls run.\nC Owls fly.\nD No.',
        'C',
        'Train.txt',
      ],
      // Only letters that all options have in order are dropped.
      ['Train.txt:10', 'Ann sits left of Ben.\nWho is left?\nA Ann\nB Ben\nC both\nD A. neither', 'A', 'Train.txt'],
    ],
  );
});

test('line ends, a mark of byte order and blank lines between records do not matter', async () => {
  const [plain, other] = [
    await load([...FIRST, ...SECOND]),
    await load(['\ufeff', ...[...FIRST, '', '', ...SECOND, '', ''].map((line) => `${line}\r`)]),
  ];
  const texts = ({ problems }: LoadedProblems): unknown => problems.map(({ question, answer }) => [question, answer]);
  assert.deepEqual(texts(other), texts(plain));
});

test('the letter scores a message, with or without brackets, and no other letter does, nor one that is only said', async () => {
  const [problem] = (await load(FIRST)).problems;
  assert.ok(problem !== undefined);
  const evaluator = makeMathEvaluator('strict');
  const scores = await Promise.all(
    ['#### C', 'The answer is (C).', '\\boxed{\\text{(c)}}', '#### A', '#### (d)', 'Owls fly, as C says.'].map((text) =>
      evaluator.evaluate(problem, text),
    ),
  );
  assert.deepEqual(
    scores.map(({ score }) => score),
    [1, 1, 1, 0, 0, 0],
  );
});

test('what is no record is refused with its place', async () => {
  for (const [lines, message] of [
    [[...FIRST, ...SECOND.slice(0, -1)], /Train\.txt:10: the record has fewer than 7 lines/u],
    [[...FIRST, 'E.Perhaps.', ...SECOND], /Train\.txt:2: the record has more than 7 lines/u],
    [['', 'e', ...FIRST.slice(2)], /Train\.txt:2: the record begins with "e"; LogiQA has the letter/u],
    [['{"question": "q", "answer": "A"}'], /Train\.txt:1: the record has fewer than 7 lines/u],
    [['', ''], /Train\.txt holds no problems: write a blank line and the seven lines/u],
  ] as const) {
    await assert.rejects(load(lines), isInputError(message));
  }
});
