/** Rows of the public puzzles, whose answers are checked exactly: required contents, and their conversion. */

import { BLOCK_COLORS, BLOCKS, writeBlocksQuestion, readStatement } from '../../evaluate/puzzles/blocks.ts';
import { parseSecret, writeSecret } from '../../evaluate/puzzles/numbers.ts';
import { readProblem, writeProblem, type PddlProblem } from '../../evaluate/puzzles/pddl.ts';
import { parseZebra, writeZebraForm, writeZebra } from '../../evaluate/puzzles/zebra.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { numbersQuestion } from '../numbers/numbersQuestion.ts';
import { readAnswerText, readColumn, requireColumn, readOptionalText, readTextColumn, readUid } from './columns.ts';
import type { Row, RowContent } from './rows.ts';

/** The function that the tests of AutoLogi call for the value that a message states. */
const VALUE = 'stated_value';
const MOST_CODE = 100_000;
const MOST_ID = 100;

const refuse = (row: Row, problem: string): never => {
  throw new C3Error('input', `${row.place}: ${problem}`);
};

/** Returns `PREFIX-7` for a row whose column has a whole number or a text; undefined for others. */
function numberedUid(row: Row, prefix: string, names: readonly string[]): string | undefined {
  const whole = names
    .map((name) => readColumn(row, name))
    .find((value): value is number => Number.isSafeInteger(value));
  const id = whole === undefined ? readUid(row, names) : String(whole);
  return id === undefined || id.length > MOST_ID ? undefined : `${prefix}-${id}`;
}

/** Reads AIME: a problem, and a whole number from 0 to 999, possibly with leading zeros. */
export function aimeRow(row: Row): RowContent {
  const question = requireColumn(row, ['problem', 'Problem', 'question'], 'question');
  const name = requireColumn(row, ['answer', 'Answer'], 'answer');
  const answer = readAnswerText(row, name).trim();
  if (!/^\d{1,3}$/u.test(answer)) {
    refuse(
      row,
      `"${name}" is ${JSON.stringify(answer.slice(0, 40))}; answers of AIME are whole numbers from 0 to 999.`,
    );
  }
  return {
    uid: numberedUid(row, 'aime', ['id', 'ID', 'problem_idx']),
    question: readTextColumn(row, question, 'question'),
    answer: String(Number(answer)),
    level: null,
  };
}

/** Reads ZebraLogic in grid mode: a puzzle, and its solution as a header and rows, one for each house. */
export function zebraLogicRow(row: Row): RowContent {
  const puzzle = readTextColumn(row, requireColumn(row, ['puzzle'], 'puzzle'), 'puzzle');
  const solution = readColumn(row, 'solution');
  const header = isRecord(solution) ? solution['header'] : undefined;
  const rows = isRecord(solution) ? solution['rows'] : undefined;
  if (!isTexts(header) || header[0] !== 'House' || !Array.isArray(rows) || !rows.every(isTexts)) {
    return refuse(row, '"solution" is not {"header": ["House", ...], "rows": [[...], ...]} with texts in it.');
  }
  if (rows.some((cells) => cells.length !== header.length)) {
    return refuse(row, '"solution" has a row with more or fewer cells than its header.');
  }
  const houses = rows.map((cells, house): [string, unknown] => [
    `House ${house + 1}`,
    Object.fromEntries(header.slice(1).map((name, index) => [name, cells[index + 1]])),
  ]);
  const grid = parseZebra(JSON.stringify(Object.fromEntries(houses)));
  if (grid === null) {
    return refuse(
      row,
      '"solution" has blank or hidden cells (___); the public file of ZebraLogic hides them, take the one with its solutions.',
    );
  }
  return {
    uid: readUid(row, ['id']),
    question: `${puzzle.trimEnd()}\n\n${writeZebraForm(grid)}`,
    answer: writeZebra(grid),
    level: null,
  };
}

/** Reads AutoLogi: a prompt, and Python that checks the stated value, only in the sandbox. */
export function autoLogiRow(row: Row): RowContent {
  const question = readTextColumn(row, requireColumn(row, ['prompt'], 'question'), 'question');
  const code = readColumn(row, 'code');
  const source = (name: string): string => {
    const value = isRecord(code) && Object.hasOwn(code, name) ? code[name] : undefined;
    return typeof value === 'string' && value.trim() !== '' && value.length <= MOST_CODE
      ? value
      : refuse(
          row,
          `"code" needs ${name} as a text of at most ${MOST_CODE} characters, the Python that checks answers.`,
        );
  };
  const check = [
    'def check(candidate):',
    '    inputs = candidate()',
    '    assert inputs_check(inputs)',
    '    for constraint in constraint_list:',
    '        assert constraint(inputs)',
    '',
  ];
  const language = readColumn(row, 'lang');
  const prefix = typeof language === 'string' && /^[a-z]{2,8}$/u.test(language) ? `autologi-${language}` : 'autologi';
  return {
    uid: numberedUid(row, prefix, ['idx']),
    question,
    answer: '',
    level: null,
    tests: {
      tests: [],
      test: `${source('Inputs_Check_code')}\n${source('Constraint_List_code')}\n${check.join('\n')}`,
      entryPoint: VALUE,
      setup: '',
      prefix: '',
      reads: 'value',
    },
  };
}

/**
 * Reads AR-Bench's guessing numbers: a secret of four different digits, as an item of a list or in the
 * column `answer`.
 */
export function arBenchRow(row: Row): RowContent {
  const name = requireColumn(row, ['value', 'answer', 'number'], 'secret number');
  const secret = readColumn(row, name);
  const answer = typeof secret === 'string' ? writeSecret(secret.trim()) : '';
  if (!/ [0-9]{4}$/u.test(answer) || parseSecret(answer) === null) {
    return refuse(
      row,
      `"${name}" is no text of four different digits such as "0427"; AR-Bench's guessing numbers has those.`,
    );
  }
  const digits = answer.slice(-4);
  return { uid: `arbench-gn-${digits}`, question: numbersQuestion(digits, 10), answer, level: null };
}

/** The tasks of PlanBench in which any plan that reaches the goal is right. */
const PLANNED = /^task_(?:1_plan_generation|5_plan_generalization|8_[123]_\w{1,40})$/u;

/** Reads PlanBench's Blocksworld: a prompt whose last statement is the problem. */
export function planBenchRow(row: Row): RowContent {
  const question = readTextColumn(row, requireColumn(row, ['query'], 'question'), 'question');
  const task = readOptionalText(row, 'task') || 'task_1_plan_generation';
  const domain = readOptionalText(row, 'domain') || 'blocksworld';
  if (!/^blocksworld(?:_3)?(?:-4ops)?$/u.test(domain)) {
    refuse(row, `its domain is ${shown(domain)}; of PlanBench the domain blocksworld is read.`);
  }
  if (!PLANNED.test(task)) {
    refuse(row, `its task is ${shown(task)}; of PlanBench those are read that ask for a plan (1, 5, 8).`);
  }
  const problem = readStatement(question, 'planbench');
  if (problem === null) {
    return refuse(
      row,
      '"query" has no statement such as "As initial conditions I have that, the red block is clear, ... My goal is to have that ..." at its end.',
    );
  }
  const prefix = `planbench-${domain}-${task}`;
  return { uid: numberedUid(row, prefix, ['instance_id']), question, answer: writeProblem(problem), level: null };
}

/** Reads a Blocksworld problem in PDDL. Blocks named by letters get the colors of PlanBench. */
export function pddlRow(row: Row): RowContent {
  let problem: PddlProblem;
  try {
    problem = readProblem(readTextColumn(row, 'problem', 'problem'), BLOCKS);
  } catch (error) {
    const reason = error instanceof C3Error ? error.message : '';
    throw new C3Error(
      'input',
      `${row.place}: ${reason || 'the problem cannot be read.'} Problems of Blocksworld with four actions are read.`,
      { cause: error },
    );
  }
  const colored = withColors(problem);
  return { uid: undefined, question: writeBlocksQuestion(colored), answer: writeProblem(colored), level: null };
}

function withColors(problem: PddlProblem): PddlProblem {
  const letters = 'abcdefghijkl';
  if (!problem.objects.every((one) => one.length === 1 && letters.includes(one))) {
    return problem;
  }
  const colored = (text: string): string => BLOCK_COLORS[letters.indexOf(text)] ?? text;
  const facts = (list: readonly string[]): string[] =>
    list.map((one) => one.replaceAll(/(?<= )[a-l](?=[ )])/gu, colored));
  return { ...problem, objects: problem.objects.map(colored), init: facts(problem.init), goal: facts(problem.goal) };
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

const shown = (value: string): string => JSON.stringify(value.slice(0, 60));
