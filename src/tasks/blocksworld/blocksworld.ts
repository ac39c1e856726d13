/**
 * A bundled task: plans for 3 or 4 blocks in the English of PlanBench, executed exactly. The answer of
 * a problem is the problem in PDDL, for which any plan that reaches the goal is right. It comes
 * without a team, for the user's own model.
 */

import { formatAction, BLOCK_COLORS, BLOCKS, writeBlocksQuestion } from '../../evaluate/puzzles/blocks.ts';
import { writeProblem, type PddlProblem, type Domain } from '../../evaluate/puzzles/pddl.ts';
import { groundAction, type Action } from '../../evaluate/puzzles/strips.ts';
import type { DemonstratedProblem } from '../demonstration.ts';
import { checkLevels, drawDistinct } from '../drawDistinct.ts';
import { HashedStream } from '../hashedStream.ts';
import { uidSha } from '../uid.ts';

interface LevelRule {
  readonly level: number;
  readonly blocks: number;
  /** The goal names the place of one block, or of every block that lies on another. */
  readonly goal: 'one' | 'all';
}

const LEVEL_RULES: readonly LevelRule[] = [
  { level: 1, blocks: 3, goal: 'one' },
  { level: 2, blocks: 3, goal: 'all' },
  { level: 3, blocks: 4, goal: 'one' },
  { level: 4, blocks: 4, goal: 'all' },
];

const DEFAULT_MIX: readonly number[] = [1, 1, 1, 1];

/**
 * Yields every distinct problem of a seed, until there are no more.
 * @param levels weights of the levels 1 to 4 (3 and 4 blocks, each with one goal and with all), by
 *   position
 * @param sizes team sizes, with equal chances
 * @throws C3Error('input') for invalid levels; during iteration, if all problems of the mix were drawn
 */
export function yieldBlocks(
  seed: string,
  levels: readonly number[] = DEFAULT_MIX,
  sizes: readonly number[] = [2],
): Iterable<DemonstratedProblem> {
  checkLevels('blocksworld', levels, LEVEL_RULES.length);
  return drawDistinct('blocksworld', levels, (index) => drawBlocks(seed, index, levels, sizes));
}

/** Returns draw `index` of a seed; depends only on its arguments. */
function drawBlocks(
  seed: string,
  index: number,
  levels: readonly number[],
  sizes: readonly number[],
): DemonstratedProblem {
  const stream = new HashedStream(`blocksworld\0${seed}\0${index}`);
  const { level, blocks, goal } = stream.weighted(LEVEL_RULES, levels);
  const roles = sizes[stream.integer(0, sizes.length - 1)] ?? 2;
  const { problem, plan } = drawSolvableBlocks(stream, blocks, goal);
  const question = writeBlocksQuestion(problem);
  const said = ['[PLAN]', ...plan, '[PLAN END]'].join('\n');
  const messages = Array.from({ length: roles }, () => said);
  return {
    uid: `blocksworld-${seed}-${index}`,
    uidSha: uidSha(question),
    question,
    answer: writeProblem(problem),
    source: 'blocksworld',
    level,
    said: messages,
    saidInHaste: messages,
    short: blocks === 3,
  };
}

/** Draws two arrangements of the same blocks: the initial one, and one in which the goal holds. */
function drawSolvableBlocks(
  stream: HashedStream,
  count: number,
  goal: LevelRule['goal'],
): { readonly problem: PddlProblem; readonly plan: readonly string[] } {
  for (;;) {
    const objects = stream.some(BLOCK_COLORS, count);
    const piles = drawPiles(stream, objects);
    const lying = drawPiles(stream, objects).flatMap((pile) => listOnFacts(pile));
    const wanted = goal === 'all' || lying.length < 2 ? lying : [stream.pick(lying)];
    const init = [
      ...piles.flatMap((pile) => pile.slice(-1).map((top) => `(clear ${top})`)),
      '(handempty)',
      ...piles.flatMap((pile) => listOnFacts(pile)),
      ...piles.flatMap((pile) => pile.slice(0, 1).map((bottom) => `(ontable ${bottom})`)),
    ];
    const problem = { name: `blocks-${count}`, domain: BLOCKS.name, objects, init, goal: wanted };
    const plan = wanted.length === 0 ? null : findShortestPlan(BLOCKS, problem);
    if (plan !== null && plan.length > 0) {
      return { problem, plan: plan.map(formatAction) };
    }
  }
}

/** Draws the blocks in piles, from the bottom: each block goes on the table or on a pile. */
function drawPiles(stream: HashedStream, objects: readonly string[]): string[][] {
  const rest = [...objects];
  const piles: string[][] = [];
  for (const block of Array.from(objects, () => rest.splice(stream.integer(0, rest.length - 1), 1)).flat()) {
    const place = stream.integer(0, piles.length);
    piles[place] = [...(piles[place] ?? []), block];
  }
  return piles;
}

const listOnFacts = (pile: readonly string[]): string[] =>
  pile.slice(1).map((block, index) => `(on ${block} ${pile[index] ?? ''})`);

// The shortest plan of a small problem, by breadth-first search with a limit of steps.

/** An action as masks over the facts of the problem. */
interface Masked {
  readonly action: Action;
  readonly needs: bigint;
  readonly adds: bigint;
  readonly removes: bigint;
}

/** Most pairs of a state and an action that are tried. */
const MOST_STEPS = 1_000_000;

/**
 * Returns a plan with the fewest actions; of several, the first in the order of operators and objects.
 * @returns null if the goal cannot be reached
 * @throws RangeError if more than a million steps are needed
 */
export function findShortestPlan(domain: Domain, { objects, init, goal }: PddlProblem): Action[] | null {
  const places = new Map<string, bigint>();
  const mask = (facts: readonly string[]): bigint =>
    facts.reduce((sum, fact) => {
      const bit = places.get(fact) ?? 1n << BigInt(places.size);
      places.set(fact, bit);
      return sum | bit;
    }, 0n);
  const actions = [...domain.operators.values()].flatMap(({ name, parameters }) =>
    listTuples(objects, parameters.length).flatMap((chosen): Masked[] => {
      const action = { name, objects: chosen };
      const what = groundAction(domain, action);
      return what === null
        ? []
        : [{ action, needs: mask(what.needs), adds: mask(what.adds), removes: mask(what.removes) }];
    }),
  );
  const [start, end] = [mask(init), mask(goal)];
  const reached = new Map<bigint, readonly [before: bigint, by: Action] | null>([[start, null]]);
  let steps = 0;
  for (const state of reached.keys()) {
    if ((state & end) === end) {
      return tracePlan(state, reached);
    }
    for (const { action, needs, adds, removes } of actions) {
      steps += 1;
      if (steps > MOST_STEPS) {
        throw new RangeError('The problem is too large to be solved.');
      }
      const next = (state & needs) === needs ? (state & ~removes) | adds : state;
      if (!reached.has(next)) {
        // An entry that is added to a map during iteration comes at its end.
        reached.set(next, [state, action]);
      }
    }
  }
  return null;
}

function tracePlan(state: bigint, reached: ReadonlyMap<bigint, readonly [bigint, Action] | null>): Action[] {
  const plan: Action[] = [];
  for (let step = reached.get(state); step !== undefined && step !== null; step = reached.get(step[0])) {
    plan.unshift(step[1]);
  }
  return plan;
}

/** Returns every choice of `count` different objects, in order. */
const listTuples = (objects: readonly string[], count: number): string[][] =>
  count === 0
    ? [[]]
    : objects.flatMap((one) =>
        listTuples(
          objects.filter((other) => other !== one),
          count - 1,
        ).map((rest) => [one, ...rest]),
      );
