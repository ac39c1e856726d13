import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import { getEvaluatorKind, type EvaluatorName } from '../../../src/evaluate/kinds.ts';
import { makeEvaluator, getAnswerForm } from '../../../src/evaluate/named.ts';
import { BLOCKS, gradePlan, parseBlocks, readPlan, readStatement } from '../../../src/evaluate/puzzles/blocks.ts';
import { compareGuess, gradeGuess, readGuess, parseSecret } from '../../../src/evaluate/puzzles/numbers.ts';
import { readDomain, readProblem, writeProblem, type Domain } from '../../../src/evaluate/puzzles/pddl.ts';
import { validatePlan } from '../../../src/evaluate/puzzles/strips.ts';
import { gradeZebra, parseZebra } from '../../../src/evaluate/puzzles/zebra.ts';
import { maskVerdict, scoreVerdict } from '../../../src/evaluate/python/rules.ts';
import { MODELLESS_TASKS } from '../../../src/shared/runNames.ts';
import { isInputError } from '../tasks/expect.ts';

/** The example puzzle of ZeroEval's prompt. */
const GRID = '{"House 1":{"Name":"Arnold","Drink":"tea"},"House 2":{"Name":"Peter","Drink":"water"}}';
const problem = (answer: string): Problem => ({
  uid: 'item',
  uidSha: 'ab',
  question: 'q',
  answer,
  source: 'test',
  level: null,
});

describe('a grid of houses', () => {
  const key = parseZebra(GRID) ?? assert.fail();
  const rule = (message: string): string => gradeZebra(key, message, 'all').rule;
  const right = `{"reasoning": "so", "solution": ${GRID}}`;

  it('is right where every cell is, by the last complete object, whatever case and blanks it has', () => {
    assert.deepEqual(gradeZebra(key, right, 'all'), { score: 1, rule: 'zebra: 4 of 4 cells' });
    const loose = right.replace('tea', ' TEA ').replace('"Peter"', '["peter", "Eric"]').replaceAll(',', ',\n');
    assert.equal(gradeZebra(key, `First {"solution": {}}. Then\n${loose}\nDone.`, 'all').score, 1);
    // An object that is cut off does not count, the one before it does; one that is complete and wrong does.
    assert.equal(gradeZebra(key, `${right} } {"solution": {}`, 'all').score, 1);
    assert.equal(gradeZebra(key, `${right} {"solution": {}}`, 'all').score, 0);
  });

  it('scores the share of its cells by zebra-cells', () => {
    const half = right.replace('tea', 'water').replace('"Peter"', '7');
    assert.deepEqual(gradeZebra(key, half, 'cells'), { score: 0.5, rule: 'zebra: 2 of 4 cells' });
    assert.equal(gradeZebra(key, half, 'all').score, 0);
    assert.equal(
      gradeZebra(key, '{"solution": {"House 1": {"Name": ["Arnold"]}, "House 2": []}}', 'cells').score,
      0.25,
    );
  });

  it('says why a message cannot be compared', () => {
    for (const [message, why] of [
      ['', 'no complete JSON object'],
      ['{ "solution": {', 'no complete JSON object'],
      [GRID, 'its last object is no JSON with a solution'],
      ['{solution: 1}', 'its last object is no JSON with a solution'],
      ['{"solution": []}', 'its last object is no JSON with a solution'],
      ['{"__proto__": {"solution": {}}}', 'its last object is no JSON with a solution'],
      ['{"solution": {"__proto__": {"Name": "Arnold"}}}', '0 of 4 cells'],
    ] as const) {
      assert.equal(rule(message), `zebra: ${why}`, message);
    }
    assert.equal(rule('{'.repeat(300_000) + '}'.repeat(300_000)), 'zebra: its last object is no JSON with a solution');
  });

  it('has a key of equal houses without hidden cells', () => {
    for (const text of [
      '',
      '{}',
      '[]',
      '{"House 2": {"Name": "a"}}',
      '{"House 1": {}}',
      '{"House 1": {"Name": "___"}}',
      '{"House 1": {"Name": 1}}',
      '{"House 1": {"Name": "a"}, "House 2": {"Drink": "b"}}',
    ]) {
      assert.equal(parseZebra(text), null, text);
    }
  });
});

describe('a secret number', () => {
  it('has the feedback of the published referee', () => {
    // From the trajectory to 6850 in AR-Bench's prompt.
    for (const [guess, inPlace, elsewhere] of [
      ['1234', 0, 0],
      ['5678', 0, 3],
      ['1678', 0, 2],
      ['5618', 0, 3],
      ['5680', 1, 3],
      ['8650', 2, 2],
      ['8560', 1, 3],
      ['6850', 4, 0],
      ['6666', 1, 0],
      ['5055', 1, 1],
    ] as const) {
      assert.deepEqual(compareGuess('6850', guess), { inPlace, elsewhere }, guess);
    }
  });

  it('is guessed by the last group of as many digits', () => {
    assert.equal(readGuess('Not 1234; Guess: 0427.', 4), '0427');
    assert.equal(readGuess('123456789', 4), '5678');
    assert.equal(readGuess('Guess: 427', 4), null);
    assert.deepEqual(gradeGuess('0427', 'Guess: 0427'), { score: 1, rule: 'numbers: 4 in place, 0 elsewhere' });
    assert.deepEqual(gradeGuess('0427', 'Guess: 0472'), { score: 0, rule: 'numbers: 2 in place, 2 elsewhere' });
    assert.deepEqual(gradeGuess('0427', '?'), { score: 0, rule: 'numbers: no guess of 4 digits' });
    assert.deepEqual(
      ['secret number 0427', '0427', 'secret number 0044', 'secret number', 'secret number 01234567890'].map(
        parseSecret,
      ),
      ['0427', null, null, null, null],
    );
  });
});

/** The problem of PlanBench's own prompts: yellow on orange, red on blue. */
const STATEMENT = `As initial conditions I have that, the red block is clear, the yellow block is clear, the hand is empty, the red block is on top of the blue block, the yellow block is on top of the orange block, the blue block is on the table and the orange block is on the table.
My goal is to have that the orange block is on top of the red block.`;
const PLAN = [
  'unstack the yellow block from on top of the orange block',
  'put down the yellow block',
  'pick up the orange block',
  'stack the orange block on top of the red block',
];

describe('Blocksworld', () => {
  const problem = readStatement(
    `[STATEMENT]\nAs initial conditions I have that, x.\n[STATEMENT]\n${STATEMENT}\n[PLAN]`,
    'p',
  );
  assert.ok(problem !== null);
  const rule = (...lines: string[]): string => gradePlan(problem, lines.join('\n')).rule;

  it('reads the last statement of a prompt as a problem in PDDL, and nothing else', () => {
    assert.equal(
      writeProblem(problem),
      '(define (problem p) (:domain blocksworld-4ops) (:objects red yellow blue orange) (:init (clear red) (clear yellow) (handempty) (on red blue) (on yellow orange) (ontable blue) (ontable orange)) (:goal (and (on orange red))))',
    );
    assert.deepEqual(parseBlocks(writeProblem(problem)), problem);
    assert.equal(
      readStatement('As initial conditions I have that, planet a. My goal is to have that a craves b.', 'p'),
      null,
    );
    assert.equal(readStatement('no statement', 'p'), null);
  });

  it('executes a plan in English or in PDDL, and says what goes wrong first', () => {
    const pddl = ['(unstack yellow orange)', '(put-down yellow)', '(pick-up orange)', '(stack orange red)'];
    for (const lines of [
      PLAN,
      ['I think:', '[PLAN]', ...PLAN.map((line, at) => `${at + 1}. ${line.toUpperCase()}.`), '[PLAN END]', 'pick up'],
      pddl,
      [pddl.join(' ')],
      [...PLAN, '[STATEMENT]', PLAN[0] ?? ''],
    ]) {
      assert.equal(rule(...lines), 'plan: 4 actions reach the goal', lines.join('; '));
    }
    assert.equal(rule(...PLAN.slice(1)), 'plan: action 1, (put-down yellow), needs (holding yellow)');
    assert.equal(rule(...PLAN.slice(0, 3)), 'plan: (on orange red) does not hold after 3 actions');
    assert.equal(rule(...PLAN, ...PLAN), 'plan: action 5, (unstack yellow orange), needs (on yellow orange)');
    assert.equal(rule('(stack orange)'), 'plan: action 1, (stack orange), is not of the domain');
    assert.equal(rule('No idea.', 'pick up the purple block'), 'plan: no action');
    assert.equal(rule(...Array.from({ length: 2000 }, () => '(pick-up red)')), 'plan: more than 1000 actions');
    assert.deepEqual(readPlan('stack the red block on the blue block', ['blue', 'red']), [
      { name: 'stack', objects: ['red', 'blue'] },
    ]);
  });

  it('does not let a message name what no block is', () => {
    assert.equal(rule('(pick-up ?x)'), 'plan: no action');
    assert.match(rule('(pick-up __proto__)'), /needs \(clear __proto__\)/u);
  });
});

/** The text that readDomain reads. */
function writeDomain({ name, predicates, operators }: Domain): string {
  const variables = (count: number): string => Array.from({ length: count }, (_, index) => ` ?x${index}`).join('');
  const actions = [...operators.values()].map(
    (one) =>
      `  (:action ${one.name}\n    :parameters (${one.parameters.join(' ')})\n` +
      `    :precondition (and ${one.needs.join(' ')})\n` +
      `    :effect (and ${[...one.adds, ...one.removes.map((gone) => `(not ${gone})`)].join(' ')}))`,
  );
  const declared = [...predicates].map(([predicate, count]) => `(${predicate}${variables(count)})`).join(' ');
  return `(define (domain ${name})\n  (:requirements :strips)\n  (:predicates ${declared})\n${actions.join('\n')})\n`;
}

describe('the PDDL subset', () => {
  it('is read and written alike', () => {
    assert.deepEqual(readDomain(writeDomain(BLOCKS)), BLOCKS);
    // Another domain than Blocksworld, with comments and capitals.
    const domain = readDomain(`; a light
      (DEFINE (DOMAIN light) (:requirements :strips) (:predicates (on) (off) (near ?who))
        (:action press :parameters (?who) :precondition (and (near ?who) (off)) :effect (and (on) (not (off))))
        (:action walk :parameters (?who) :precondition () :effect (near ?who)))`);
    const light = readProblem('(define (problem p) (:domain light) (:objects Ann) (:init (off)) (:goal (on)))', domain);
    const plan = ['walk', 'press'].map((name) => ({ name, objects: ['ann'] }));
    assert.equal(validatePlan(domain, light, plan).score, 1);
    assert.equal(validatePlan(domain, light, plan.slice(1)).rule, 'plan: action 1, (press ann), needs (near ann)');
  });

  it('refuses what it does not read, in one sentence', () => {
    const p = (rest: string): string => `(define (problem p) (:domain d) ${rest})`;
    const whole = '(:objects a b) (:init (handempty)) (:goal (and (on a b)))';
    assert.equal(readProblem(p(whole), BLOCKS).objects.length, 2);
    for (const [text, message] of [
      ['', /not one expression/u],
      ['(define (problem p)', /not closed/u],
      ['(define) )', /not open/u],
      [p(whole.replace('(on a b)', '(on a c)')), /"\(on a c\)", which is no fact/u],
      [p(whole.replace('(on a b)', '(not (on a b))')), /other than words/u],
      [p(whole.replace('(on a b)', '')), /empty goal/u],
      [p(whole.replace('a b', 'a a')), /different objects/u],
      [p(whole.replace('a b', 'a - block b')), /which is no name/u],
      [p(`${whole} (:metric minimize)`), /only :domain, :objects, :init and :goal/u],
      [p(`${whole} (:init)`), /needs one :init/u],
      ['('.repeat(50), /nested more than 20/u],
      [p(whole).padEnd(100_001), /more than 100000 characters/u],
    ] as const) {
      assert.throws(() => readProblem(text, BLOCKS), isInputError(message), text.slice(0, 80));
    }
    assert.throws(() => readDomain('(define (domain d) (:types block))'), isInputError(/":types"/u));
    assert.throws(
      () => readDomain('(define (domain d) (:predicates (p ?x)) (:action a :parameters (?x) :effect (p ?y)))'),
      isInputError(/"\(p \?y\)"/u),
    );
  });
});

describe('evaluators of puzzles', () => {
  const grader = { grade: () => Promise.resolve(scoreVerdict(1, 'passed', '', 1, 1)), functions: () => assert.fail() };
  const named = (name: EvaluatorName, form = getAnswerForm(null)) => makeEvaluator(name, form, () => grader);
  const PROBLEM = writeProblem(readStatement(STATEMENT, 'p') ?? assert.fail());

  it('are what auto takes for their answers, in tasks and in files; other answers stay mathematics', async () => {
    for (const form of [getAnswerForm(null), ...MODELLESS_TASKS.map(getAnswerForm)]) {
      const auto = named('auto', form);
      const score = async (answer: string, text: string): Promise<number | null> =>
        (await auto.evaluate(problem(answer), text)).score;
      assert.equal(await score(GRID, `{"solution": ${GRID}}`), 1);
      assert.equal(await score(PROBLEM, PLAN.join('\n')), 1);
      assert.equal(await score('secret number 0427', 'Guess: 0427'), 1);
      assert.equal(await score('secret number 0427', '#### 427'), 0);
      assert.equal(await score('427', '#### 0427'), 1);
      assert.equal(await score('{1, 2}', '\\boxed{\\{2, 1\\}}'), 1);
    }
  });

  it('mask what has no key, and name it before a run begins', async () => {
    for (const [name, answer] of [
      ['zebra', GRID],
      ['zebra-cells', GRID],
      ['numbers', 'secret number 12'],
      ['blocksworld', PROBLEM],
    ] as const) {
      const { score, masked: why } = await named(name).evaluate(problem('14'), '14');
      assert.deepEqual([score, typeof why], [null, 'string']);
      assert.equal(getEvaluatorKind(name).fault([problem(answer)]), null);
      assert.match(getEvaluatorKind(name).fault([problem(answer), problem('14')]) ?? '', /"item" has another form/u);
      assert.equal(named(name).name, name);
    }
  });

  it('give tests that read a value the literal of a message as data, and score 0 where there is none', async () => {
    const asked: string[] = [];
    const python = makeEvaluator('auto', 'mathematics', () => ({
      functions: () => assert.fail(),
      grade: (code) => {
        asked.push(code);
        return Promise.resolve(maskVerdict('no-tests', ''));
      },
    }));
    const tests = { tests: [], test: 'x', entryPoint: 'f', setup: '', prefix: '', reads: 'value' } as const;
    const given = { ...problem(''), tests };
    assert.deepEqual(await python.evaluate(given, 'No value.'), { score: 0, rule: 'no-value' });
    for (const [message, value] of [
      ['So:\n```python\n{"a": 1}\n```\nor\n```\n[1]\n```', '[1]\n'],
      ['{"a": {"b": 1}} and [2]', '{"a": {"b": 1}}'],
      ['[1] then [[2], 3]', '[[2]'],
      ['["""\\"]', '["""\\"]'],
    ] as const) {
      await python.evaluate(given, message);
      assert.ok(asked.at(-1)?.includes(`re.sub(r'//.*?\\n', '', ${JSON.stringify(value)})`), asked.at(-1));
    }
  });
});
