/**
 * CCPO for a thinker and a solver (reference sections 1, 2 and 4). For each problem it samples N whole
 * episodes and N solo rollouts: the solver again, without the thinker's message. Solo rollouts are
 * measured and never trained on. The thinker learns from the effect of its message, D = R_joint -
 * R_solo; the solver learns from both returns, weighted by a gate that follows the thinker's
 * contribution so far (ccpoShaping.ts). The running statistics go from step to step
 * (ccpoStatistics.ts). The signals are scaled among the N rollouts of the problem, then PPO on them. A
 * team that votes has no solo rollouts: its votes are counted again (ccpoVoting.ts).
 */

import { countCalls, findLeaves, computeReturn, type TreeMessage } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import { isLearningRole } from '../../shared/rolePolicies.ts';
import type { Protocol } from '../../team/protocol.ts';
import { isVotingTeam } from '../../team/votingTeam.ts';
import { pairReturns, shapeSignals, scaleWithinPrompt, type Signal } from './ccpoShaping.ts';
import {
  measurePairStatistics,
  NO_STATISTICS,
  toStatisticsState,
  readStatistics,
  updateStatistics,
} from './ccpoStatistics.ts';
import { creditVotes, isVotingState, measureVoting, findVotingFault, listVotingRemarks } from './ccpoVoting.ts';
import { planWholeEpisodes } from './episodes.ts';
import type {
  LearningStep,
  Method,
  MethodSettings,
  Outcome,
  PolicyUpdate,
  Rollout,
  TaughtStep,
  Update,
} from './method.ts';
import { updateByPpo } from './ppo.ts';

/** Returns the number of episodes per problem: half of the calls; the others are for solo rollouts. */
const countPairedEpisodes = ({ evaluator_budget: budget }: Pick<MethodSettings, 'evaluator_budget'>): number =>
  Math.floor(budget / 2);

/** Returns true for a thinker and a solver who sees the thinker's message and alone is scored. */
function isThinkSolve({ occurrences, rounds }: Protocol): boolean {
  const [thinker, solver, ...others] = occurrences;
  return (
    rounds === undefined &&
    thinker !== undefined &&
    solver?.ancestors.includes(thinker.position) === true &&
    others.length === 0 &&
    thinker.role !== solver.role &&
    !thinker.scored &&
    solver.scored
  );
}

export const ccpo: Method = {
  words: {
    label: 'CCPO',
    help: 'Compares each episode of a thinker and a solver with a solo rollout of the solver, which leaves the thinker out; a vote with the vote without each voter.',
    summary: 'an episode against the same team without one role, scaled by running statistics.',
    reads: ['ccpo'],
    trains: true,
  },
  state: () => ({ name: 'ccpo-statistics', version: 1, initial: () => toStatisticsState(NO_STATISTICS) }),
  compared: 'problem',
  estimator: () => 'ccpo',
  valueTarget: () => null,

  countsVotes: isVotingTeam,

  fault(settings, protocol) {
    const fault = isVotingTeam(protocol) ? findVotingFault(settings, protocol) : findPairFault(settings, protocol);
    const frozen = protocol.roles.find(({ name }) => !isLearningRole(settings.policies, name));
    return fault === null && frozen !== undefined && settings.ccpo.alternate_every > 0
      ? `ccpo.alternate_every takes turns between roles that learn, and ${frozen.name} does not; set it to 0.`
      : fault;
  },

  remarks(settings, protocol) {
    const isTwice = settings.credit.group_normalise && settings.ccpo.normalise !== 'none';
    return [
      ...(isTwice
        ? ['With credit.group_normalise and ccpo.normalise credits are scaled twice; turn one of the two off.']
        : []),
      ...(isVotingTeam(protocol) ? listVotingRemarks(settings, protocol) : []),
    ];
  },

  plan: (settings, protocol, stage) =>
    isVotingTeam(protocol)
      ? planWholeEpisodes(settings, protocol, stage)
      : [{ fanout: [countPairedEpisodes(settings)], commonRandomNumbers: false }, planSoloRollout(settings)],

  credit({ problems, measured, settings, state, votes }) {
    if (votes !== undefined) {
      return creditVotes({ problems, settings, state }, votes);
    }
    const { ccpo: own, credit } = settings;
    const before = readStatistics(state);
    const pairs = problems.map((episodes, index) => {
      const without = measured[index] ?? [];
      const calls = [...episodes, ...without].reduce((sum, root) => sum + countCalls(root), 0);
      const found = pairReturns(
        listLeafReturns(episodes, credit.return_clip),
        listLeafReturns(without, credit.return_clip),
      );
      return { episodes, found, calls };
    });
    const after = updateStatistics(
      before,
      pairs.flatMap(({ found }) => found.flatMap((pair) => pair ?? [])),
      own.decay,
    );
    const statistics = own.order === 'updated' ? after : before;
    const credits = new Map<TreeMessage, Credit>();
    for (const { episodes, found, calls } of pairs) {
      const known = episodes.flatMap((thinker, index) => {
        const pair = found[index] ?? null;
        return pair === null ? [] : [{ thinker, pair }];
      });
      const learned = known.map(({ pair }) => pair);
      const signals = scaleSignals(shapeSignals(learned, statistics, own), own.normalise);
      known.forEach(({ thinker }, index) => {
        const signal = signals[index];
        const credited = (value: number): Credit => ({
          estimator: 'ccpo',
          value,
          low: null,
          high: null,
          n: known.length,
          evaluatorCalls: calls,
          interval: 'none',
        });
        if (signal !== undefined) {
          credits.set(thinker, credited(signal.thinker));
          for (const solver of thinker.children) {
            credits.set(solver, credited(signal.solver));
          }
        }
      });
    }
    return { credits, state: toStatisticsState(after) };
  },

  updates: updateInTurns,
  taught: listRolesInTurn,
  measures: (state, settings) => (isVotingState(state) ? measureVoting(state) : measurePairStatistics(state, settings)),
};

/** Returns the fault of a protocol without thinker and solver, or of too small a budget, or null. */
function findPairFault(settings: MethodSettings, protocol: Protocol): string | null {
  if (!isThinkSolve(protocol)) {
    return `ccpo needs a protocol of two roles, in which the second sees what the first says and its message alone is scored, or one round of voters who do not see each other and whose vote is scored; ${protocol.name} is neither.`;
  }
  return countPairedEpisodes(settings) < 2
    ? `evaluator_budget (${settings.evaluator_budget}) pays for fewer than two episodes of a problem with as many solo rollouts; give ccpo at least 4.`
    : null;
}

/**
 * Plans one solo rollout per episode. With shared draws, each takes the random numbers of the episode
 * with the same number; otherwise all take numbers of their own.
 */
function planSoloRollout(settings: MethodSettings): Rollout {
  const count = countPairedEpisodes(settings);
  const { solo_draws: draws, solo_prompt: withoutFirst } = settings.ccpo;
  const solo = { commonRandomNumbers: false, measured: true, withoutFirst };
  // An episode's solver is continuation 0 of its thinker; the solver after an empty message must be so
  // too.
  return draws === 'shared' ? { ...solo, fanout: [count, 1], sharesDraws: true } : { ...solo, fanout: [1, count] };
}

/** Lists the returns of some trees, leaf by leaf. */
const listLeafReturns = (roots: readonly TreeMessage[], bound: number): (number | null)[] =>
  roots.flatMap(findLeaves).map((leaf) => computeReturn(leaf, bound));

/** Scales the signals of one prompt against each other, as configured. */
function scaleSignals(signals: readonly Signal[], by: MethodSettings['ccpo']['normalise']): readonly Signal[] {
  const thinkers = scaleWithinPrompt(
    signals.map(({ thinker }) => thinker),
    by,
  );
  const solvers = scaleWithinPrompt(
    signals.map(({ solver }) => solver),
    by,
  );
  return signals.map((_, index) => ({ thinker: thinkers[index] ?? 0, solver: solvers[index] ?? 0 }));
}

/** Returns the roles that a step teaches: all of them, or one role per block of steps. */
function listRolesInTurn({ settings, iteration, roles }: TaughtStep): readonly string[] {
  const { alternate_every: every, alternate_first: first } = settings.ccpo;
  if (every === 0) {
    return roles;
  }
  const place = (Math.floor((iteration - 1) / every) + (first === 'thinker' ? 0 : 1)) % roles.length;
  return roles.slice(place, place + 1);
}

/** Yields PPO updates for all roles, or for one role per block of steps. Credits cover all roles. */
function* updateInTurns(step: LearningStep): Generator<Update, void, Outcome> {
  const takesTurns = step.settings.ccpo.alternate_every > 0;
  const changed = { ...(takesTurns && { roles: listRolesInTurn(step) }), ...ccpoLossSettings(step.settings) };
  const updates = updateByPpo(step);
  for (let next = updates.next({}); next.done !== true;) {
    const update = next.value;
    next = updates.next(yield update.kind === 'policy' ? { ...update, ...changed } : update);
  }
}

/** Returns the clipping settings that differ from the default loss (reference section 5). */
function ccpoLossSettings({ ccpo: { ratio, dual_clip: dualClip } }: MethodSettings): Pick<PolicyUpdate, 'loss'> {
  const loss = {
    ...(ratio === 'message' && { ratio: 'message-mean' as const }),
    ...(dualClip !== null && { dualClip }),
  };
  return Object.keys(loss).length === 0 ? {} : { loss };
}
