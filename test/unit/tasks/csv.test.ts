import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readCsvRecords } from '../../../src/tasks/files/csv.ts';
import { loadProblems } from '../../../src/tasks/files/load.ts';
import { isInputError } from './expect.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-csv-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function written(content: string): Promise<string> {
  const path = join(folder, 'tasks.csv');
  await writeFile(path, content);
  return path;
}

async function read(content: string): Promise<[number, ...string[]][]> {
  const records: [number, ...string[]][] = [];
  for await (const { number, fields } of readCsvRecords(await written(content))) {
    records.push([number, ...fields]);
  }
  return records;
}

test('the examples of RFC 4180 read as it says', async () => {
  assert.deepEqual(await read('aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n'), [
    [1, 'aaa', 'bbb', 'ccc'],
    [2, 'zzz', 'yyy', 'xxx'],
  ]);
  assert.deepEqual(await read('aaa,bbb,ccc\r\nzzz,yyy,xxx'), [
    [1, 'aaa', 'bbb', 'ccc'],
    [2, 'zzz', 'yyy', 'xxx'],
  ]);
  assert.deepEqual(await read('"aaa","bbb","ccc"\r\nzzz,yyy,xxx'), [
    [1, 'aaa', 'bbb', 'ccc'],
    [2, 'zzz', 'yyy', 'xxx'],
  ]);
  assert.deepEqual(await read('"aaa","b\r\nbb","ccc"\r\nzzz,yyy,xxx'), [
    [1, 'aaa', 'b\r\nbb', 'ccc'],
    [3, 'zzz', 'yyy', 'xxx'],
  ]);
  assert.deepEqual(await read('"aaa","b""bb","ccc"'), [[1, 'aaa', 'b"bb', 'ccc']]);
});

test('empty fields, commas and quotes at the edges keep their places', async () => {
  assert.deepEqual(await read(',\n'), [[1, '', '']]);
  assert.deepEqual(await read('a,,\n'), [[1, 'a', '', '']]);
  assert.deepEqual(await read('"",x,""\r\n'), [[1, '', 'x', '']]);
  assert.deepEqual(await read('"a,b",","\n'), [[1, 'a,b', ',']]);
  assert.deepEqual(await read('"""a""",""""\n'), [[1, '"a"', '"']]);
  assert.deepEqual(await read(' a , b \n'), [[1, ' a ', ' b ']]);
  assert.deepEqual(await read('\n\na\n\r\nb\n'), [
    [3, 'a'],
    [5, 'b'],
  ]);
  assert.deepEqual(await read('"one\n\n\ntwo",x\ny,z'), [
    [1, 'one\n\n\ntwo', 'x'],
    [5, 'y', 'z'],
  ]);
});

test('whatever was written with quotes around every field comes back', async () => {
  const letters = ['a', ',', '"', '\n', '\r\n', ' ', '#', '\u00e9', "'"];
  // All texts of three such pieces, in rows of three.
  const texts = letters.flatMap((x) => letters.flatMap((y) => letters.map((z) => x + y + z)));
  const rows = Array.from({ length: texts.length / 3 }, (_, index) => texts.slice(3 * index, 3 * index + 3));
  const content = rows.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')).join('\r\n');
  assert.deepEqual(
    (await read(content)).map(([, ...fields]) => fields),
    rows,
  );
});

test('a broken record is refused where it is broken', async () => {
  await assert.rejects(read('a,b\nc,d"e\n'), isInputError(/tasks\.csv:2: there is a quote inside a field/u));
  await assert.rejects(read('a,b\n"c" ,d\n'), isInputError(/tasks\.csv:2: text follows a closing quote/u));
  await assert.rejects(
    read('a,b\nc,d\n"e\nf\n'),
    isInputError(/tasks\.csv:3: a quote is opened in this record and never closed/u),
  );
  await assert.rejects(
    read(`a\n"${'x\n'.repeat(2 ** 19 + 1)}"`),
    isInputError(/tasks\.csv:2: the record is longer than 1048576 characters/u),
  );
  await assert.rejects(read(','.repeat(1001)), isInputError(/tasks\.csv:1: the record has more than 1000 fields/u));
});

test('CSV under a header becomes problems, by the name of the file or the format', async () => {
  const content = 'id,question,answer,level\nq1,"How many, in all?",12,\nq2,"Two\nlines",  7 ,3\n';
  const { problems, formats } = await loadProblems(await written(content));
  assert.deepEqual(
    problems.map(({ uid, question, answer, level }) => [uid, question, answer, level]),
    [
      ['q1', 'How many, in all?', '12', null],
      ['q2', 'Two\nlines', '7', null],
    ],
  );
  assert.deepEqual([...formats], [['jsonl', 2]]);
  const path = join(folder, 'tasks.txt');
  await writeFile(path, content);
  assert.equal((await loadProblems(path, { format: 'csv' })).problems.length, 2);
  await assert.rejects(loadProblems(path), isInputError(/tasks\.txt:1: the line is not JSON/u));
  assert.equal(
    (await loadProblems(await written('question,answer\nq,"steps\n#### 1,234"\n'))).problems[0]?.answer,
    '1234',
  );
});

test('headers and records that do not fit are refused', async () => {
  const refused = async (content: string, message: RegExp): Promise<void> =>
    await assert.rejects(loadProblems(await written(content)), isInputError(message));
  await refused('question,answer\na,1\nb\n', /tasks\.csv:3: the record has 1 fields where the header names 2/u);
  await refused('question,answer\na,1,2\n', /tasks\.csv:2: the record has 3 fields/u);
  await refused('question,,answer\na,b,1\n', /tasks\.csv:1: the header has a column without a name/u);
  await refused('question,answer, answer\na,1,2\n', /tasks\.csv:1: the header names "answer" twice/u);
  await refused('question,answer\n,1\n', /tasks\.csv:2: the row has no question/u);
  await refused('question,answer\na,\n', /tasks\.csv:2: the row has no answer/u);
  await refused('question,answer\n', /holds no problems: write a header and one record/u);
  await refused('', /holds no problems/u);
});
