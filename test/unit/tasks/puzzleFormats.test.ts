import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import { getAnswerForm, makeEvaluator, makeEvaluatorWithoutCode } from '../../../src/evaluate/named.ts';
import { PythonGrader } from '../../../src/evaluate/python/grader.ts';
import { toProblem, formatTests } from '../../../src/store/tables/problemTests.ts';
import type { TaskFormat } from '../../../src/tasks/files/formats.ts';
import { loadProblems, type LoadedProblems } from '../../../src/tasks/files/load.ts';
import { numbersQuestion } from '../../../src/tasks/numbers/numbersQuestion.ts';
import { sandboxPlaces } from '../../support/programs.ts';
import { isInputError } from './expect.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-puzzles-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function load(text: string, format: TaskFormat = 'auto', name = 'data.jsonl'): Promise<LoadedProblems> {
  const path = join(folder, name);
  await writeFile(path, text);
  return loadProblems(path, { format });
}

async function one(row: object, format: TaskFormat = 'auto'): Promise<Problem> {
  const [problem] = (await load(JSON.stringify(row), format)).problems;
  return problem ?? assert.fail();
}

/** What `auto` scores in a user's own file. */
const auto = (grader: PythonGrader): Evaluator => makeEvaluator('auto', getAnswerForm(null), () => grader);
const scoreOf = async (problem: Problem, message: string): Promise<number | null> =>
  (await makeEvaluatorWithoutCode('auto', getAnswerForm(null)).evaluate(problem, message)).score;

/** Rows as the data sets publish them. */
const ZEBRA = {
  id: 'lgp-test-2x3-13',
  size: '2*3',
  puzzle: "There are 2 houses.\n\n## Clues:\n1. The person with an associate's degree is in the first house.\n",
  solution: {
    header: ['House', 'Name', 'Education', 'Mother'],
    rows: [
      ['1', 'Arnold', 'associate', 'Holly'],
      ['2', 'Eric', 'high school', 'Aniya'],
    ],
  },
  created_at: '2024-07-03T21:21:29.204735',
};
const STATEMENT =
  '\nAs initial conditions I have that, the red block is clear, the hand is empty, the red block is on top of the blue block and the blue block is on the table.\nMy goal is to have that the blue block is on top of the red block.\n\nMy plan is as follows:\n\n[PLAN]';
const PLANBENCH = {
  task: 'task_1_plan_generation',
  prompt_type: 'oneshot',
  domain: 'blocksworld',
  instance_id: 2,
  example_instance_ids: [1],
  query: `I am playing with a set of blocks.\n\n[STATEMENT]\nAs initial conditions I have that, the a block is clear.\nMy goal is to have that nothing.\n[PLAN]\n[PLAN END]\n\n[STATEMENT]${STATEMENT}`,
  ground_truth_plan: '(unstack red blue)\n(put-down red)\n(pick-up blue)\n(stack blue red)\n',
};
const AUTOLOGI = {
  idx: 7,
  prompt: 'Put Wine before Snacks and beside it. Answer with a list.',
  lang: 'en',
  gen: [],
  code: {
    Inputs_Check_code:
      'def inputs_check(inputs):\n    return isinstance(inputs, list) and sorted(inputs) == ["Oil", "Snacks", "Wine"]',
    Constraint_List_code:
      'def constraint_1(inputs):\n    return inputs.index("Wine") < inputs.index("Snacks")\n\ndef constraint_2(inputs):\n    return abs(inputs.index("Wine") - inputs.index("Snacks")) == 1\n\nconstraint_list = [constraint_1, constraint_2]',
    Traverse_code: 'while True: pass',
  },
};

test('each public form is recognized by its columns and read the same when it is named', async () => {
  for (const [format, row] of [
    ['zebralogic', ZEBRA],
    ['planbench', PLANBENCH],
    ['autologi', AUTOLOGI],
    ['aime', { ID: '2024-II-4', Problem: 'Find m+n.', Solution: '...', Answer: 33 }],
  ] as const) {
    const found = await load(JSON.stringify(row));
    assert.deepEqual([...found.formats], [[format, 1]]);
    assert.deepEqual((await load(JSON.stringify(row), format)).problems, found.problems);
    // With a question and an answer of its own a row is what it was before these forms were known.
    const plain = await load(JSON.stringify({ ...row, question: 'q', answer: 1 }));
    assert.deepEqual([...plain.formats], [['jsonl', 1]]);
  }
});

test('a grid of ZebraLogic is asked with the form of its answer, and hidden solutions are refused', async () => {
  const problem = await one(ZEBRA);
  assert.equal(problem.uid, 'lgp-test-2x3-13');
  assert.ok(problem.question.endsWith('"House 2":{"Name":"___","Education":"___","Mother":"___"}}}'));
  const answer = {
    'House 1': { Name: 'arnold', Education: 'associate', Mother: 'Holly' },
    'House 2': { Name: 'Eric', Education: 'high school', Mother: 'Aniya' },
  };
  assert.equal(await scoreOf(problem, JSON.stringify({ reasoning: '', solution: answer })), 1);
  assert.equal(await scoreOf(problem, JSON.stringify({ solution: { ...answer, 'House 1': {} } })), 0);
  const { header } = ZEBRA.solution;
  for (const [solution, message] of [
    [{ header, rows: [['___', '___', '___', '___']] }, /hides them, take the one with its solutions/u],
    [{ header, rows: [['1', 'Arnold', 'associate']] }, /more or fewer cells than its header/u],
    [{ header: ['Name'], rows: [['x']] }, /"solution" is not \{"header"/u],
    [{ header, rows: 'none' }, /"solution" is not \{"header"/u],
    ['hidden', /"solution" is not \{"header"/u],
  ] as const) {
    await assert.rejects(one({ ...ZEBRA, solution }, 'zebralogic'), isInputError(message));
  }
});

test('the guessing numbers of AR-Bench are a list of secrets, with the questions of the bundled task', async () => {
  const { problems, duplicates } = await load('[\n "0427",\n "9468", "0427"]', 'arbench', 'gn.json');
  assert.deepEqual(
    problems.map(({ uid, question, answer }) => [uid, question, answer]),
    [
      ['arbench-gn-0427', numbersQuestion('0427', 10), 'secret number 0427'],
      ['arbench-gn-9468', numbersQuestion('9468', 10), 'secret number 9468'],
    ],
  );
  assert.equal(duplicates, 1);
  assert.equal(await scoreOf(problems[0] ?? assert.fail(), 'Guess: 0427'), 1);
  for (const [text, message] of [
    ['["0427", "0044"]', /gn\.json, item 2: "value" is no text of four different digits/u],
    ['[427]', /item 1: "value" is no text/u],
    ['"0427"', /is no list of at most/u],
    ['[]', /holds no problems: write one JSON list/u],
    ['[0427', /gn\.json:1: the line is not JSON/u],
  ] as const) {
    await assert.rejects(load(text, 'arbench', 'gn.json'), isInputError(message), text);
  }
});

test('PlanBench is read as rows or as its document, and its last statement is the problem', async () => {
  const row = await one(PLANBENCH);
  assert.equal(row.question, PLANBENCH.query);
  assert.equal(row.uid, 'planbench-blocksworld-task_1_plan_generation-2');
  const { task, domain, query, ground_truth_plan: plan } = PLANBENCH;
  const document = {
    task,
    prompt_type: 'oneshot',
    domain,
    instances: [{ instance_id: 2, query, ground_truth_plan: plan }],
  };
  assert.deepEqual((await load(JSON.stringify(document, null, 2), 'planbench')).problems, [row]);
  const mystery = JSON.stringify({ ...document, domain: 'mystery_blocksworld' });
  await assert.rejects(load(mystery, 'planbench'), isInputError(/item 1: its domain is "mystery_blocksworld"/u));
  assert.deepEqual((await load(`${JSON.stringify(PLANBENCH)}\n`, 'planbench')).problems, [row]);
  assert.equal(await scoreOf(row, plan), 1);
  assert.equal(await scoreOf(row, 'unstack the red block from on top of the blue block\nput down the red block'), 0);
  for (const [change, message] of [
    [{ domain: 'mystery_blocksworld' }, /its domain is "mystery_blocksworld"/u],
    [{ task: 'task_3_plan_verification' }, /its task is "task_3_plan_verification"/u],
    [{ query: 'Plan.' }, /has no statement such as/u],
    [
      { query: STATEMENT.replace('My goal is to have that', 'My goal is to have that the moon is red and') },
      /has no statement/u,
    ],
  ] as const) {
    await assert.rejects(one({ ...PLANBENCH, ...change }), isInputError(message));
  }
});

test('problems in PDDL come one after another in a file, with the colors of PlanBench for letters', async () => {
  const problem = (goal: string): string =>
    `; a comment (\n(define (problem BW-rand-4)\n(:domain blocksworld-4ops)\n(:objects a b )\n(:init\n(handempty)\n(on a b)\n(ontable b)\n(clear a)\n)\n(:goal\n(and\n${goal})\n)\n)\n`;
  const { problems } = await load(`${problem('(on b a)')}\n${problem('(ontable a)')}`, 'pddl', 'blocks.pddl');
  assert.deepEqual(
    problems.map(({ uid }) => uid),
    ['blocks.pddl:2', 'blocks.pddl:18'],
  );
  const [first = assert.fail()] = problems;
  assert.match(first.question, /the red block is on top of the blue block/u);
  assert.equal(await scoreOf(first, PLANBENCH.ground_truth_plan), 1);
  for (const [text, message] of [
    [problem('(craves a b)'), /blocks\.pddl:2: The PDDL has "\(craves a b\)"/u],
    [`${problem('(on b a)')}(`, /blocks\.pddl:16: the problem that begins here is not closed/u],
    [`x ${problem('(on b a)')}`, /blocks\.pddl:1: there is something outside parentheses/u],
    [')', /blocks\.pddl:1: there is something outside parentheses/u],
    ['', /holds no problems: write one or more problems/u],
    [`(${'a'.repeat(200_000)})`, /more than 100000 characters/u],
  ] as const) {
    await assert.rejects(load(text, 'pddl', 'blocks.pddl'), isInputError(message), text.slice(0, 60));
  }
});

test('AIME has whole numbers from 0 to 999', async () => {
  for (const [row, uid, answer] of [
    [{ id: 60, problem: 'p', solution: 's', answer: '025', url: 'u', year: '2024' }, 'aime-60', '25'],
    [{ ID: '2024-II-4', Problem: 'p', Answer: 33 }, 'aime-2024-II-4', '33'],
    [{ question: 'p', answer: '000' }, 'data.jsonl:1', '0'],
  ] as const) {
    const problem = await one(row, 'aime');
    assert.deepEqual([problem.uid, problem.answer], [uid, answer]);
    assert.equal(await scoreOf(problem, `So \\boxed{${answer}}.`), 1);
  }
  for (const answer of ['1000', '-1', '1/2', 2.5]) {
    await assert.rejects(one({ problem: 'p', answer }, 'aime'), isInputError(/whole numbers from 0 to 999/u));
  }
});

test('AutoLogi is checked by its own Python, in the sandbox, and a message is data there', async () => {
  const problem = await one(AUTOLOGI);
  assert.equal(problem.uid, 'autologi-en-7');
  // The store keeps what says that a value is read.
  assert.deepEqual(toProblem({ ...problem, tests: formatTests(problem.tests) }), problem);
  const grader = new PythonGrader({ places: sandboxPlaces() });
  try {
    const evaluator = auto(grader);
    const cases = [
      ['```json\n// the order\ninputs = ["Oil", "Wine", "Snacks"]\n```', 1, 'passed'],
      ['["Wine", "Oil", "Snacks"]', 0, 'wrong-answer'],
      ['```\n")\nraise SystemExit\n(["Wine", "Snacks", "Oil"]\n```', 0, 'candidate-exception'],
      ['Wine, Snacks, Oil', 0, 'no-value'],
      [`${'['.repeat(30_000)}]`, 0, 'no-value'],
    ] as const;
    const found = await Promise.all(cases.map(([message]) => evaluator.evaluate(problem, message)));
    assert.deepEqual(
      found.map(({ score, rule }) => [score, rule]),
      cases.map(([, score, rule]) => [score, rule]),
    );
  } finally {
    grader.close();
  }
  for (const [code, message] of [
    [{}, /"code" needs Inputs_Check_code as a text/u],
    [{ Inputs_Check_code: 'x', Constraint_List_code: '' }, /"code" needs Constraint_List_code/u],
    [{ Inputs_Check_code: 'x'.repeat(100_001) }, /at most 100000 characters/u],
  ] as const) {
    await assert.rejects(one({ ...AUTOLOGI, code }), isInputError(message));
  }
});
