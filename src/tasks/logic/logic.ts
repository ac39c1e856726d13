/**
 * The fifth bundled task: logic questions with four options, of which exactly one follows from the rules given. It is
 * made for teams that vote: a voter who guesses is right in a quarter of the cases. Half of the levels put people in an
 * order, half follow a chain of implications; the answer is the letter of the option.
 */
import { C3Error } from '../../shared/errors.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { HashedStream } from '../hashedStream.ts';
import { distinctQuestions, uidSha } from '../uid.ts';
import { drawImplication } from './implication.ts';
import { shuffled, type LogicCase } from './logicCase.ts';
import { LETTERS } from './logicWords.ts';
import { drawOrdering } from './ordering.ts';

interface LevelRule {
  readonly level: number;
  readonly draw: (stream: HashedStream) => LogicCase;
}

const LEVEL_RULES: readonly LevelRule[] = [
  { level: 1, draw: (stream) => drawOrdering(stream, { people: 4, mixed: false }) },
  { level: 2, draw: (stream) => drawImplication(stream, { links: 2, reading: 'forward', negated: false }) },
  { level: 3, draw: (stream) => drawOrdering(stream, { people: 4, mixed: true }) },
  { level: 4, draw: (stream) => drawImplication(stream, { links: 3, reading: 'backward', negated: false }) },
  { level: 5, draw: (stream) => drawOrdering(stream, { people: 5, mixed: true }) },
  { level: 6, draw: (stream) => drawImplication(stream, { links: 4, reading: 'either', negated: true }) },
];

const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];
/** The easier half of the levels. */
const LAST_SHORT = 2;

/**
 * Every distinct question of a seed, without end.
 * @param levels mix weights of the levels 1 to 6, by position; missing ones are 0
 * @throws C3Error('input') for levels that are no mix
 */
export function distinctLogic(seed: string, levels: readonly number[] = DEFAULT_MIX): Iterable<DemonstratedProblem> {
  checkLevels(levels);
  return distinctQuestions(drawProblems(seed, levels));
}

function* drawProblems(seed: string, levels: readonly number[]): Generator<DemonstratedProblem, never, undefined> {
  for (let index = 0; ; index++) {
    yield drawProblem(seed, index, levels);
  }
}

/** Draw `index` of a seed; depends on nothing but its arguments. */
function drawProblem(seed: string, index: number, levels: readonly number[]): DemonstratedProblem {
  const stream = new HashedStream(`logic\0${seed}\0${index}`);
  const { level, draw } = stream.weighted(LEVEL_RULES, levels);
  const { premises, asked, right, wrong, steps } = draw(stream);
  const options = shuffled(stream, [right, ...wrong]);
  const question = [premises, asked, ...options.map((option, at) => `${LETTERS[at] ?? ''} ${option}`)].join('\n');
  const answer = LETTERS[options.indexOf(right)] ?? '';
  return {
    uid: `logic-${seed}-${index}`,
    uidSha: uidSha(question),
    question,
    answer,
    source: 'logic',
    level,
    // Voters are asked the same, so that one demonstration serves all of them.
    said: [`so ${steps.join(' ')} thus ${right}\n#### ${answer}`],
    // Without the steps it is hard to be right.
    saidInHaste: [`#### ${answer}`],
    short: level <= LAST_SHORT,
  };
}

function checkLevels(levels: readonly number[]): void {
  const valid = levels.length <= LEVEL_RULES.length && levels.every((weight) => Number.isFinite(weight) && weight >= 0);
  if (!valid || !levels.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Logic levels [${levels.join(', ')}] are not valid: give 1 to ${LEVEL_RULES.length} weights from 0 up, at least one above 0.`,
    );
  }
}
