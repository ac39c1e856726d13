/**
 * What the chances of many episodes say of each: a few replays of one episode decide little, but the distribution of
 * chances over a run is known from all of them. Empirical Bayes: the distribution is the nonparametric maximum
 * likelihood estimate (Kiefer and Wolfowitz, Annals of Mathematical Statistics 27, 1956), by expectation and
 * maximization on a grid from equal weights; each chance has its posterior from that (Efron, "Large-Scale Inference",
 * 2010). The likelihood of returns does not depend on why somebody stopped sampling.
 */

/** How often a chance came true. */
export interface Count {
  readonly won: number;
  readonly of: number;
}

/** Steps of the grid from 0 to 1. */
const STEPS = 50;
/** Rounds of the estimate; more of them fit the noise. */
const ROUNDS = 100;
const GRID = Array.from({ length: STEPS + 1 }, (_, step) => step / STEPS);
/** So that a bound that lies on the grid is not above itself. */
const ROUNDING = 1e-9;

/**
 * The probability, by all counts together, that each chance is above a bound.
 * @param bound from 0 to 1
 */
export function chancesAbove(counts: readonly Count[], bound: number): number[] {
  const nameOf = ({ won, of }: Count): string => `${String(won)} ${String(of)}`;
  const kinds = [...Map.groupBy(counts, nameOf)].map(([name, own]) => {
    const { won, of } = own[0] ?? { won: 0, of: 0 };
    return { name, times: own.length, likelihood: GRID.map((chance) => chance ** won * (1 - chance) ** (of - won)) };
  });
  let weights = GRID.map(() => 1 / GRID.length);
  for (let round = 0; round < ROUNDS; round++) {
    const next = GRID.map(() => 0);
    for (const { times, likelihood } of kinds) {
      for (const [step, share] of posterior(weights, likelihood).entries()) {
        next[step] = (next[step] ?? 0) + (times * share) / counts.length;
      }
    }
    weights = next;
  }
  const above = new Map(
    kinds.map(({ name, likelihood }) => [
      name,
      posterior(weights, likelihood).reduce(
        (sum, share, step) => sum + ((GRID[step] ?? 0) > bound + ROUNDING ? share : 0),
        0,
      ),
    ]),
  );
  return counts.map((count) => above.get(nameOf(count)) ?? 1);
}

function posterior(weights: readonly number[], likelihood: readonly number[]): number[] {
  const joint = weights.map((weight, step) => weight * (likelihood[step] ?? 0));
  const total = joint.reduce((sum, one) => sum + one, 0);
  return joint.map((one) => one / total);
}
