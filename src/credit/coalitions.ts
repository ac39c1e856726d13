/** Contributions of the roles of a team whose reward is known for every part of it (a coalition). */

/** A part of a team: for each role in order, true if it takes part. */
export type Coalition = readonly boolean[];

/** Most roles of a team whose coalitions are all evaluated; their number is 2 to the power of it. */
export const MOST_ROLES = 12;

const coalitionWithout = (all: number, role: number): Coalition =>
  Array.from({ length: all }, (_, one) => one !== role);

/**
 * Returns the loss of the team's reward without each role (CCPO section 1):
 *
 *   D_i = R(all) - R(all but i)
 *
 * @param roles number of roles
 * @returns in the order of the roles
 */
export function removalContributions(roles: number, rewardOf: (coalition: Coalition) => number): number[] {
  const all = rewardOf(coalitionWithout(roles, -1));
  return Array.from({ length: roles }, (_, role) => all - rewardOf(coalitionWithout(roles, role)));
}

/**
 * Returns Shapley values: the reward that a role adds to the roles before it, the mean over all orders
 * of the K roles.
 *
 *   phi_i = sum over coalitions S without i of |S|! (K - |S| - 1)! / K! * (R(S and i) - R(S))
 *
 * Their sum is the reward of the whole team minus that of the empty coalition.
 * @param roles K, at most MOST_ROLES
 * @returns in the order of the roles
 * @throws RangeError for more roles
 */
export function shapleyValues(roles: number, rewardOf: (coalition: Coalition) => number): number[] {
  if (roles > MOST_ROLES) {
    throw new RangeError(`Shapley values of ${roles} roles were asked for; ${MOST_ROLES} are most.`);
  }
  const sets = Array.from({ length: 2 ** roles }, (_, set) =>
    Array.from({ length: roles }, (__, role) => ((set >> role) & 1) === 1),
  );
  const rewards = sets.map(rewardOf);
  const sizes = sets.map((members) => members.filter(Boolean).length);
  // |S|! (K - |S| - 1)! / K! = 1 / (K * (K - 1 over |S|))
  const weights = binomials(roles - 1).map((count) => 1 / (roles * count));
  return Array.from({ length: roles }, (_, role) => {
    let value = 0;
    for (const [set, members] of sets.entries()) {
      if (members[role] === false) {
        const added = (rewards[set + 2 ** role] ?? 0) - (rewards[set] ?? 0);
        value += (weights[sizes[set] ?? 0] ?? 0) * added;
      }
    }
    return value;
  });
}

/** Returns n over k for k from 0 to n. */
function binomials(n: number): number[] {
  const row = [1];
  for (let k = 1; k <= n; k++) {
    row.push(((row[k - 1] ?? 0) * (n - k + 1)) / k);
  }
  return row;
}
