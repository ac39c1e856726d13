/**
 * `shape: auto`: the nested tree of a step, chosen among all that `evaluator_budget` allows. It is the
 * one with the least predicted gradient variance, summed over the roles that learn, times evaluator
 * calls (credit/treeVariance.ts). Whole episodes are among them.
 *
 * The variances V and the scores S are those of earlier steps. The tree of a step does not depend on the
 * step's own returns, so the gradient stays unbiased. S is measured by the logits: with the probability
 * p_t of token t when it was sampled,
 *
 *   S = E of the sum over t of 1 - p_t
 *
 * since E |e_a - p|^2 = 1 - sum over a of p_a^2 = E[1 - p_a] for a token a that is drawn from p.
 *
 * Only a tree with siblings at every level shows all V. The first step has the best one of these, if all
 * messages cause the same variance and all S are equal. The same applies to every step until returns
 * vary, and later to each twelfth step after one that showed all V.
 */

import { estimateNestedVariances, type NestedSums } from '../../credit/nestedVariance.ts';
import { chooseTree, predictGradientVariance, type LevelFacts, type PricedTree } from '../../credit/treeVariance.ts';
import type { MethodState } from '../../domain/step.ts';
import { MEASURED_TREE_LEVELS } from '../../domain/treeMeasures.ts';
import { countBefore, type TreeMessage } from '../../replay/tree.ts';
import { isLearningRole } from '../../shared/rolePolicies.ts';
import type { Protocol } from '../../team/protocol.ts';
import { countFanoutCalls } from '../../team/rounds.ts';
import { getJsonMember } from './ccpoStatistics.ts';
import { inheritsCredit } from './loneMessages.ts';
import {
  walkEpisode,
  type MethodMeasures,
  type MethodSettings,
  type Rollout,
  type SampledStep,
  type StateKind,
  type TreeChoice,
} from './method.ts';
import { KEPT, readTwoLevelState } from './twoLevel.ts';

/** Steps from one that showed the variances of all levels to the next that must. */
const MEASURED_EVERY = 12;

/** The largest number of trees to choose from. */
const MOST_TREES = 20_000;

type AutoSettings = Pick<MethodSettings, 'evaluator_budget' | 'policies' | 'credit' | 'fanout'>;

/** What is known of the messages of a level: the sum of |s|^2 over messages, and their number. */
interface LevelScore {
  readonly sum: number;
  readonly messages: number;
}

interface AutoState {
  readonly sums: NestedSums;
  /** By level; earlier steps count less, as in `sums`. */
  readonly scores: readonly LevelScore[];
  /** Steps since one that showed the variances of all levels; null before the first one. */
  readonly age: number | null;
  /** The choice for the last step. */
  readonly choice: TreeChoice | null;
}

const toMethodState = ({ sums: { squares, expected }, scores, age, choice }: AutoState): MethodState => ({
  json: {
    squares,
    expected,
    scores: scores.map(({ sum, messages }) => [sum, messages]),
    age,
    choice: choice === null ? null : { ...choice },
  },
  tensors: {},
});

function readAutoState(state: MethodState): AutoState {
  const member = (name: string): unknown => getJsonMember(state.json, name);
  const [scores, age, choice] = [member('scores'), member('age'), getJsonMember(state.json, 'choice') ?? null];
  const numbers = (name: string): number[] | null => readNumbers(getJsonMember(choice, name));
  const ratio = (name: string): number | null => readNumber(getJsonMember(choice, name));
  return {
    sums: readTwoLevelState(state),
    scores: Array.isArray(scores)
      ? scores.map((one: unknown) => {
          const [sum = 0, messages = 0] = readNumbers(one) ?? [];
          return { sum, messages };
        })
      : [],
    age: readNumber(age),
    choice:
      choice === null
        ? null
        : {
            fanout: numbers('fanout') ?? [],
            variances: numbers('variances'),
            ratio: ratio('ratio'),
            fanoutRatio: ratio('fanoutRatio'),
          },
  };
}

const readNumber = (value: unknown): number | null => (typeof value === 'number' ? value : null);
const readNumbers = (value: unknown): number[] | null => (Array.isArray(value) ? value.map(Number) : null);

export const AUTO_STATE: StateKind = {
  name: 'auto-tree',
  version: 1,
  initial: () => toMethodState({ sums: { squares: [], expected: [] }, scores: [], age: null, choice: null }),
};

/**
 * Plans the tree of a step.
 * @param state null plans whole episodes, which have the most messages
 */
export function planAutoTree(settings: AutoSettings, protocol: Protocol, state: MethodState | null): Rollout {
  const levels = protocol.occurrences.length;
  if (state === null) {
    return { fanout: planWhole(settings, protocol), commonRandomNumbers: false };
  }
  const { sums, scores, age } = readAutoState(state);
  const variances = Array.from({ length: levels }, (_, level) => estimateNestedVariances(sums)[level] ?? 0);
  const facts = age === null ? null : { variances, scores: averageScores(scores, levels) };
  const choice = chooseAutoTree(settings, protocol, facts, age === null || age >= MEASURED_EVERY);
  return { fanout: choice.fanout, commonRandomNumbers: false, choice };
}

const averageScores = (scores: readonly LevelScore[], levels: number): number[] =>
  Array.from({ length: levels }, (_, level) => {
    const { sum, messages } = scores[level] ?? { sum: 0, messages: 0 };
    return messages === 0 ? 0 : sum / messages;
  });

/**
 * Chooses a tree.
 * @param facts null, or variances that are all 0, if nothing is known
 * @param measures true for a tree with siblings at every level
 */
export function chooseAutoTree(
  settings: AutoSettings,
  protocol: Protocol,
  facts: LevelFacts | null,
  measures: boolean,
): TreeChoice {
  const learns = protocol.occurrences.map(({ role }) => isLearningRole(settings.policies, role));
  const varies = facts?.variances.some((one) => one > 0) === true;
  const scored = facts?.scores.some((one, level) => learns[level] === true && one > 0) === true;
  const assumed: LevelFacts = {
    variances: varies ? facts.variances : learns.map(() => 1),
    scores: learns.map((own, level) => (own ? (scored ? (facts.scores[level] ?? 0) : 1) : 0)),
  };
  const twoLevel = settings.credit.estimator === 'loo_two_level';
  const trees = [...growTrees(settings, protocol, [])];
  const open = measures || !varies ? trees.filter(({ fanout }) => fanout.every((count) => count > 1)) : trees;
  const chosen = chooseTree(open, assumed, twoLevel);
  if (chosen === undefined) {
    throw new Error('findAutoFault refuses a budget without a tree.');
  }
  const varianceOf = (fanout: readonly number[]): number | null => {
    const tree = trees.find((one) => one.fanout.join() === fanout.join());
    const found = tree === undefined ? Infinity : tree.cost * predictGradientVariance(fanout, assumed, twoLevel);
    return varies && Number.isFinite(found) ? found : null;
  };
  const own = varianceOf(chosen.fanout);
  const ratioTo = (fanout: readonly number[]): number | null => {
    const other = varianceOf(fanout);
    return own === null || other === null || other === 0 ? null : own / other;
  };
  return {
    fanout: chosen.fanout,
    variances: varies ? facts.variances : null,
    ratio: ratioTo(planWhole(settings, protocol)),
    fanoutRatio: ratioTo(settings.fanout),
  };
}

/** Returns the fan-out of as many whole episodes as the budget pays for. */
function planWhole({ evaluator_budget: budget }: Pick<AutoSettings, 'evaluator_budget'>, protocol: Protocol): number[] {
  const first = Math.floor(budget / Math.max(1, countFanoutCalls(protocol, [])));
  return protocol.occurrences.map((_, level) => (level === 0 ? first : 1));
}

/** Yields all trees that the budget pays for and that begin with some levels, narrow ones first. */
function* growTrees(
  settings: Pick<AutoSettings, 'evaluator_budget'>,
  protocol: Protocol,
  fanout: readonly number[],
): Generator<PricedTree> {
  if (fanout.length === protocol.occurrences.length) {
    yield { fanout, cost: countFanoutCalls(protocol, fanout) };
    return;
  }
  for (let count = 1; ; count++) {
    const next = [...fanout, count];
    // Messages that are not scored count as well: otherwise their number would have no limit.
    if (Math.max(countFanoutCalls(protocol, next), countLeaves(next)) > settings.evaluator_budget) {
      return;
    }
    yield* growTrees(settings, protocol, next);
  }
}

const countLeaves = (fanout: readonly number[]): number => fanout.reduce((product, one) => product * one, 1);

/** Returns true if the variance of a method's credit is known: leave-one-out that lone messages inherit. */
export const predictsCredit = (credit: MethodSettings['credit']): boolean =>
  (credit.estimator === 'loo' || credit.estimator === 'loo_two_level') &&
  !credit.group_normalise &&
  inheritsCredit(credit);

/** Returns the reason why no tree can be chosen with a protocol, in one sentence, or null if one can. */
export function findAutoFault(settings: MethodSettings, protocol: Protocol): string | null {
  const { name, rounds, occurrences } = protocol;
  const { evaluator_budget: budget, credit } = settings;
  if (rounds !== undefined) {
    return (
      'shape auto needs a protocol in which all messages come, in a known order, ' +
      `and ${name} unfolds in rounds; choose nested.`
    );
  }
  const blind = occurrences.find(({ position, ancestors }) => position > 0 && !ancestors.includes(position - 1));
  if (credit.merge_contexts && blind !== undefined) {
    return (
      'shape auto with credit.merge_contexts needs messages that see the one before them, and in the protocol ' +
      `${name} that of ${blind.role} does not; set credit.merge_contexts: false, or choose nested.`
    );
  }
  const least = occurrences.map(() => 2);
  const needed = Math.max(countFanoutCalls(protocol, least), countLeaves(least));
  if (needed > budget) {
    return (
      `shape auto measures with at least [${least.join(', ')}], which needs an evaluator_budget of ${needed} ` +
      `with the protocol ${name}, and it is ${budget}; raise it, or choose spine_rho.`
    );
  }
  const trees = growTrees(settings, protocol, []);
  for (let count = 0; trees.next().done !== true; count++) {
    if (count === MOST_TREES) {
      return (
        `shape auto compares all trees, and evaluator_budget (${budget}) allows more than ${MOST_TREES} ` +
        `with the protocol ${name}; lower it, or choose nested.`
      );
    }
  }
  return null;
}

/**
 * Returns the state after a step: with its variances and scores added, and its choice.
 * @param sums those after the step
 */
export function addAutoStep(step: Pick<SampledStep, 'problems' | 'state' | 'choice'>, sums: NestedSums): MethodState {
  const before = readAutoState(step.state);
  const earlier = before.scores.map(({ sum, messages }) => ({ sum: KEPT * sum, messages: KEPT * messages }));
  const scores = addScores(step.problems.flat(), earlier);
  const shows = step.choice?.fanout.every((_, level) => addsTo(before.sums, sums, level)) === true;
  const age = shows ? 0 : before.age;
  return toMethodState({ sums, scores, age: age === null ? null : age + 1, choice: step.choice ?? null });
}

/** Returns true if a step added messages with siblings at a level. */
const addsTo = (before: NestedSums, after: NestedSums, level: number): boolean =>
  (after.expected[level]?.[level] ?? 0) > KEPT * (before.expected[level]?.[level] ?? 0);

/** Returns the mean |s|^2 of the messages of some trees, by level. */
export const measureScores = (roots: readonly TreeMessage[], levels: number): number[] =>
  averageScores(addScores(roots, []), levels);

function addScores(roots: readonly TreeMessage[], earlier: readonly LevelScore[]): LevelScore[] {
  const scores = [...earlier];
  for (const message of roots.flatMap((root) => [...walkEpisode(root)])) {
    const level = countBefore(message);
    const { sum, messages } = scores[level] ?? { sum: 0, messages: 0 };
    scores[level] = { sum: sum + computeScore(message), messages: messages + 1 };
  }
  return scores;
}

const computeScore = ({ answer: { logprobs } }: TreeMessage): number =>
  logprobs.reduce((sum, one) => sum + 1 - Math.exp(one), 0);

/** Returns the choice for the step of a state after its credit, as measures. */
export function measureChoice(state: MethodState): MethodMeasures {
  const { choice } = readAutoState(state);
  return choice === null
    ? {}
    : {
        ...(choice.ratio !== null && { treeRatio: choice.ratio }),
        ...(choice.fanoutRatio !== null && { treeFanoutRatio: choice.fanoutRatio }),
        ...Object.fromEntries(
          MEASURED_TREE_LEVELS.flatMap((level) => {
            const [count, variance] = [choice.fanout[level - 1], choice.variances?.[level - 1]];
            return [
              ...(count === undefined ? [] : [[`treeMessages${level}`, count] as const]),
              ...(variance === undefined ? [] : [[`treeVariance${level}`, variance] as const]),
            ];
          }),
        ),
      };
}
