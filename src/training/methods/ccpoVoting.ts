/**
 * CCPO for a team that votes (reference section 3). The vote of each episode is counted again without
 * each voter, by the same rule and the same random numbers. The loss of reward is the voter's
 * contribution, and no message is sampled for it. Each voter has one running statistic from step to
 * step.
 */

import { MOST_ROLES, removalContributions, shapleyValues } from '../../credit/coalitions.ts';
import { mean } from '../../credit/describe.ts';
import type { MethodState } from '../../domain/step.ts';
import { findLeaves, computeReturn, sumScores, countCalls, type TreeMessage } from '../../replay/tree.ts';
import { computeVoteReward, type Vote } from '../../replay/votes.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { Protocol } from '../../team/protocol.ts';
import { toStandardScore, scaleWithinPrompt } from './ccpoShaping.ts';
import { EPSILON, getJsonMember, moveRunning, readStateNumber, readRunning, type Running } from './ccpoStatistics.ts';
import { makeEpisodesCheck } from './episodes.ts';
import { walkEpisode, type Credited, type MethodMeasures, type MethodSettings, type SampledStep } from './method.ts';

/** The statistics carried from step to step. */
export interface VotingStatistics {
  /** The number of steps that updated the statistics. */
  readonly steps: number;
  /** The number of rollouts in the statistics. */
  readonly count: number;
  readonly joint: Running;
  /** The running statistics of the contributions, by the id of the voter's turn. */
  readonly voters: ReadonlyMap<string, Running>;
}

/** An episode with its voters' contributions, in their order. */
export interface Voted {
  readonly voters: readonly string[];
  readonly joint: number;
  readonly contributions: readonly number[];
}

/** Returns the reason why a team that votes cannot be credited, in one sentence, or null if it can. */
export function findVotingFault(settings: MethodSettings, protocol: Protocol): string | null {
  const { name, occurrences } = protocol;
  if (occurrences.length < 2) {
    return `ccpo compares a vote with the vote without each voter, and needs at least two voters; ${name} has one.`;
  }
  if (settings.ccpo.contribution === 'shapley' && occurrences.length > MOST_ROLES) {
    return (
      'ccpo.contribution: shapley counts the votes of all parts of a team of at most ' +
      `${MOST_ROLES} voters, and ${name} has ${occurrences.length}; set it to removal.`
    );
  }
  if (settings.ccpo.shaping === 'event') {
    return `ccpo.shaping: event is for a thinker and a solver, and ${name} votes; set it to history or none.`;
  }
  return makeEpisodesCheck(2)(settings, protocol);
}

/** Describes how the rule for ties affects the credit of voters, one sentence each. */
export function listVotingRemarks({ ccpo: { voting } }: MethodSettings, { name, rounds }: Protocol): readonly string[] {
  const ties = rounds?.closing?.options['ties'];
  if (ties === 'first') {
    return [
      `With ties: first in ${name} a tie goes to the answer of the first voter who is in it, so that ccpo credits equal voters by their places.`,
    ];
  }
  return ties === 'expected' && voting === 'allocation'
    ? [
        `With ties: expected in ${name}, ccpo.voting: allocation can lower what the only right voter says; set one of the two otherwise.`,
      ]
    : [];
}

export function creditVotes(
  { problems, settings, state }: Pick<SampledStep, 'problems' | 'settings' | 'state'>,
  votes: ReadonlyMap<TreeMessage, Vote>,
): Credited {
  const own = settings.ccpo;
  const before = readVotingStatistics(state);
  const groups = problems.map((episodes) => ({
    calls: episodes.reduce((sum, first) => sum + countCalls(first), 0),
    known: episodes.flatMap((first) => {
      const voted = toVotedEpisode(first, votes, settings);
      return voted === null ? [] : [{ first, voted }];
    }),
  }));
  const after = updateVotingStatistics(
    before,
    groups.flatMap(({ known }) => known.map(({ voted }) => voted)),
    own.decay,
  );
  const statistics = own.order === 'updated' ? after : before;
  const credits = new Map<TreeMessage, Credit>();
  for (const { known, calls } of groups) {
    const signals = shapeVotingSignals(
      known.map(({ voted }) => voted),
      statistics,
      own,
    );
    known.forEach(({ first }, index) => {
      // The voters of a vote are the messages of its episode, in order.
      for (const [voter, message] of [...walkEpisode(first)].entries()) {
        const value = signals[index]?.[voter];
        if (value !== undefined) {
          credits.set(message, {
            estimator: 'ccpo',
            value,
            low: null,
            high: null,
            n: known.length,
            evaluatorCalls: calls,
            interval: 'none',
          });
        }
      }
    });
  }
  return { credits, state: toVotingState(after) };
}

/** Returns an episode with its contributions, or null if its vote or its return is not known. */
function toVotedEpisode(
  first: TreeMessage,
  votes: ReadonlyMap<TreeMessage, Vote>,
  { credit: { return_clip: bound }, ccpo: { contribution } }: MethodSettings,
): Voted | null {
  const [leaf = first] = findLeaves(first);
  const vote = votes.get(leaf);
  const joint = computeReturn(leaf, bound);
  if (vote === undefined || joint === null) {
    return null;
  }
  const contributionsOf = contribution === 'shapley' ? shapleyValues : removalContributions;
  const contributions = contributionsOf(
    vote.voters.length,
    (members) => sumScores([computeVoteReward(vote, members)], bound) ?? 0,
  );
  return { voters: vote.voters, joint, contributions };
}

/**
 * Returns the voters' signals from the rollouts of one prompt.
 *
 *   direct:     tanh(alpha * (D_i - mu_i) / (sigma_i + eps)), scaled among the rollouts of the prompt; D_i itself if
 *               the statistics hold too few returns, or `shaping` is none
 *   allocation: max(0, D_i) / (sum over k of max(0, D_k) + eps) * A,  A = the return scaled in the same way
 *
 * @returns for each rollout, in order, the signals of its voters
 */
export function shapeVotingSignals(
  rollouts: readonly Voted[],
  statistics: VotingStatistics,
  settings: MethodSettings['ccpo'],
): number[][] {
  if (settings.voting === 'allocation') {
    const scaled = scaleWithinPrompt(
      rollouts.map(({ joint }) => joint),
      settings.normalise,
    );
    return rollouts.map(({ contributions }, index) => allocateAdvantage(contributions, scaled[index] ?? 0));
  }
  const isRaw = settings.shaping === 'none' || statistics.steps === 0 || statistics.count < settings.min_samples;
  const shaped = rollouts.map(({ voters, contributions }) =>
    contributions.map((contribution, voter) => {
      const running = statistics.voters.get(voters[voter] ?? '');
      return isRaw || running === undefined
        ? contribution
        : Math.tanh(settings.alpha * toStandardScore(contribution, running));
    }),
  );
  const columns = (rollouts[0]?.voters ?? []).map((_, voter) =>
    scaleWithinPrompt(
      shaped.map((row) => row[voter] ?? 0),
      settings.normalise,
    ),
  );
  return shaped.map((row, index) => row.map((_, voter) => columns[voter]?.[index] ?? 0));
}

/** Shares an advantage among the voters with a positive contribution, in proportion to it. */
function allocateAdvantage(contributions: readonly number[], advantage: number): number[] {
  const positive = contributions.map((one) => Math.max(0, one));
  const sum = positive.reduce((total, one) => total + one, 0);
  // Avoids -0 for voters without a share in a negative advantage.
  return positive.map((one) => (one === 0 ? 0 : (one / (sum + EPSILON)) * advantage));
}

/** Returns the statistics after a step (see ccpoStatistics.ts). */
export function updateVotingStatistics(
  statistics: VotingStatistics,
  rollouts: readonly Voted[],
  decay: number,
): VotingStatistics {
  const [first] = rollouts;
  if (first === undefined) {
    return statistics;
  }
  const voters = first.voters.map((id, voter): [string, Running] => {
    const values = rollouts.map(({ contributions }) => contributions[voter] ?? 0);
    return [id, moveRunning(statistics.voters.get(id) ?? null, values, decay)];
  });
  const returns = rollouts.map(({ joint }) => joint);
  return {
    steps: statistics.steps + 1,
    count: statistics.count + rollouts.length,
    joint: moveRunning(statistics.steps === 0 ? null : statistics.joint, returns, decay),
    voters: new Map(voters),
  };
}

/** Returns the statistics as a method state; JSON keeps every bit of a number. */
export const toVotingState = ({ steps, count, joint, voters }: VotingStatistics): MethodState => ({
  json: {
    steps,
    count,
    joint: { ...joint },
    voters: Object.fromEntries([...voters].map(([id, running]) => [id, { ...running }])),
  },
  tensors: {},
});

/** Returns true if a state is that of a team that votes. */
export const isVotingState = ({ json }: MethodState): boolean => getJsonMember(json, 'voters') !== undefined;

/**
 * Reads the statistics of a stored state. The state at the start of a run has no voters.
 * @throws Error as readStatistics
 */
export function readVotingStatistics({ json }: MethodState): VotingStatistics {
  const voters = getJsonMember(json, 'voters');
  const ids = typeof voters === 'object' && voters !== null ? Object.keys(voters) : [];
  return {
    steps: readStateNumber(json, 'steps'),
    count: readStateNumber(json, 'count'),
    joint: readRunning(json, 'joint'),
    voters: new Map(ids.map((id) => [id, readRunning(voters, id)])),
  };
}

/**
 * Returns the measures that a step shows of the statistics, with contributions as the mean over
 * voters; none before the first step.
 */
export function measureVoting(state: MethodState): MethodMeasures {
  const { steps, joint, voters } = readVotingStatistics(state);
  if (steps === 0) {
    return {};
  }
  const each = [...voters.values()];
  return {
    contribution: mean(each.map((one) => one.mean)),
    contributionDeviation: Math.sqrt(mean(each.map(({ variance }) => variance))),
    jointReturn: joint.mean,
    jointDeviation: Math.sqrt(joint.variance),
  };
}
