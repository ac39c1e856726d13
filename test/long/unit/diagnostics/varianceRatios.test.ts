import { describe, it } from 'node:test';
import { predictVarianceRatios } from '../../../../src/diagnostics/rho.ts';
import { mean, near, numbers, variance } from '../../../unit/diagnostics/numbers.ts';

describe('the predicted ratio of variances', () => {
  it('is what simulated teams show, for any fan-out', () => {
    for (const [components, fanout] of [
      [
        [3, 1],
        [2, 4],
      ],
      [
        [0.2, 1],
        [4, 2],
      ],
      [
        [4, 1, 0.5],
        [2, 2, 2],
      ],
      [
        [1, 2, 0.3, 0.5],
        [2, 3, 1, 2],
      ],
    ] as const) {
      const calls = fanout.reduce<number>((product, one) => product * one, 1);
      const predicted = predictVarianceRatios(components, fanout, calls);
      const simulated = simulate(components, fanout, calls);
      for (const [position, ratio] of predicted.entries()) {
        if (ratio !== null) {
          near(simulated[position] ?? 0, ratio, 0.12);
        }
      }
    }
  });
});

interface Said {
  /** The direction of the policy's parameter in which the gradient is looked at. */
  readonly direction: number;
  readonly worth: number;
  readonly after: readonly Said[];
}

/** Variances of the gradients of C3 over those of MAGRPO by position, over many problems. */
function simulate(components: readonly number[], fanout: readonly number[], episodes: number): number[] {
  const next = numbers(4);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const grow = (position: number, shape: readonly number[]): Said[] =>
    position === components.length
      ? []
      : Array.from({ length: shape[position] ?? 1 }, () => ({
          direction: next() < 0.5 ? -1 : 1,
          worth: Math.sqrt(components[position] ?? 0) * normal(),
          after: grow(position + 1, shape),
        }));
  const leaves = ({ worth, after }: Said): number[] =>
    after.length === 0 ? [worth] : after.flatMap(leaves).map((rest) => worth + rest);
  const trees: number[][] = components.map(() => []);
  const whole: number[][] = components.map(() => []);
  for (let problem = 0; problem < 4000; problem++) {
    let contexts: Said[][] = [grow(0, fanout)];
    for (const position of components.keys()) {
      const gradient = contexts.map((siblings) => {
        const worths = siblings.map((one) => mean(leaves(one)));
        const credits = worths.map(
          (own, j) => own - mean(siblings.length < 2 ? [own] : worths.filter((_, i) => i !== j)),
        );
        return mean(siblings.map(({ direction }, index) => direction * (credits[index] ?? 0)));
      });
      trees[position]?.push(mean(gradient));
      contexts = contexts.flat().map(({ after }) => [...after]);
    }
    const said = grow(0, [episodes]);
    const returns = said.map((one) => leaves(one)[0] ?? 0);
    let row = said;
    for (const position of components.keys()) {
      // The unbiased form: the published mean of the group makes it (G - 1) / G of this.
      const credits = returns.map((value) => ((value - mean(returns)) * episodes) / (episodes - 1));
      whole[position]?.push(mean(row.map(({ direction }, index) => direction * (credits[index] ?? 0))));
      row = row.flatMap(({ after }) => [...after]);
    }
  }
  return components.map((_, position) => variance(trees[position] ?? []) / variance(whole[position] ?? []));
}
