/**
 * The fifth bundled task: logic questions with four options, of which exactly one follows from the rules given. It is
 * made for teams that vote: a voter who guesses is right in a quarter of the cases. Half of the levels put people in an
 * order, half follow a chain of implications; the answer is the letter of the option.
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

// Questions about a chain of implications, read forward from what is there or backward from what is not.

interface ImplicationRule {
  /** Implications of the chain. */
  readonly links: number;
  /** forward: the first holds, so all do. backward: the last does not hold, so none does (contraposition). */
  readonly reading: 'forward' | 'backward' | 'either';
  /** Whether an implication may be about there being none of something. */
  readonly negated: boolean;
}

/** There is some of it, or none. */
interface Literal {
  readonly thing: string;
  readonly holds: boolean;
}

/** Implications beside the chain that decide nothing. */
const TRAPS = 2;

/**
 * Draws a chain of implications, a fact at one end of it, and implications that hang on the chain by one side: they
 * lead into it where it is read forward, and out of it where it is read backward, so that nothing follows about their
 * other side. Each thing of theirs occurs once, so the chain is all that can be concluded.
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
  // What follows, one after the other; the fact comes first.
  const [fact, ...follows] = backward ? chain.map(opposite).reverse() : chain;
  const open = traps.flatMap((trap) => [trap, opposite(trap)]);
  // A far conclusion: the nearest one is the rule that names the fact, read alone.
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

// Questions about an order: rules about pairs decide the place of everybody.

interface OrderingRule {
  readonly people: number;
  /** Whether rules come in any order and say `after` as well as `before`; else one continues the other. */
  readonly mixed: boolean;
}

/**
 * Draws an order and a rule for each two neighbors in it, which leave no other order; asks who has some place.
 * Unmixed questions ask for the first or the last.
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
