/**
 * A bundled task: logic questions with four options, exactly one of which follows from the given
 * rules. It is made for teams that vote: a voter who guesses is right in a quarter of the cases. Half
 * of the levels put people in an order, half follow a chain of implications. The answer is the letter
 * of the option.
 */

import { C3Error } from '../../shared/errors.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { HashedStream } from '../hashedStream.ts';
import { distinctQuestions, uidSha } from '../uid.ts';
import { shuffled, type LogicCase, drawn } from './logicCase.ts';
import { LETTERS, WEATHER, PEOPLE, PLACES } from './logicWords.ts';

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
/** The last level of the easier half. */
const LAST_SHORT = 2;

/**
 * Yields every distinct question of a seed, without end.
 * @param levels weights of the levels 1 to 6, by position; missing ones are 0
 * @throws C3Error('input') for invalid levels
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

/** Returns draw `index` of a seed; depends only on its arguments. */
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
    // All voters get the same question, so that one demonstration serves all of them.
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

// Questions about a chain of implications, read forward from a fact or backward from its negation.

interface ImplicationRule {
  /** Number of implications in the chain. */
  readonly links: number;
  /** forward: the first holds, so all do. backward: the last does not, so none does (contraposition). */
  readonly reading: 'forward' | 'backward' | 'either';
  /** True if an implication may be about the absence of something. */
  readonly negated: boolean;
}

/** The presence or absence of something. */
interface Literal {
  readonly thing: string;
  readonly holds: boolean;
}

/** Number of implications beside the chain that decide nothing. */
const TRAPS = 2;

/**
 * Draws a chain of implications, a fact at one end of it, and implications that share one side with
 * the chain. They lead into the chain if it is read forward, and out of it if it is read backward, so
 * that nothing follows about their other side. Each of their other things occurs once, so that only
 * the chain allows conclusions.
 */
function drawImplication(stream: HashedStream, { links, reading, negated }: ImplicationRule): LogicCase {
  const things = drawn(stream, WEATHER, links + 1 + TRAPS);
  const literals = things.map((thing): Literal => ({ thing, holds: !negated || stream.chance(0.5) }));
  const chain = literals.slice(0, links + 1);
  const traps = literals.slice(links + 1);
  const backward = reading === 'backward' || (reading === 'either' && stream.chance(0.5));
  const linked = chain.slice(1).map((then, index) => implied(chain[index] ?? then, then));
  const hung = traps.map((trap) => {
    const on = stream.pick(chain);
    return backward ? implied(on, trap) : implied(trap, on);
  });
  // The conclusions, one after the other; the fact comes first.
  const [fact, ...follows] = backward ? chain.map(opposite).reverse() : chain;
  const open = traps.flatMap((trap) => [trap, opposite(trap)]);
  // The right option is a far conclusion, because the nearest one is simply the rule that names the
  // fact.
  const right = stream.pick(follows.slice(1));
  return {
    premises: `${shuffled(stream, [...linked, ...hung]).join(' ')} There is ${fact === undefined ? '' : words(fact)}.`,
    asked: 'What follows?',
    right: words(right),
    wrong: drawn(stream, [...open, ...follows.map(opposite)].map(words), 3),
    steps: [fact ?? right, ...follows].map(words),
  };
}

const opposite = ({ thing, holds }: Literal): Literal => ({ thing, holds: !holds });
const words = ({ thing, holds }: Literal): string => (holds ? thing : `no ${thing}`);
const implied = (condition: Literal, then: Literal): string => `If ${words(condition)} then ${words(then)}.`;

// Questions about an order: rules about pairs decide the place of everyone.

interface OrderingRule {
  readonly people: number;
  /**
   * True if rules come in random order and use both `after` and `before`; otherwise each continues the
   * one before it.
   */
  readonly mixed: boolean;
}

/**
 * Draws an order, and a rule for each two neighbors in it; the rules leave no other order. The
 * question asks for the person in some place; unmixed questions ask for the first or the last.
 */
function drawOrdering(stream: HashedStream, { people, mixed }: OrderingRule): LogicCase {
  const order = drawn(stream, PEOPLE, people);
  const pairs = order.slice(1).map((later, index) => [order[index] ?? '', later] as const);
  const rules = (mixed ? shuffled(stream, pairs) : pairs).map(([earlier, later]) =>
    mixed && stream.chance(0.5) ? `Put ${later} after ${earlier}.` : `Put ${earlier} before ${later}.`,
  );
  const last = people - 1;
  const place = mixed ? stream.integer(0, last) : stream.integer(0, 1) * last;
  const right = order[place] ?? '';
  return {
    premises: rules.join(' '),
    asked: `Who is ${place === last ? 'last' : (PLACES[place] ?? '')}?`,
    right,
    wrong: drawn(
      stream,
      order.filter((one) => one !== right),
      3,
    ),
    steps: order,
  };
}
