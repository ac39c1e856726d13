/**
 * The bundled arithmetic task: word problems of two to four steps in eight graded levels, with
 * demonstrations for both roles of the bundled team. A plan is the flat expression, read strictly left
 * to right without precedence: `12+7-5*2` is ((12+7)-5)*2 = 28.
 */

import { C3Error } from '../../shared/errors.ts';
import { toPlanned, type PlannedProblem } from '../demonstration.ts';
import { HashedStream } from '../hashedStream.ts';
import { distinctQuestions, uidSha } from '../uid.ts';
import {
  DISTRACTORS,
  EVENTS,
  GROUPED_STARTS,
  NAMES,
  OBJECTS,
  QUESTIONS,
  SHARED_ENDINGS,
  STARTS,
} from './arithmeticWords.ts';

export interface ArithmeticProblem extends PlannedProblem {
  /** `12+7-5*2`, read left to right. */
  readonly plan: string;
  /** `12+7=19\n19-5=14\n14*2=28\n#### 28`: one step in each line, then the answer. */
  readonly solution: string;
}

export interface ArithmeticRequest {
  readonly seed: string;
  /** Number of distinct questions. */
  readonly count: number;
  /**
   * Weights of the levels 1 to 8, by position; missing ones are 0. The default is levels 1 to 4 with
   * equal weights.
   */
  readonly levels?: readonly number[];
}

export const MAX_PROBLEMS = 1_000_000;
const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];
const DISTRACTOR_SHARE = 0.3;
const GROUPED_SHARE = 0.6;
const SHARED_ENDING_SHARE = 0.5;

interface LevelRule {
  readonly level: number;
  readonly steps: number;
  readonly limit: number;
  readonly largestStart: number;
  readonly largestTerm: number;
  /** The largest factor or divisor. Above 1, at least one step multiplies or divides; for 0, none does. */
  readonly largestFactor: number;
  /** True if the story may contain an irrelevant number. */
  readonly distracted: boolean;
}

/** Levels 5 to 8 use the stories of levels 1 to 4 with larger numbers. */
const LEVEL_RULES: readonly LevelRule[] = [
  { level: 1, steps: 2, limit: 40, largestStart: 20, largestTerm: 12, largestFactor: 0, distracted: false },
  { level: 2, steps: 2, limit: 60, largestStart: 20, largestTerm: 12, largestFactor: 5, distracted: true },
  { level: 3, steps: 3, limit: 60, largestStart: 20, largestTerm: 12, largestFactor: 5, distracted: true },
  { level: 4, steps: 4, limit: 60, largestStart: 20, largestTerm: 12, largestFactor: 5, distracted: true },
  { level: 5, steps: 2, limit: 99, largestStart: 20, largestTerm: 15, largestFactor: 0, distracted: false },
  { level: 6, steps: 2, limit: 99, largestStart: 30, largestTerm: 20, largestFactor: 6, distracted: true },
  { level: 7, steps: 3, limit: 199, largestStart: 30, largestTerm: 30, largestFactor: 6, distracted: true },
  { level: 8, steps: 4, limit: 199, largestStart: 30, largestTerm: 30, largestFactor: 6, distracted: true },
];

type Operator = '+' | '-' | '*' | '/';

interface Step {
  readonly operator: Operator;
  readonly operand: number;
  /** The value after this step. */
  readonly value: number;
}

/**
 * Returns distinct problems of a seed, in the order of their draws.
 * @throws C3Error('input') for an impossible count or invalid levels
 */
export function generateArithmetic(request: ArithmeticRequest): ArithmeticProblem[] {
  checkCount(request.count);
  const problems: ArithmeticProblem[] = [];
  for (const problem of yieldArithmetic(request.seed, request.levels)) {
    if (problems.length === request.count) {
      break;
    }
    problems.push(problem);
  }
  return problems;
}

/**
 * Yields every distinct problem of a seed, without end; repeated questions are skipped. The uid
 * contains the index of the draw, so that with one mix of levels a uid always has the same question,
 * whatever the count.
 * @throws C3Error('input') for invalid levels
 */
export function yieldArithmetic(seed: string, levels: readonly number[] = DEFAULT_MIX): Iterable<ArithmeticProblem> {
  checkLevels(levels);
  return distinctQuestions(drawProblems(seed, levels));
}

function* drawProblems(seed: string, levels: readonly number[]): Generator<ArithmeticProblem, never, undefined> {
  for (let index = 0; ; index++) {
    yield drawProblem(seed, index, levels);
  }
}

/** Returns draw `index` of a seed; depends only on its arguments. */
function drawProblem(seed: string, index: number, levels: readonly number[]): ArithmeticProblem {
  const stream = new HashedStream(`arithmetic\0${seed}\0${index}`);
  const rule = stream.weighted(LEVEL_RULES, levels);
  const { start, steps } = drawSteps(stream, rule);
  const question = writeStory(stream, start, steps, rule.distracted && stream.chance(DISTRACTOR_SHARE));
  const answer = String(steps.at(-1)?.value ?? start);
  const plan = `${start}${steps.map((step) => `${step.operator}${step.operand}`).join('')}`;
  return {
    uid: `arithmetic-${seed}-${index}`,
    uidSha: uidSha(question),
    question,
    answer,
    source: 'arithmetic',
    level: rule.level,
    ...toPlanned(
      { plan, solution: `${workOutSteps(start, steps)}#### ${answer}` },
      { plan, solution: `#### ${answer}` },
    ),
    short: rule.steps === 2,
  };
}

/** Draws whole chains until one fits the level's rule; about every second one does. */
function drawSteps(stream: HashedStream, rule: LevelRule): { start: number; steps: Step[] } {
  for (;;) {
    const start = stream.integer(2, rule.largestStart);
    const steps: Step[] = [];
    let value = start;
    while (steps.length < rule.steps) {
      const step = drawStep(stream, value, rule);
      steps.push(step);
      value = step.value;
    }
    if (rule.largestFactor === 0 || steps.some((step) => step.operator === '*' || step.operator === '/')) {
      return { start, steps };
    }
  }
}

/** Draws one step from `value`. Each operator with an operand is equally likely; there is one. */
function drawStep(stream: HashedStream, value: number, rule: LevelRule): Step {
  const additions = listOperands(2, Math.min(rule.largestTerm, rule.limit - value), () => true);
  const subtractions = listOperands(2, Math.min(rule.largestTerm, value - 1), () => true);
  const multipliers = listOperands(2, rule.largestFactor, (factor) => value * factor <= rule.limit);
  const divisors = listOperands(2, rule.largestFactor, (factor) => value % factor === 0);
  const options: Step[][] = [
    additions.map((operand) => ({ operator: '+', operand, value: value + operand })),
    subtractions.map((operand) => ({ operator: '-', operand, value: value - operand })),
    multipliers.map((operand) => ({ operator: '*', operand, value: value * operand })),
    divisors.map((operand) => ({ operator: '/', operand, value: value / operand })),
  ];
  return stream.pick(stream.pick(options.filter((steps) => steps.length > 0)));
}

function listOperands(low: number, high: number, fits: (operand: number) => boolean): number[] {
  return Array.from({ length: Math.max(0, high - low + 1) }, (_, offset) => low + offset).filter(fits);
}

/** Writes the story of the steps, with at most one irrelevant number after a sentence. */
function writeStory(stream: HashedStream, start: number, steps: readonly Step[], distracted: boolean): string {
  const name = stream.pick(NAMES);
  const objects = stream.pick(OBJECTS);
  const say = (template: string, number: number): string =>
    fillStory(template, {
      x: name,
      y: pickOther(stream, NAMES, name),
      o: objects,
      p: pickOther(stream, OBJECTS, objects),
      s: String(start),
      n: String(number),
    });

  const first = steps[0];
  const last = steps.at(-1);
  const grouped = first?.operator === '*' && stream.chance(GROUPED_SHARE) ? first : undefined;
  const ending = last?.operator === '/' && stream.chance(SHARED_ENDING_SHARE) ? stream.pick(SHARED_ENDINGS) : undefined;

  const sentences = [grouped ? say(stream.pick(GROUPED_STARTS), grouped.operand) : say(stream.pick(STARTS), start)];
  for (const step of grouped ? steps.slice(1) : steps) {
    const template = ending && step === last ? ending.event : stream.pick(EVENTS[step.operator]);
    sentences.push(say(template, step.operand));
  }
  if (distracted) {
    sentences.splice(stream.integer(1, sentences.length), 0, say(stream.pick(DISTRACTORS), stream.integer(2, 20)));
  }
  sentences.push(say(ending?.question ?? stream.pick(QUESTIONS), 0));
  return sentences.join(' ');
}

function pickOther(stream: HashedStream, choices: readonly string[], taken: string): string {
  const position = choices.indexOf(taken);
  return stream.pick([...choices.slice(position + 1), ...choices.slice(0, position)]);
}

function fillStory(template: string, words: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w)\}/gu, (_, key: string) => words[key] ?? '');
}

/**
 * Works out a plan, one step in each line, then the answer: `12+7=19\n19-5=14\n#### 14`.
 * @param plan of whole numbers, read strictly left to right; divisions without a remainder
 */
export function workOutPlan(plan: string): string {
  const [first, ...rest] = plan.match(/\d+|[-+*/]\d+/gu) ?? [];
  const start = Number(first);
  let value = start;
  const steps = rest.map((text): Step => {
    const [operator, operand] = [text.charAt(0), Number(text.slice(1))];
    if (operator === '+') {
      value += operand;
    } else if (operator === '-') {
      value -= operand;
    } else if (operator === '*') {
      value *= operand;
    } else {
      value /= operand;
    }
    return { operator: operator as Operator, operand, value };
  });
  return `${workOutSteps(start, steps)}#### ${value}`;
}

function workOutSteps(start: number, steps: readonly Step[]): string {
  let lines = '';
  let value = start;
  for (const step of steps) {
    lines += `${value}${step.operator}${step.operand}=${step.value}\n`;
    value = step.value;
  }
  return lines;
}

/** Checks a count. @throws C3Error('input') unless it is a whole number from 0 to MAX_PROBLEMS */
export function checkCount(count: number): void {
  if (!Number.isInteger(count) || count < 0 || count > MAX_PROBLEMS) {
    throw new C3Error('input', `Cannot generate ${count} problems: ask for a whole number from 0 to ${MAX_PROBLEMS}.`);
  }
}

function checkLevels(levels: readonly number[]): void {
  const valid = levels.length <= LEVEL_RULES.length && levels.every((weight) => Number.isFinite(weight) && weight >= 0);
  if (!valid || !levels.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Arithmetic levels [${levels.join(', ')}] are not valid: give 1 to ${LEVEL_RULES.length} weights from 0 up, at least one above 0.`,
    );
  }
}
