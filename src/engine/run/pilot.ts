/**
 * Measures in a pilot how much of the variance of the return each message of an untrained team
 * decides (rho), by alternatives and replays. Nothing is stored or trained.
 */

import { predictVarianceRatios, estimateRho, type PilotContext } from '../../diagnostics/rho.ts';
import type { RhoReport } from '../../domain/credit.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { LocalPolicy, type Policy } from '../../policy/policy.ts';
import { createTeamPolicy } from '../../policy/teamPolicy.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { growEpisodes } from '../../replay/episodes.ts';
import { findLeaves, computeReturn, type TreeMessage } from '../../replay/tree.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Protocol } from '../../team/protocol.ts';
import { countMostScores } from '../../team/rounds.ts';
import { getRunSampling, type RunConfig } from '../../training/config/config.ts';
import { chooseAutoTree, findAutoFault, measureScores, predictsCredit } from '../../training/methods/autoTree.ts';
import { mergeRolePolicies } from '../models/roles.ts';
import { Session, type Engine } from '../session/session.ts';
import type { PreparedRun } from './prepareRun.ts';
import { takeRoles } from './runRoles.ts';

export interface PilotSettings {
  /** Number of questions. Each gives one context of every message except the last. */
  readonly questions: number;
  /** Number of messages sampled in a context. */
  readonly alternatives: number;
  /** Number of replays of each message. */
  readonly replays: number;
}

/**
 * Measures rho on the first training questions of a prepared run, with its untrained model.
 * @throws C3Error('input') for a protocol whose order of messages is not fixed; CancelledError
 */
export async function pilotRun(
  engine: Engine,
  prepared: PreparedRun,
  settings: PilotSettings,
  signal: AbortSignal,
): Promise<RhoReport> {
  const { recipe, protocol } = prepared;
  if (protocol.rounds !== undefined || protocol.occurrences.length < 2) {
    throw new C3Error(
      'input',
      `Rho is measured for teams of two or more messages in a known order; the team of the protocol ${protocol.name} is not one.`,
    );
  }
  await using session = new Session(engine, recipe, signal);
  const evaluator = session.evaluator(session.judge);
  const model = await session.model({ signal, cacheBytes: prepared.cacheBytes });
  const roles = await takeRoles(session, prepared, model, { signal });
  const { runtime, tokenizer, info } = model;
  const own = new LocalPolicy(runtime, tokenizer, info.snapshot, info.config.maxPositions);
  const { policies } = await session.endpoints(tokenizer, {});
  const policy = createTeamPolicy(own, recipe.config.policies, tokenizer, mergeRolePolicies(roles, policies));
  return await measureRho(prepared, policy, evaluator, settings, signal);
}

/** Measures rho with a given policy and evaluator. */
export async function measureRho(
  { recipe: { config }, protocol, render, data }: Pick<PreparedRun, 'recipe' | 'protocol' | 'render' | 'data'>,
  policy: Policy,
  evaluator: Evaluator,
  { questions, alternatives, replays }: PilotSettings,
  signal: AbortSignal,
): Promise<RhoReport> {
  const problems = [...data.train, ...data.evaluation].slice(0, questions);
  const scored = countMostScores(protocol);
  const last = protocol.occurrences.length - 1;
  const each = problems.length * alternatives * replays * scored;
  const positions: { role: string; rho: ReturnType<typeof estimateRho> }[] = [];
  const sampled: TreeMessage[] = [];
  for (const { position, role } of protocol.occurrences.slice(0, last)) {
    const fanout = [...Array.from({ length: position }, () => 1), alternatives, replays];
    const roots = await growEpisodes(
      {
        protocol,
        render,
        policy,
        evaluator,
        budget: new EvaluatorBudget(each),
        sampling: getRunSampling(config),
        seed: config.seed,
        scope: `pilot:${position}`,
        commonRandomNumbers: false,
      },
      problems.map((problem) => ({ problem, message: null })),
      fanout,
      { signal },
    );
    sampled.push(...roots);
    const contexts =
      position === 0 ? groupRoots(roots, alternatives) : roots.map((root) => findSiblings(root, position));
    positions.push({
      role,
      rho: estimateRho(contexts.map((messages) => toPilotContext(messages, config.credit.return_clip))),
    });
  }
  const components = [
    ...positions.map(({ rho }) => Math.max(0, rho?.components.upstream ?? 0)),
    positions.at(-1)?.rho?.components.downstream ?? 0,
  ];
  const episodes = Math.floor(config.evaluator_budget / Math.max(1, scored));
  const known = positions.every(({ rho }) => rho !== null);
  const ratios = known ? predictVarianceRatios(components, config.fanout, episodes) : [];
  return {
    questions: problems.length,
    alternatives,
    replays,
    evaluatorCalls: each * positions.length,
    fanout: config.fanout,
    episodes,
    tree: known ? predictTree(config, protocol, components, sampled) : null,
    messages: protocol.occurrences.map(({ role }, position) => {
      const rho = positions[position]?.rho ?? null;
      return {
        role,
        variance: known ? (components[position] ?? null) : null,
        rho: rho === null ? null : { value: rho.value, low: rho.low, high: rho.high, n: rho.n },
        varianceRatio: ratios[position] ?? null,
      };
    }),
  };
}

/** Returns the tree that `shape: auto` would sample, or null if it does not apply or no return varies. */
function predictTree(
  config: RunConfig,
  protocol: Protocol,
  variances: readonly number[],
  sampled: readonly TreeMessage[],
): RhoReport['tree'] {
  const applies = config.method === 'c3' && config.magrpo === null && predictsCredit(config.credit);
  if (!applies || findAutoFault(config, protocol) !== null || variances.every((one) => one === 0)) {
    return null;
  }
  const facts = { variances, scores: measureScores(sampled, protocol.occurrences.length) };
  const { fanout, ratio, fanoutRatio } = chooseAutoTree(config, protocol, facts, false);
  return { fanout, ratio, fanoutRatio };
}

/** Groups the roots by question: every `size` consecutive messages. */
const groupRoots = (roots: readonly TreeMessage[], size: number): TreeMessage[][] =>
  Array.from({ length: roots.length / size }, (_, index) => roots.slice(index * size, (index + 1) * size));

/** Returns the siblings at a position below a root. All messages above them are only children. */
const findSiblings = (root: TreeMessage, position: number): readonly TreeMessage[] => {
  const [next] = root.children;
  return root.position + 1 === position || next === undefined ? root.children : findSiblings(next, position);
};

/** Returns the measured returns of each alternative. */
const toPilotContext = (alternatives: readonly TreeMessage[], bound: number): PilotContext =>
  alternatives.map((message) => findLeaves(message).flatMap((leaf) => computeReturn(leaf, bound) ?? []));
