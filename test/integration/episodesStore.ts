/** Stores with problems of several runs, and with very many, written as the engine writes them. */

import { createHash } from 'node:crypto';
import type { Interval } from '../../src/domain/credit.ts';
import type { Problem } from '../../src/domain/problem.ts';
import type { RunSummary } from '../../src/domain/run.ts';
import type { Headline } from '../../src/shared/credit/headline.ts';
import type { StoreWriter } from '../../src/store/write/writer.ts';
import { headline, setHeadlines } from '../support/headlines.ts';
import { addMessage, addRun, addTree, problem, LEDGER, METRICS, RUN } from '../unit/extension/storeFixture.ts';

export const HOSTILE =
  '<img src="https://c3-canary.invalid/a.png" onerror="globalThis.c3Canary=1"> [x](command:c3.startRun) $(trash) \u202eesrever\u202c \u001b[31mred';
const QUESTIONS = ['A farmer has 12 hens and buys 7 more', 'Half of a cake of 8 pieces', 'Trains leave at noon'];
const LONG = ' and so on, in words that no row of a list has room for,';

interface Given {
  readonly message: number;
  readonly credit: Headline;
}

/** Problems of one transaction. */
const TOGETHER = 10_000;
/** One of so many problems was trained on, and has credits; the others were evaluated. */
const TRAINED = 20;

/** The problem of a number, with a hash of its own. */
export function manyProblem(number: number): Problem {
  const question = `Problem ${number}: a baker has ${number % 97} trays of ${number % 13} loaves and sells ${number % 7} of them; how many are left?`;
  return {
    uid: `many-${number}`,
    uidSha: createHash('sha256').update(question).digest('hex'),
    question,
    answer: '1',
    source: number % 3 === 0 ? 'bakery' : 'market',
    level: number % 5,
  };
}

/** Appends a run that came to each of so many problems. */
export function addManyProblems(writer: StoreWriter, run: string, problems: number): void {
  addRun(writer, run);
  const given: Given[] = [];
  for (let from = 0; from < problems; from += TOGETHER) {
    writer.transaction(() => {
      for (let number = from; number < Math.min(problems, from + TOGETHER); number++) {
        const problem = manyProblem(number);
        if (number % TRAINED === 0) {
          given.push(...addTrained(writer, run, number, problem));
        } else {
          addEvaluated(writer, run, number, problem);
        }
      }
    });
  }
  setHeadlines(writer.path, given);
}

function addTrained(writer: StoreWriter, run: string, number: number, problem: Problem): readonly Given[] {
  const [first = 0, second = 0] = addTree(writer, {
    run,
    iteration: 1,
    problem,
    returns: [[number % 3 === 0 ? 0 : 1], [number % 2]],
    words: (plan, actor) => (actor === null ? `plan ${plan} of ${number}` : `left ${number % 89}`),
  }).map(({ plan }) => plan);
  const value = (number % 199) / 100 - 0.99;
  return [[first, value] as const, [second, -value] as const].map(([message, worth]) => ({
    message,
    credit: headline(worth, { low: Math.max(-1, worth - 0.4), high: Math.min(1, worth + 0.4), n: 2 }),
  }));
}

function addEvaluated(writer: StoreWriter, run: string, number: number, problem: Problem): void {
  writer.insertProblems([problem]);
  const leaf = addMessage(writer, {
    run,
    phase: 'evaluate',
    iteration: 1,
    problem,
    role: 'actor',
    position: 0,
    parent: null,
    bucket: null,
    index: 0,
    text: `left ${number % 89}`,
  });
  writer.insertEpisode({
    run,
    phase: 'evaluate',
    iteration: 1,
    problem: problem.uidSha,
    leaf,
    return: number % 2,
    rule: 'exact',
    evaluatorCalls: 1,
  });
}

/** Forty problems over three steps, evaluated before and after those that are not trained on; one of them hostile. */
export function fillEpisodes(writer: StoreWriter): void {
  addRun(writer);
  addRun(writer, 'older', '2020-01-01T00:00:00.000Z');
  const asked = (number: number): ReturnType<typeof problem> => {
    const question =
      number === 7
        ? `Problem 7: ${HOSTILE}`
        : `Problem ${number}: ${QUESTIONS[number % 3] ?? ''}${LONG.repeat(4)} how many are there?`;
    return { ...problem(number), question, source: number % 2 === 0 ? 'even' : 'odd', level: number % 5 };
  };
  for (let number = 30; number < 40; number++) {
    addTree(writer, { phase: 'evaluate', iteration: 1, problem: asked(number), returns: [[number % 2]] });
  }
  for (let step = 1; step <= 3; step++) {
    writer.insertStep({ run: RUN, iteration: step, snapshot: 'a'.repeat(64), ledger: LEDGER });
    for (let number = 0; number < 30; number++) {
      const trees = addTree(writer, {
        iteration: step,
        problem: asked(number),
        returns: [
          [(number + step) % 2, 1],
          [0, number % 3 === 0 ? 0 : step > 1 ? 1 : 0],
        ],
        words: (plan, actor) => (actor === null ? `plan ${plan} of ${number}` : `answer ${number}`),
      });
      const plan = trees[1]?.plan ?? 0;
      const value = (number - 15) / 16;
      setHeadlines(writer.path, [
        { message: plan, credit: headline(value, { low: Math.max(-1, value - 0.3), high: Math.min(1, value + 0.3) }) },
      ]);
    }
    writer.finishStep(RUN, step, METRICS, LEDGER);
  }
  for (let number = 30; number < 40; number++) {
    addTree(writer, { phase: 'evaluate', iteration: 3, problem: asked(number), returns: [[number % 4 === 0 ? 0 : 1]] });
  }
  writer.updateRunStatus(RUN, 'done', '2026-01-03T00:00:00.000Z', null);
  writer.updateRunStatus('older', 'done', '2020-01-03T00:00:00.000Z', null);
}

/** Two more runs that differ in two settings. */
export function addComparedRuns(writer: StoreWriter): void {
  const summary = (run: string, after: number): RunSummary => {
    const interval = (value: number): Interval => ({ value, low: value - 0.05, high: value + 0.05, n: 200 });
    const compared = { before: interval(0.4), after: interval(after), difference: interval(after - 0.4) };
    return {
      run,
      method: 'c3',
      seed: 1,
      steps: 3,
      evaluatorCalls: 96,
      tokens: { prompt: 1000, reused: 400, completion: 300 },
      decisions: {},
      seconds: 12.5,
      store: '',
      accuracy: compared,
      passAt1: compared,
    };
  };
  for (const [id, rate, title] of [
    ['slow', 1e-4, 'A low rate'],
    ['fast', 1e-3, `A high rate ${HOSTILE}`],
  ] as const) {
    writer.insertRun({
      id,
      method: 'c3',
      seed: 1,
      title,
      config: JSON.stringify({
        config: { learning_rate: rate, fanout: [2, 4], sampling: { temperature: 1 }, kl: id === 'slow' ? 0 : 0.1 },
      }),
      plannedSteps: 3,
      createdAt: '2025-01-01T00:00:00.000Z',
    });
    writer.updateRunStatus(id, 'done', '2025-01-02T00:00:00.000Z', summary(id, id === 'slow' ? 0.5 : 0.7));
  }
}
