import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { loadProblems } from '../../../src/tasks/files/load.ts';
import type { LoadedProblems, LoadOptions } from '../../../src/tasks/files/load.ts';
import { uidSha } from '../../../src/tasks/uid.ts';
import { isInputError } from './expect.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-jsonl-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function load(content: string | Uint8Array, options?: LoadOptions): Promise<LoadedProblems> {
  const path = join(folder, 'tasks.jsonl');
  await writeFile(path, content);
  return loadProblems(path, options);
}

const row = (value: unknown): string => `${JSON.stringify(value)}\n`;
const refused = (content: string | Uint8Array, message: RegExp): Promise<void> =>
  assert.rejects(load(content), isInputError(message));

test('a row becomes a problem', async () => {
  const { problems, duplicates } = await load(row({ question: 'How many?', answer: 'Two and two.\n#### 4', level: 3 }));
  assert.deepEqual(problems, [
    {
      uid: 'tasks.jsonl:1',
      uidSha: uidSha('How many?'),
      question: 'How many?',
      answer: '4',
      source: 'tasks.jsonl',
      level: 3,
    },
  ]);
  assert.equal(duplicates, 0);
});

test('the first existing question and answer columns are taken, a null one being absent', async () => {
  const questions = ['input', 'question', 'problem', 'prompt', 'instruction', 'query', 'text'];
  const answers = ['answer', 'golden', 'label', 'target'];
  for (let first = 0; first < questions.length; first++) {
    const columns = questions
      .slice(first)
      .map((name): [string, string] => [name, `in ${name}`])
      .reverse();
    const { problems } = await load(
      row({ ...Object.fromEntries(columns), answer: '1', ...(first > 0 ? { input: null } : {}) }),
    );
    assert.equal(problems[0]?.question, `in ${questions[first]}`);
  }
  for (let first = 0; first < answers.length; first++) {
    const columns = answers
      .slice(first)
      .map((name): [string, string] => [name, `in ${name}`])
      .reverse();
    const { problems } = await load(row({ text: 'q', ...Object.fromEntries(columns) }));
    assert.equal(problems[0]?.answer, `in ${answers[first]}`);
  }
});

test('the gold follows #### on the last line; only commas between thousands are dropped', async () => {
  const golds = [
    ['steps\n#### 1,234', '1234'],
    ['#### -12,345,678.5', '-12345678.5'],
    ['#### $1,000', '$1000'],
    ['steps\r\n####70000\r\n', '70000'],
    ['#### 1,2', '1,2'],
    ['#### 1,2345', '1,2345'],
    ['#### 0,123', '0,123'],
    ['#### 3\nmore', '#### 3\nmore'],
    ['##### 3', '##### 3'],
    ['1,234', '1,234'],
    ['  plain  ', 'plain'],
  ];
  for (const [answer, gold] of golds) {
    const { problems } = await load(row({ question: 'q', answer }));
    assert.equal(problems[0]?.answer, gold, JSON.stringify(answer));
  }
});

test('answers may be numbers that a double keeps exactly', async () => {
  for (const [json, gold] of [
    ['0', '0'],
    ['-7', '-7'],
    ['2.50', '2.5'],
    ['0.001', '0.001'],
    ['123456789012345', '123456789012345'],
  ]) {
    const { problems } = await load(`{"question":"q","answer":${json}}`);
    assert.equal(problems[0]?.answer, gold);
  }
  for (const json of ['1e400', '1e-9', '12345678901234567890', '0.1234567890123456789', '1e21']) {
    await refused(`{"question":"q","answer":${json}}`, /tasks\.jsonl:1: the number in "answer" .*quotes/u);
  }
});

test("the row's own text uid, id or task_id names it, else file and line", async () => {
  const content = [
    { question: 'a', answer: '1', task_id: 'T/1', id: 'I1', uid: 'U1' },
    { question: 'b', answer: '1', task_id: 'T/2', id: 'I2', uid: 7 },
    { question: 'c', answer: '1', task_id: 'T/3', id: '' },
    { question: 'd', answer: '1', id: 9 },
  ];
  const { problems } = await load(`\n${content.map(row).join('')}`);
  assert.deepEqual(
    problems.map((problem) => problem.uid),
    ['U1', 'I2', 'T/3', 'tasks.jsonl:5'],
  );
  await refused(row({ question: 'a', answer: '1', id: 'x'.repeat(201) }), /:1: "id" is longer than 200/u);
});

test('a level that is no whole number is none', async () => {
  const { problems } = await load(
    row({ question: 'a', answer: '1', level: 'Level 3' }) + row({ question: 'b', answer: '1', level: 1.5 }),
  );
  assert.deepEqual(
    problems.map((problem) => problem.level),
    [null, null],
  );
});

test('blank lines, comments, CRLF, a byte order mark and a missing last newline are no matter', async () => {
  const content =
    '\ufeff# comment\r\n\r\n  \n  {"question":"a","answer":"1"}\r\n#{"question":"b","answer":"1"}\n{"question":"c","answer":"1"}';
  const { problems } = await load(content);
  assert.deepEqual(
    problems.map(({ uid, question }) => [uid, question]),
    [
      ['tasks.jsonl:4', 'a'],
      ['tasks.jsonl:6', 'c'],
    ],
  );
  assert.equal((await load('\ufeff{"question":"a","answer":"1"}')).problems.length, 1);
});

test('of equal questions the first is kept and the others are counted', async () => {
  const content = ['one', 'two', 'one \r\n', 'three', 'two', 'one']
    .map((question, index) => row({ question, answer: String(index) }))
    .join('');
  const { problems, duplicates } = await load(content);
  assert.deepEqual(
    problems.map(({ question, answer }) => [question, answer]),
    [
      ['one', '0'],
      ['two', '1'],
      ['three', '3'],
    ],
  );
  assert.equal(duplicates, 3);
});

test('reading stops at the limit, before the rows after it', async () => {
  const content = `${row({ question: 'a', answer: '1' })}${row({ question: 'a', answer: '1' })}${row({ question: 'b', answer: '1' })}not JSON\n`;
  assert.deepEqual(
    (await load(content, { limit: 2 })).problems.map(({ question }) => question),
    ['a', 'b'],
  );
  for (const limit of [0, -1, 1.5, Number.NaN]) {
    await assert.rejects(load(content, { limit }), isInputError(/give a whole number from 1/u));
  }
});

test('what is no problem is refused with file, line and remedy', async () => {
  const good = row({ question: 'a', answer: '1' });
  const bad: [string, RegExp][] = [
    ['{"question": "a", ', /the line is not JSON \(.*write one JSON object/u],
    ['[1]', /not a JSON object/u],
    ['null', /not a JSON object/u],
    ['"text"', /not a JSON object/u],
    [JSON.stringify({ answer: '1' }), /no question; name its column one of input, question/u],
    [JSON.stringify({ question: 'b' }), /no answer; name its column one of answer, golden/u],
    [JSON.stringify({ question: 'b', solution: '1', answer: null }), /no answer;/u],
    [JSON.stringify({ question: ' \n', answer: '1' }), /"question" is empty/u],
    [JSON.stringify({ question: 5, answer: '1' }), /"question" is of type number/u],
    [JSON.stringify({ question: ['b'], answer: '1' }), /"question" is a list/u],
    [JSON.stringify({ question: 'b', answer: ' ' }), /"answer" holds no answer/u],
    [JSON.stringify({ question: 'b', answer: 'steps\n####' }), /"answer" holds no answer/u],
    [JSON.stringify({ question: 'b', answer: true }), /"answer" is of type boolean/u],
    [JSON.stringify({ question: 'b', label: [1] }), /"label" is a list/u],
    ['{"__proto__": {"question": "b", "answer": "1"}}', /no question/u],
  ];
  for (const [line, message] of bad) {
    await refused(`${good}\n${line}\n${good}`, new RegExp(String.raw`tasks\.jsonl:3: .*${message.source}`, 'u'));
  }
});

test('a file that cannot be read, holds nothing or is no UTF-8 is refused', async () => {
  await assert.rejects(
    loadProblems(join(folder, 'absent.jsonl')),
    isInputError(/Cannot read .*absent\.jsonl: ENOENT/u),
  );
  await assert.rejects(loadProblems(folder), isInputError(/Cannot read .*EISDIR/u));
  await refused('', /holds no problems/u);
  await refused('\n# nothing\n', /holds no problems/u);
  await refused(
    Buffer.concat([Buffer.from('# \u00e9\n'), Buffer.from([0x22, 0xff, 0x22])]),
    /:2: the line is not UTF-8/u,
  );
});

test('characters split between two chunks of the file stay whole', async () => {
  // One byte of padding more each time moves every three-byte character over the 64 KiB border.
  for (let padding = 0; padding < 3; padding++) {
    const question = `${'x'.repeat(padding)}${'\u20ac'.repeat(60_000)}`;
    const { problems } = await load(row({ question, answer: '1' }) + row({ question: 'next', answer: '2' }));
    assert.deepEqual(
      problems.map((problem) => problem.question),
      [question, 'next'],
    );
  }
});

test('lines and files have bounds', async () => {
  const around = row({ question: '', answer: '1' }).length - 1;
  const fits = row({ question: 'q'.repeat(2 ** 20 - around), answer: '1' });
  assert.equal((await load(fits)).problems.length, 1);
  await refused(
    `\n${row({ question: 'q'.repeat(2 ** 20 - around + 1), answer: '1' })}`,
    /:2: the line is longer than 1048576 bytes/u,
  );
  const million = '\n'.repeat(999_999) + row({ question: 'a', answer: '1' });
  assert.equal((await load(million)).problems[0]?.uid, 'tasks.jsonl:1000000');
  await refused(`${million}#`, /:1000001: the file has more than 1000000 lines/u);
});
