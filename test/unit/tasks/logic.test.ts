import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readBallot } from '../../../src/environment/voting.ts';
import { gradeAnswer } from '../../../src/evaluate/answer.ts';
import type { DemonstratedProblem } from '../../../src/tasks/demonstration.ts';
import { distinctLogic } from '../../../src/tasks/logic/logic.ts';
import { isInputError } from './expect.ts';

const LEVELS = [1, 2, 3, 4, 5, 6];
const LETTERS = ['A', 'B', 'C', 'D'];

function questions(count: number, seed = 'a', levels: readonly number[] = LEVELS.map(() => 1)): DemonstratedProblem[] {
  const found: DemonstratedProblem[] = [];
  for (const problem of distinctLogic(seed, levels)) {
    if (found.push(problem) === count) {
      break;
    }
  }
  return found;
}

const ofLevel = (level: number, count: number): DemonstratedProblem[] =>
  questions(
    count,
    'a',
    LEVELS.map((one) => (one === level ? 1 : 0)),
  );

/** Every order of the items. */
const ordersOf = (items: readonly string[]): string[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((first) => ordersOf(items.filter((one) => one !== first)).map((rest) => [first, ...rest]));

interface Read {
  readonly premises: string;
  readonly asked: string;
  readonly options: readonly string[];
}

function read({ question }: DemonstratedProblem): Read {
  const [premises = '', asked = '', ...options] = question.split('\n');
  assert.deepEqual(
    options.map((option) => option.slice(0, 2)),
    LETTERS.map((letter) => `${letter} `),
  );
  return { premises, asked, options: options.map((option) => option.slice(2)) };
}

/** The letters of the options that an order of all people allows under every rule, found by trying all orders. */
function lettersByOrders(problem: DemonstratedProblem): string[] {
  const { premises, asked, options } = read(problem);
  const rules = [...premises.matchAll(/Put (\w+) (before|after) (\w+)\./gu)].map(([, one = '', how, other = '']) =>
    how === 'before' ? [one, other] : [other, one],
  );
  const people = [...new Set(rules.flat())];
  const place = ['first', 'second', 'third', 'fourth', 'fifth'].indexOf(/^Who is (\w+)\?$/u.exec(asked)?.[1] ?? '');
  const allowed = ordersOf(people).filter((order) =>
    rules.every(([earlier = '', later = '']) => order.indexOf(earlier) < order.indexOf(later)),
  );
  assert.ok(allowed.length > 0, problem.question);
  return LETTERS.filter((_, at) => allowed.some((order) => order.at(place) === options[at]));
}

/** The letters of the options that hold wherever all rules and facts do, found by trying every state of the weather. */
function lettersByStates(problem: DemonstratedProblem): string[] {
  const { premises, asked, options } = read(problem);
  assert.equal(asked, 'What follows?');
  const rules = [...premises.matchAll(/If ((?:no )?\w+) then ((?:no )?\w+)\./gu)];
  const facts = [...premises.matchAll(/There is ((?:no )?\w+)\./gu)].map(([, fact = '']) => fact);
  const bare = (literal: string): string => literal.replace('no ', '');
  const things = [...new Set([...rules.flatMap(([, one = '', other = '']) => [one, other]), ...facts].map(bare))];
  const states = Array.from({ length: 2 ** things.length }, (_, state) => (literal: string): boolean => {
    const here = ((state >> things.indexOf(bare(literal))) & 1) === 1;
    return here !== literal.startsWith('no ');
  }).filter((holds) => facts.every(holds) && rules.every(([, one = '', other = '']) => !holds(one) || holds(other)));
  assert.ok(states.length > 0, problem.question);
  return LETTERS.filter((_, at) => states.every((holds) => holds(options[at] ?? '')));
}

describe('the logic task', () => {
  it('draws the same questions for a seed, each once, other ones for another', () => {
    const some = questions(300);
    assert.deepEqual(questions(300), some);
    assert.equal(new Set(some.map(({ uidSha }) => uidSha)).size, 300);
    const known = new Set(some.map(({ question }) => question));
    assert.ok(questions(300, 'b').every(({ question }) => !known.has(question)));
  });

  it('has exactly one right option, the answer, whatever else its rules allow', () => {
    for (const level of LEVELS) {
      for (const problem of ofLevel(level, 100)) {
        const letters = level % 2 === 1 ? lettersByOrders(problem) : lettersByStates(problem);
        assert.deepEqual(letters, [problem.answer], problem.question);
        assert.equal(problem.level, level);
        assert.equal(new Set(read(problem).options).size, 4, problem.question);
      }
    }
  });

  it('needs its last premise: without the fact nothing follows, and with a rule less no order is decided', () => {
    for (const problem of ofLevel(4, 100)) {
      const question = problem.question.replace(/ There is no \w+\./u, '');
      assert.deepEqual(lettersByStates({ ...problem, question }), []);
    }
    const undecided = ofLevel(3, 100).filter((problem) => {
      const question = problem.question.replace(/ Put \w+ \w+ \w+\.\n/u, '\n');
      return lettersByOrders({ ...problem, question }).length > 1 || question.split('Put').length < 4;
    });
    assert.ok(undecided.length > 80, String(undecided.length));
  });

  it('puts the answer at each letter alike, and no letter or sign gives it away', () => {
    const all = questions(2000);
    for (const letter of LETTERS) {
      const share = all.filter(({ answer }) => answer === letter).length / all.length;
      assert.ok(Math.abs(share - 0.25) < 0.04, `${letter}: ${share}`);
    }
    // Whoever picks an option with the sign of the fact is right more often than by chance, but far from always.
    for (const level of [2, 4, 6]) {
      const alike = ofLevel(level, 200).map((problem) => {
        const { premises, options } = read(problem);
        const none = /There is no /u.test(premises);
        const same = LETTERS.filter((_, at) => options[at]?.startsWith('no ') === none);
        return same.includes(problem.answer) ? 1 / same.length : 0;
      });
      const share = alike.reduce((sum, value) => sum + value, 0) / alike.length;
      assert.ok(share < 0.6, `level ${level}: ${share}`);
    }
  });

  it('shows how it is concluded, in a form whose vote counts, and in haste the answer alone', () => {
    for (const { said, saidInHaste, question, answer } of questions(200)) {
      const [text = ''] = said;
      const [, conclusion = '', letter = ''] = /^so [\w ]+ thus ([\w ]+)\n#### ([A-D])$/u.exec(text) ?? [];
      assert.ok(question.includes(`\n${letter} ${conclusion}`), `${question}\n${text}`);
      assert.deepEqual([readBallot(text)?.answer, gradeAnswer(answer, text).score], [answer, 1]);
      assert.deepEqual(saidInHaste, [`#### ${answer}`]);
      const others = LETTERS.filter((other) => other !== answer);
      assert.ok(others.every((other) => gradeAnswer(answer, `#### ${other}`).score === 0));
    }
  });

  it('gets harder: more people or implications at each second level', () => {
    const rules = LEVELS.map((level) => {
      const counts = ofLevel(level, 20).map(({ question }) => question.split(/Put|If/u).length - 1);
      assert.equal(new Set(counts).size, 1);
      return counts[0] ?? 0;
    });
    assert.deepEqual(rules, [3, 4, 3, 5, 4, 6]);
    const words = ofLevel(1, 50).map(({ question }) => question.includes('after'));
    assert.ok(!words.includes(true) && ofLevel(3, 50).some(({ question }) => question.includes('after')));
  });

  it('refuses levels that it does not have', () => {
    for (const levels of [[0], [], [-1, 2], [1, 1, 1, 1, 1, 1, 1], [Number.NaN]]) {
      assert.throws(() => distinctLogic('a', levels), isInputError(/Logic levels .* 1 to 6 weights/u));
    }
  });
});
