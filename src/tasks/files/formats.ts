/** The data formats that are known by name: required contents of each row, and its conversion. */

import type { ProblemTests } from '../../domain/problem.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import type { ShownTests, TaskFormat } from '../../shared/runNames.ts';
import { boxedGold, hashGold } from '../gold.ts';
import {
  readAnswerText,
  readColumn,
  requireColumn,
  readOptionalText,
  readTextColumn,
  readTexts,
  readUid,
} from './columns.ts';
import { aimeRow, arBenchRow, autoLogiRow, pddlRow, planBenchRow, zebraLogicRow } from './puzzleRows.ts';
import type { Row, RowContent } from './rows.ts';

export { SHOWN_TESTS, TASK_FORMATS, type ShownTests, type TaskFormat } from '../../shared/runNames.ts';

/** The formats of a row; CSV is a format of the file. */
export type RowFormat = Exclude<TaskFormat, 'auto' | 'csv'>;

/**
 * Column names in the order in which they are tried, as in the C3 repository's loader; a null counts
 * as absent.
 */
export const QUESTION_COLUMNS: readonly string[] = [
  'input',
  'question',
  'problem',
  'prompt',
  'instruction',
  'query',
  'text',
];
export const ANSWER_COLUMNS: readonly string[] = ['answer', 'golden', 'label', 'target'];
const UID_COLUMNS: readonly string[] = ['uid', 'id', 'task_id'];

const MAX_TESTS = 10_000;
const FUNCTION_NAME = /^[A-Za-z_]\w{0,199}$/u;

/**
 * Recognizes the format of a row by its columns. GSM8K, whose two columns are common, is also
 * recognized by the #### of its answer.
 */
export function recogniseRow(row: Row): RowFormat {
  const has = (...names: string[]): boolean => names.every((name) => readColumn(row, name) !== undefined);
  if (has('prompt', 'entry_point', 'test', 'canonical_solution')) {
    return 'humaneval';
  }
  if (has('test_list')) {
    return has('test') ? 'mbppplus' : 'mbpp';
  }
  if (!ANSWER_COLUMNS.some((name) => has(name))) {
    const puzzle = recognisePuzzle(row);
    if (puzzle !== null) {
      return puzzle;
    }
  }
  if (has('problem', 'answer', 'unique_id')) {
    return 'math500';
  }
  if (has('problem', 'solution') && !has('answer')) {
    return 'math';
  }
  if (has('question', 'golden') && !has('answer')) {
    return 'cmath';
  }
  const answer = Object.keys(row.columns).length === 2 && has('question') ? readColumn(row, 'answer') : undefined;
  return typeof answer === 'string' && hashGold(answer) !== undefined ? 'gsm8k' : 'jsonl';
}

/** Recognizes a row of a public puzzle. None of these has one of the common answer columns. */
function recognisePuzzle(row: Row): RowFormat | null {
  const has = (...names: string[]): boolean => names.every((name) => readColumn(row, name) !== undefined);
  if (has('puzzle') && isRecord(readColumn(row, 'solution'))) {
    return 'zebralogic';
  }
  if (has('prompt') && isRecord(readColumn(row, 'code'))) {
    return 'autologi';
  }
  if (has('query', 'ground_truth_plan')) {
    return 'planbench';
  }
  return has('Problem', 'Answer') ? 'aime' : null;
}

/** Reads a row in a format. @throws C3Error('input') with the file and line */
export function readRow(row: Row, format: RowFormat, shown: ShownTests): RowContent {
  switch (format) {
    case 'gsm8k':
      return answered(
        row,
        'question',
        goldOf(row, 'answer', hashGold(readAnswerText(row, 'answer')), 'an answer after #### on its last line'),
      );
    case 'math':
      return answered(
        row,
        'problem',
        goldOf(row, 'solution', boxedGold(readTextColumn(row, 'solution', 'solution')), 'an answer in \\boxed{...}'),
      );
    case 'math500':
      return answered(row, 'problem', goldOf(row, 'answer', readAnswerText(row, 'answer').trim(), 'an answer'), [
        'unique_id',
      ]);
    case 'cmath':
      return answered(row, 'question', goldOf(row, 'golden', readAnswerText(row, 'golden').trim(), 'an answer'));
    case 'mbpp':
    case 'mbppplus':
      return mbpp(row, format, shown);
    case 'humaneval':
      return humanEval(row);
    case 'aime':
      return aimeRow(row);
    case 'zebralogic':
      return zebraLogicRow(row);
    case 'autologi':
      return autoLogiRow(row);
    case 'arbench':
      return arBenchRow(row);
    case 'planbench':
      return planBenchRow(row);
    case 'pddl':
      return pddlRow(row);
    case 'logiqa':
    case 'jsonl':
      return plain(row);
  }
}

function answered(row: Row, name: string, answer: string, uids: readonly string[] = UID_COLUMNS): RowContent {
  return { uid: readUid(row, uids), question: readTextColumn(row, name, 'question'), answer, level: levelOf(row) };
}

function goldOf(row: Row, name: string, gold: string | undefined, expected: string): string {
  if (gold === undefined || gold === '') {
    throw new C3Error(
      'input',
      `${row.place}: "${name}" holds no answer; this form of data has ${expected}. Name another with task.format if it is not that.`,
    );
  }
  return gold;
}

/** Reads `Level 5` as in MATH, or a whole number. */
function levelOf(row: Row): number | null {
  const level = readColumn(row, 'level');
  const text = typeof level === 'string' ? /^Level (\d)$/u.exec(level)?.[1] : undefined;
  const value = text === undefined ? level : Number(text);
  return typeof value === 'number' && Number.isInteger(value) ? value : null;
}

/**
 * Reads a question with an answer, or with its own tests: `tests`, or `test` and `entry_point`,
 * optionally with `setup` and `prefix`.
 */
function plain(row: Row): RowContent {
  const question = readTextColumn(row, requireColumn(row, QUESTION_COLUMNS, 'question'), 'question');
  const level = readColumn(row, 'level');
  const content = {
    uid: readUid(row, UID_COLUMNS),
    question,
    level: typeof level === 'number' && Number.isInteger(level) ? level : null,
  };
  if (readColumn(row, 'tests') !== undefined || readColumn(row, 'test') !== undefined) {
    const solution = ANSWER_COLUMNS.find((name) => readColumn(row, name) !== undefined);
    const tests = testsOf(row, {
      tests: readTexts(row, 'tests', MAX_TESTS),
      test: readOptionalText(row, 'test'),
      entryPoint: entryPointOf(row),
      setup: readOptionalText(row, 'setup'),
      prefix: readOptionalText(row, 'prefix'),
    });
    return { ...content, answer: solution === undefined ? '' : readOptionalText(row, solution), tests };
  }
  const name = requireColumn(row, ANSWER_COLUMNS, 'answer');
  const text = readAnswerText(row, name);
  const gold = hashGold(text) ?? text.trim();
  if (gold === '') {
    throw new C3Error(
      'input',
      `${row.place}: "${name}" holds no answer; write it as text or a number, in GSM8K's form after ####.`,
    );
  }
  return { ...content, answer: gold };
}

/** Reads MBPP, which runs its three asserts, and MBPP+, which runs its test program. */
function mbpp(row: Row, format: 'mbpp' | 'mbppplus', shown: ShownTests): RowContent {
  const text = readTextColumn(row, requireColumn(row, ['text', 'prompt'], 'question'), 'question');
  const list = readTexts(row, 'test_list', MAX_TESTS);
  const setup = [...readTexts(row, 'test_imports', MAX_TESTS), readOptionalText(row, 'test_setup_code')]
    .filter((line) => line.trim() !== '')
    .join('\n');
  const program =
    format === 'mbppplus' ? readTextColumn(row, requireColumn(row, ['test'], 'test program'), 'test program') : '';
  const tests = testsOf(row, {
    tests: format === 'mbpp' ? list : [],
    test: program,
    entryPoint: null,
    setup,
    prefix: '',
  });
  return {
    uid: mbppUid(row),
    question: withTests(text, list, shown),
    answer: readOptionalText(row, 'code'),
    level: null,
    tests,
  };
}

/** Returns the same uid for both data sets, which number the same problems. */
function mbppUid(row: Row): string | undefined {
  const id = readColumn(row, 'task_id');
  if (typeof id === 'number' && Number.isSafeInteger(id)) {
    return `mbpp-${id}`;
  }
  const text = readUid(row, ['task_id']);
  return text === undefined ? undefined : text.replace(/^mbpp\/|^/iu, 'mbpp-');
}

function withTests(text: string, list: readonly string[], shown: ShownTests): string {
  const visible = shown === 'none' ? [] : shown === 'first' ? list.slice(0, 1) : list;
  if (visible.length === 0) {
    return text;
  }
  return `${text.trimEnd()}\nYour code should pass ${visible.length === 1 ? 'this test' : 'these tests'}:\n${visible.join('\n')}`;
}

/**
 * Reads HumanEval, where a message continues the prompt. A message that defines the function again
 * overrides it, and can use the prompt's imports and helpers.
 */
function humanEval(row: Row): RowContent {
  const question = readTextColumn(row, requireColumn(row, ['prompt'], 'question'), 'question');
  const test = readTextColumn(row, requireColumn(row, ['test'], 'test program'), 'test program');
  requireColumn(row, ['entry_point'], 'entry_point');
  const tests = testsOf(row, { tests: [], test, entryPoint: entryPointOf(row), setup: '', prefix: question });
  return {
    uid: readUid(row, ['task_id']),
    question,
    answer: readOptionalText(row, 'canonical_solution'),
    level: null,
    tests,
  };
}

function entryPointOf(row: Row): string | null {
  const name = ['entry_point', 'entryPoint'].find((known) => readColumn(row, known) !== undefined);
  const value = name === undefined ? null : readColumn(row, name);
  if (value !== null && (typeof value !== 'string' || !FUNCTION_NAME.test(value))) {
    throw new C3Error('input', `${row.place}: "${name ?? ''}" is not a function name.`);
  }
  return value;
}

function testsOf(row: Row, tests: ProblemTests): ProblemTests {
  if (tests.test.trim() === '' && !tests.tests.some((test) => test.trim() !== '')) {
    throw new C3Error(
      'input',
      `${row.place}: the row has no tests, so nothing could score its code; give them as a list of asserts or as a program.`,
    );
  }
  return tests;
}
