/** Compares two teams in pairs of episodes on the same problems and the same random numbers. */

import { bettingInterval } from '../../credit/betting.ts';
import { openStream, uniform } from '../../credit/counter.ts';
import { mean } from '../../credit/describe.ts';
import type { Sampling } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import type { Trial, TrialCase, TrialEpisode, TrialProblem } from '../../domain/trial.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { Policy, PolicyControl } from '../../policy/policy.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { growEpisodes } from '../../replay/episodes.ts';
import type { EpisodeProgram } from '../../replay/program.ts';
import { countCalls, findLeaves, computeReturn, type Branch, type TreeMessage } from '../../replay/tree.ts';
import { addServerCosts, NO_SERVER_COST, type ServerCost } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { Renderer } from '../../team/render.ts';
import { countMostScores } from '../../team/rounds.ts';

/** Pairs that are sampled together. */
const BLOCK = 16;
/** Most pairs with different returns that are kept, for each sign of the difference. */
const MOST_CASES = 20;
/** Most characters of a question next to its mean returns. */
const QUESTION = 200;

export interface TrialControl {
  readonly signal: AbortSignal;
  /** Called after every block with the evaluator calls spent so far. */
  readonly onProgress: (evaluatorCalls: number, budget: number) => void;
  readonly onRemark?: (remark: string) => void;
}

/** One of the two teams. */
export interface Variant {
  readonly protocol: Protocol;
  readonly policy: Policy;
  readonly sampling: Sampling;
  /** Renders contexts for the policy. */
  readonly render: Renderer;
  /** Decides the next step in the place of the protocol; absent for a team of a protocol. */
  readonly program?: EpisodeProgram;
}

/** The settings that both teams share. */
export interface Ground {
  readonly run: string;
  /** Beginnings of episodes: a problem, or the context of one of its messages. */
  readonly places: readonly Branch[];
  readonly evaluator: Evaluator;
  readonly seed: number;
  /** Role names by position. */
  readonly roles: readonly string[];
  readonly bound: number;
  /** Width of the range of returns, and the highest return. */
  readonly span: number;
  readonly most: number;
}

/**
 * Samples pairs until the interval of their mean excludes 0, or the budget is spent.
 * @throws C3Error('input') for a budget that is too small for one pair; CancelledError
 */
export async function comparePairs(
  ground: Ground,
  variants: readonly [Variant, Variant],
  budget: number,
  control: TrialControl,
): Promise<Omit<Trial, 'sentence' | 'seconds'>> {
  const { run, places, span, most } = ground;
  const perPair = variants.reduce((sum, { protocol }) => sum + countMostScores(protocol), 0);
  if (budget < perPair) {
    throw new C3Error('input', `One pair takes up to ${perPair} evaluator calls; give at least that many.`);
  }
  const differences: number[] = [];
  const byProblem = new Map<Problem, (readonly [before: number, after: number])[]>();
  const [won, lost]: [TrialCase[], TrialCase[]] = [[], []];
  const tokens = { before: 0, after: 0 };
  const costs = { before: NO_SERVER_COST, after: NO_SERVER_COST };
  let [spent, used, masked] = [0, 0, 0];
  for (let block = 0; budget - used >= perPair; block++) {
    const count = Math.min(BLOCK, Math.floor((budget - used) / perPair));
    const [before, scored] = [spent, differences.length];
    for (const [times, members] of drawPlaces(places, ground.seed, block, count)) {
      const drawing = { members, times, scope: `try:${block}`, perPair };
      const sides: (TreeMessage | undefined)[][] = [];
      for (const [index, variant] of variants.entries()) {
        const side = index === 0 ? 'before' : 'after';
        const onCharge = (cost: ServerCost): void => {
          costs[side] = addServerCosts(costs[side], cost);
        };
        sides.push(await growAll(ground, variant, drawing, { signal: control.signal, onCharge }));
      }
      const [without = [], changed = []] = sides;
      spent += [...without, ...changed].reduce((sum, root) => sum + (root ? countCalls(root) : 0), 0);
      tokens.before += without.reduce((sum, root) => sum + countTokens(root), 0);
      tokens.after += changed.reduce((sum, root) => sum + countTokens(root), 0);
      for (const [at, root] of without.entries()) {
        const [first, second] = [toTrialEpisode(root, ground), toTrialEpisode(changed[at], ground)];
        if (root === undefined || first === null || second === null) {
          masked++;
          continue;
        }
        const { problem } = root;
        const difference = second.return - first.return;
        differences.push(difference);
        byProblem.set(problem, [...(byProblem.get(problem) ?? []), [first.return, second.return]]);
        const cases = difference > 0 ? won : lost;
        if (difference !== 0 && cases.length < MOST_CASES) {
          cases.push({ question: problem.question, before: first, after: second });
        }
      }
    }
    // Repeated texts cost no call, but the budget must still bound their number.
    used += Math.max(spent - before, 2 * count);
    control.onProgress(spent, budget);
    const { low, high } = computeDifferenceInterval(differences, span);
    // If none of these pairs could be scored, later ones will not be either.
    if (low > 0 || high < 0 || differences.length === scored) {
      break;
    }
  }
  return {
    run,
    contexts: places.length,
    difference: {
      value: differences.length === 0 ? 0 : mean(differences),
      ...computeDifferenceInterval(differences, span),
      n: differences.length,
    },
    better: differences.filter((one) => one > 0).length,
    worse: differences.filter((one) => one < 0).length,
    same: differences.filter((one) => one === 0).length,
    masked,
    cases: [...won, ...lost],
    problems: [...byProblem].map(([{ question }, pairs]): TrialProblem => ({
      question: toOneLine(question, QUESTION),
      pairs: pairs.length,
      before: mean(pairs.map(([before]) => before)),
      after: mean(pairs.map(([, after]) => after)),
    })),
    evaluatorCalls: spent,
    tokens,
    ...(Object.values(costs).some(({ prompt, completion }) => prompt + completion > 0) && { costs }),
    most,
  };
}

/** Each pair is one independent draw. @param span width of the range of returns */
const computeDifferenceInterval = (
  differences: readonly number[],
  span: number,
): { readonly low: number; readonly high: number } =>
  bettingInterval(
    differences.map((one) => ({ assignments: [[one]], cells: [one], units: 1 })),
    span,
  );

/** Draws the places of a block with equal chances, and groups them by the number of draws. */
function drawPlaces(places: readonly Branch[], seed: number, block: number, count: number): Map<number, Branch[]> {
  const stream = openStream(seed, block);
  const times = new Map<Branch, number>();
  for (let draw = 0; draw < count; draw++) {
    const place = places[Math.floor(uniform(stream, draw) * places.length)];
    if (place !== undefined) {
      times.set(place, (times.get(place) ?? 0) + 1);
    }
  }
  const drawn = Map.groupBy(times, ([, own]) => own);
  return new Map([...drawn].map(([own, alike]) => [own, alike.map(([place]) => place)]));
}

/** Episodes that are sampled in one batch, `times` at each place. */
interface Drawing {
  readonly members: readonly Branch[];
  readonly times: number;
  readonly scope: string;
  readonly perPair: number;
}

/**
 * Samples one side of the pairs, with the other side's random numbers. No two episodes share any.
 * @returns the first message of each episode, `times` by member; undefined for an episode without
 *   messages
 */
async function growAll(
  { evaluator, seed }: Ground,
  { protocol, policy, sampling, render, program }: Variant,
  { members, times, scope, perPair }: Drawing,
  control: PolicyControl,
): Promise<(TreeMessage | undefined)[]> {
  const roots = await growEpisodes(
    {
      ...(program !== undefined && { program }),
      protocol,
      render,
      policy,
      evaluator,
      sampling,
      seed,
      scope,
      budget: new EvaluatorBudget(members.length * times * perPair),
      commonRandomNumbers: false,
    },
    // Sampled messages are added to the children of their parent, so each drawing needs its own copy.
    members.map(({ message, ...branch }) => ({ ...branch, message: message && { ...message, children: [] } })),
    [times],
    control,
  );
  const byProblem = Map.groupBy(roots, ({ problem }) => problem);
  return members.flatMap(({ problem }) => Array.from({ length: times }, (_, at) => byProblem.get(problem)?.[at]));
}

const countTokens = (root: TreeMessage | undefined): number =>
  root === undefined
    ? 0
    : root.answer.tokens.length + root.children.reduce((sum, child) => sum + countTokens(child), 0);

/** Returns the messages and the return of an episode, or null if it is masked. */
function toTrialEpisode(root: TreeMessage | undefined, { bound, roles }: Ground): TrialEpisode | null {
  const leaf = root === undefined ? undefined : findLeaves(root)[0];
  const value = leaf === undefined ? null : computeReturn(leaf, bound);
  if (leaf === undefined || value === null) {
    return null;
  }
  const messages: TreeMessage[] = [];
  for (let message: TreeMessage | null = leaf; message !== null; message = message.parent) {
    messages.unshift(message);
  }
  return {
    return: value,
    messages: messages.map(({ position, answer: { text } }) => ({ role: roles[position] ?? '', text })),
  };
}
