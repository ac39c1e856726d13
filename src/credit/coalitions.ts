/** What each agent of a team is worth, where the team's reward is known for every part of it (a coalition). */

/** A part of a team: whether each agent takes part, in order. */
export type Coalition = readonly boolean[];

/** Agents of a team whose coalitions are all looked at: there are 2 to the power of their number. */
export const MOST_AGENTS = 12;

const without = (all: number, agent: number): Coalition => Array.from({ length: all }, (_, one) => one !== agent);

/**
 * What the team's reward loses without each agent (CCPO section 1):
 *
 *   D_i = R(all) - R(all but i)
 *
 * @param agents their number
 * @returns in order
 */
export function removalContributions(agents: number, rewardOf: (coalition: Coalition) => number): number[] {
  const all = rewardOf(without(agents, -1));
  return Array.from({ length: agents }, (_, agent) => all - rewardOf(without(agents, agent)));
}

/**
 * Shapley values: what an agent adds to those who came before it, the mean over all orders in which K agents may come.
 *
 *   phi_i = sum over coalitions S without i of |S|! (K - |S| - 1)! / K! * (R(S and i) - R(S))
 *
 * They add up to what the whole team has more than nobody.
 * @param agents K, at most MOST_AGENTS
 * @returns in order
 * @throws RangeError for more agents
 */
export function shapleyValues(agents: number, rewardOf: (coalition: Coalition) => number): number[] {
  if (agents > MOST_AGENTS) {
    throw new RangeError(`Shapley values of ${String(agents)} agents were asked for; ${String(MOST_AGENTS)} are most.`);
  }
  const sets = Array.from({ length: 2 ** agents }, (_, set) =>
    Array.from({ length: agents }, (__, agent) => ((set >> agent) & 1) === 1),
  );
  const rewards = sets.map(rewardOf);
  const sizes = sets.map((members) => members.filter(Boolean).length);
  // |S|! (K - |S| - 1)! / K! = 1 / (K * (K - 1 over |S|))
  const weights = binomials(agents - 1).map((count) => 1 / (agents * count));
  return Array.from({ length: agents }, (_, agent) => {
    let value = 0;
    for (const [set, members] of sets.entries()) {
      if (members[agent] === false) {
        const added = (rewards[set + 2 ** agent] ?? 0) - (rewards[set] ?? 0);
        value += (weights[sizes[set] ?? 0] ?? 0) * added;
      }
    }
    return value;
  });
}

/** n over k for k from 0 to n. */
function binomials(n: number): number[] {
  const row = [1];
  for (let k = 1; k <= n; k++) {
    row.push(((row[k - 1] ?? 0) * (n - k + 1)) / k);
  }
  return row;
}
