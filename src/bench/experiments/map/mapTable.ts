/**
 * The results of the map over rho and team size: the places where credit by replay is ahead of
 * trajectory credit, level with it, or behind. Pure: numbers in, numbers out.
 */

import { mean } from '../../../credit/describe.ts';
import { studentInterval } from '../../../credit/interval.ts';
import type { Interval } from '../../../domain/credit.ts';

export const MAP_METHODS = ['c3', 'magrpo'] as const;
export type MapMethod = (typeof MAP_METHODS)[number];

/** A place on the map. */
export interface MapPlace {
  readonly level: number;
  readonly roles: number;
  /** True if the dealer learns. False if it always deals as the untrained team does. */
  readonly learns: boolean;
}

/** The result of one run. */
export interface MapRun extends MapPlace {
  readonly method: MapMethod;
  readonly seed: number;
  readonly rate: number;
  /** The learnable share that the untrained team has right. */
  readonly before: number;
  /** The learnable share that the trained team has right. */
  readonly after: number;
  /** Evaluator calls of training. */
  readonly evaluatorCalls: number;
  readonly tokens: number;
  readonly seconds: number;
}

/** The result of a pilot with the untrained team. */
export interface MapPilot extends MapPlace {
  readonly rho: Interval;
  /** Predicted variance of C3's gradient over MAGRPO's, by message. */
  readonly ratios: readonly (number | null)[];
}

export type MapVerdict = 'C3 ahead' | 'level' | 'MAGRPO ahead' | 'not measured';

export interface MapCell extends MapPlace {
  readonly rho: Interval;
  readonly ratios: readonly (number | null)[];
  /** Share of the possible gain by method, with Student's t interval over seeds. */
  readonly gain: Readonly<Record<MapMethod, Interval | null>>;
  /** C3's share minus MAGRPO's, paired by seed. */
  readonly difference: Interval | null;
  readonly verdict: MapVerdict;
}

export interface MapTrend {
  /** The team size, or null for all sizes together. */
  readonly roles: number | null;
  /**
   * Change of the difference with each doubling of rho: the mean of the least-squares slopes of the
   * seeds, with Student's t interval over seeds. Null if fewer than two levels are measured.
   */
  readonly slope: Interval | null;
}

/** Returns the share of the possible gain, or null if no gain was possible. */
export const computeGain = ({ before, after }: Pick<MapRun, 'before' | 'after'>): number | null =>
  before >= 1 ? null : (after - before) / (1 - before);

const isAt = (one: MapPlace, { level, roles, learns }: MapPlace): boolean =>
  one.level === level && one.roles === roles && one.learns === learns;

/**
 * Returns the differences of the methods at a place, by seed, for the seeds that both methods have.
 */
function computeDifferences(runs: readonly MapRun[], place: MapPlace): ReadonlyMap<number, number> {
  const gains = (method: MapMethod): ReadonlyMap<number, number> =>
    new Map(
      runs.flatMap((run) => {
        const gain = isAt(run, place) && run.method === method ? computeGain(run) : null;
        return gain === null ? [] : [[run.seed, gain] as const];
      }),
    );
  const [c3, magrpo] = [gains('c3'), gains('magrpo')];
  return new Map(
    [...c3].flatMap(([seed, gain]) => {
      const other = magrpo.get(seed);
      return other === undefined ? [] : [[seed, gain - other] as const];
    }),
  );
}

/** Returns a cell for each place with a pilot, sorted by team size, then by rho. */
export function makeMapCells(pilots: readonly MapPilot[], runs: readonly MapRun[]): MapCell[] {
  return pilots
    .toSorted((a, b) => a.roles - b.roles || a.rho.value - b.rho.value)
    .map(({ rho, ratios, ...place }) => {
      const gain = (method: MapMethod): Interval | null =>
        studentInterval(
          runs.flatMap((run) => (isAt(run, place) && run.method === method ? (computeGain(run) ?? []) : [])),
        );
      const difference = studentInterval([...computeDifferences(runs, place).values()]);
      const verdict = judgeMapDifference(difference);
      return { ...place, rho, ratios, gain: { c3: gain('c3'), magrpo: gain('magrpo') }, difference, verdict };
    });
}

export function judgeMapDifference(difference: Interval | null): MapVerdict {
  if (difference === null || difference.low === null || difference.high === null) {
    return 'not measured';
  }
  return difference.low > 0 ? 'C3 ahead' : difference.high < 0 ? 'MAGRPO ahead' : 'level';
}

/** Returns the trend over rho for each team size and, as the mean of a seed's slopes, for all. */
export function fitMapTrends(pilots: readonly MapPilot[], runs: readonly MapRun[]): MapTrend[] {
  const sizes = [...new Set(pilots.map(({ roles }) => roles))].sort((a, b) => a - b);
  const bySize = sizes.map((roles) => ({
    roles,
    slopes: fitSeedSlopes(
      pilots.filter((one) => one.roles === roles),
      runs,
    ),
  }));
  const rows = bySize.map(({ roles, slopes }): MapTrend => ({ roles, slope: studentInterval([...slopes.values()]) }));
  const [first] = bySize;
  const together =
    first === undefined
      ? []
      : [...first.slopes.keys()].flatMap((seed) => {
          const own = bySize.flatMap(({ slopes }) => slopes.get(seed) ?? []);
          return own.length === bySize.length ? [mean(own)] : [];
        });
  return sizes.length < 2 ? rows : [...rows, { roles: null, slope: studentInterval(together) }];
}

/** Returns the slope of each seed with all measured levels of a team size, at least two. */
function fitSeedSlopes(pilots: readonly MapPilot[], runs: readonly MapRun[]): ReadonlyMap<number, number> {
  const places = pilots.flatMap((pilot) => {
    const differences = computeDifferences(runs, pilot);
    return differences.size === 0 || pilot.rho.value <= 0 ? [] : [{ x: Math.log2(pilot.rho.value), differences }];
  });
  const [first] = places;
  if (first === undefined || places.length < 2) {
    return new Map();
  }
  const middle = mean(places.map(({ x }) => x));
  const spread = places.reduce((sum, { x }) => sum + (x - middle) ** 2, 0);
  return new Map(
    [...first.differences.keys()].flatMap((seed) => {
      const points = places.flatMap(({ x, differences }) => {
        const y = differences.get(seed);
        return y === undefined ? [] : [{ x, y }];
      });
      return points.length < places.length || spread === 0
        ? []
        : [[seed, points.reduce((sum, { x, y }) => sum + (x - middle) * y, 0) / spread] as const];
    }),
  );
}
