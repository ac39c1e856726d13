/**
 * A bundled task: chains of letters on a ring. Each role adds one letter, and the whole chain must
 * reach the goal. It is for teams of 2 to 8 roles that share one context:
 *
 *   Chain of 3, ring of 16: from J to E by 1 2 5 without A H N
 *
 * The ring has the letters A to P, and after P comes A. Each link goes forward by one of the steps to
 * a letter that is not left out, and the last one is the goal: K, P, E is a solution, and O, D, E is
 * another one. The best letter of a role depends on the letters before it, and on the habits of the
 * roles after it.
 */

import { C3Error } from '../../shared/errors.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { HashedStream } from '../hashedStream.ts';
import { uidSha } from '../uid.ts';

/** Links of the longest chain, one for each role. */
const MOST_ROLES = 8;
/** Number of draws in a row without a new question after which the questions count as exhausted. */
const MOST_REPEATS = 500;

/** Letters of the ring; in this file they are indices from 0. */
const RING = 16;
const FIRST = 'A'.charCodeAt(0);

/** The same steps in all chains, so that a small team can learn them. */
const STEPS = [1, 2, 5];

interface LevelRule {
  readonly level: number;
  /** Number of letters that no link may reach. */
  readonly without: number;
}

const LEVEL_RULES: readonly LevelRule[] = [
  { level: 1, without: 2 },
  { level: 2, without: 3 },
  { level: 3, without: 4 },
  { level: 4, without: 6 },
];

const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];

/** The rules of a chain. */
interface Chain {
  readonly from: number;
  readonly to: number;
  /** One for each role. */
  readonly links: number;
  readonly without: readonly number[];
}

/**
 * Yields every distinct chain of a seed, until there are no more.
 * @param levels weights of the levels 1 to 4, by position; missing ones are 0
 * @param sizes team sizes, with equal chances
 * @throws C3Error('input') for invalid levels or team sizes; during iteration, if all chains of the
 *   mix were drawn
 */
export function yieldChains(
  seed: string,
  levels: readonly number[] = DEFAULT_MIX,
  sizes: readonly number[] = [2],
): Iterable<DemonstratedProblem> {
  checkLevels(levels);
  if (sizes.length === 0 || !sizes.every((size) => Number.isInteger(size) && size >= 2 && size <= MOST_ROLES)) {
    throw new C3Error('input', `The chain task has teams of 2 to ${MOST_ROLES} roles, not ${sizes.join(', ')}.`);
  }
  return drawChains(seed, levels, sizes);
}

function* drawChains(
  seed: string,
  levels: readonly number[],
  sizes: readonly number[],
): Generator<DemonstratedProblem, never, undefined> {
  const seen = new Set<string>();
  for (let [index, repeats] = [0, 0]; ; index++) {
    const problem = drawChain(seed, index, levels, sizes);
    repeats = seen.has(problem.uidSha) ? repeats + 1 : 0;
    if (repeats === 0) {
      seen.add(problem.uidSha);
      yield problem;
    } else if (repeats === MOST_REPEATS) {
      throw new C3Error(
        'input',
        `The chain task has no more than about ${seen.size} questions of the levels [${levels.join(', ')}] for teams of ${sizes.join(', ')}; ask for fewer, or for more levels.`,
      );
    }
  }
}

/** Returns draw `index` of a seed; depends only on its arguments. */
function drawChain(
  seed: string,
  index: number,
  levels: readonly number[],
  sizes: readonly number[],
): DemonstratedProblem {
  const stream = new HashedStream(`chain\0${seed}\0${index}`);
  const { level, without } = stream.weighted(LEVEL_RULES, levels);
  const links = sizes[stream.integer(0, sizes.length - 1)] ?? 2;
  const chain = drawSolvableChain(stream, links, without);
  const question = `Chain of ${links}, ring of ${RING}: ${describeRules(chain)}`;
  const ways = countWays(chain);
  return {
    uid: `chain-${seed}-${index}`,
    uidSha: uidSha(question),
    question,
    answer: writeChainKey(chain),
    source: 'chain',
    level,
    said: drawWalk(chain, stream, (number, left) => ways[left]?.[number] ?? 0),
    // In haste, a role considers only its own link, and not the links after it.
    saidInHaste: drawWalk(chain, stream, () => 1),
    short: links <= MOST_ROLES / 2,
  };
}

/** Draws a chain that has a solution: its goal is one of the reachable letters. */
function drawSolvableChain(stream: HashedStream, links: number, count: number): Chain {
  for (;;) {
    const from = stream.integer(0, RING - 1);
    const others = Array.from({ length: RING - 1 }, (_, index) => (from + index + 1) % RING);
    const chain = { from, links, without: drawSorted(others, count, stream) };
    let reached = new Set([from]);
    for (let link = 0; link < links; link++) {
      reached = new Set([...reached].flatMap((number) => listNextLetters(chain, number)));
    }
    const goals = [...reached].sort((one, other) => one - other);
    const to = goals.length === 0 ? undefined : goals[stream.integer(0, goals.length - 1)];
    if (to !== undefined) {
      return { ...chain, to };
    }
  }
}

/** Returns the letters that one link may lead to. */
const listNextLetters = ({ without }: Omit<Chain, 'to'>, number: number): number[] =>
  STEPS.map((step) => (number + step) % RING).filter((next) => !without.includes(next));

/** Returns the number of ways to reach the goal from each letter, by the number of remaining links. */
function countWays(chain: Chain): number[][] {
  const numbers = Array.from({ length: RING }, (_, number) => number);
  const ways = [numbers.map((number) => Number(number === chain.to))];
  for (let left = 1; left < chain.links; left++) {
    const after = ways[left - 1] ?? [];
    ways.push(
      numbers.map((number) => listNextLetters(chain, number).reduce((sum, next) => sum + (after[next] ?? 0), 0)),
    );
  }
  return ways;
}

/**
 * Draws the letters that the roles say, each step with the weight of the letter that it leads to. In
 * haste, a chain may come to a letter from which every step is left out; any step is then taken.
 * @param weightOf returns the weight of an allowed letter with `left` links after it
 */
function drawWalk(
  { from, links, without }: Chain,
  stream: HashedStream,
  weightOf: (number: number, left: number) => number,
): string[] {
  const said: string[] = [];
  for (let [number, left] = [from, links - 1]; left >= 0; left--) {
    const any = STEPS.map((step) => ({ to: (number + step) % RING }));
    const allowed = any.filter(({ to }) => !without.includes(to));
    const weights = allowed.map(({ to }) => weightOf(to, left));
    const next = allowed.length === 0 ? stream.pick(any) : stream.weighted(allowed, weights);
    number = next.to;
    said.push(toRingLetter(number));
  }
  return said;
}

/** Returns the answer key that the evaluator `chain` reads. */
const writeChainKey = (chain: Chain): string => `chain of ${chain.links}, ring of ${RING}: ${describeRules(chain)}`;

/** Describes the rules of a chain. */
const describeRules = ({ from, to, without }: Chain): string =>
  `from ${toRingLetter(from)} to ${toRingLetter(to)} by ${STEPS.join(' ')} without ${without.map(toRingLetter).join(' ')}`;

const toRingLetter = (place: number): string => String.fromCharCode(FIRST + place);

/** Draws `count` of the numbers in their order, each set with an equal chance. */
function drawSorted(numbers: readonly number[], count: number, stream: HashedStream): number[] {
  return stream.some(numbers, count).sort((one, other) => one - other);
}

function checkLevels(levels: readonly number[]): void {
  const valid = levels.length <= LEVEL_RULES.length && levels.every((weight) => Number.isFinite(weight) && weight >= 0);
  if (!valid || !levels.some((weight) => weight > 0)) {
    throw new C3Error(
      'input',
      `Chain levels [${levels.join(', ')}] are not valid: give 1 to ${LEVEL_RULES.length} weights from 0 up, at least one above 0.`,
    );
  }
}
