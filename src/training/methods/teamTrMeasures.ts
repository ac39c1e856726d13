/** Measures of a teamtr step: importance weights, the certificate, and the improvement. */

import type { OwnMeasures } from '../../domain/step.ts';
import {
  computeCertificate,
  computeConfidenceCost,
  isVacuous,
  boundOccupancyShift,
  estimatePromise,
} from '../certificate.ts';
import type { Move } from '../divergence.ts';
import { measureWeightTails, type WeightTails } from '../importance.ts';
import type { MethodSettings } from './method.ts';

type Settings = Pick<
  MethodSettings['teamtr'],
  'clip' | 'held_out' | 'certificate_gamma' | 'certificate_bound' | 'certificate_confidence'
>;

export interface MeasuredTurn {
  /** The final KL of its messages, in nats. */
  readonly moved: number;
  /** The changes of its messages' probabilities, if known. */
  readonly moves: readonly Move[];
  /** True if it began with fresh episodes. */
  readonly fresh: boolean;
}

/**
 * Returns the measures of a step; undefined ones are left out.
 * @param returns the mean return of each sampling of the step, on the same problems; null if a problem
 *   has none
 */
export function measureTurns(
  turns: readonly MeasuredTurn[],
  returns: readonly (number | null)[],
  settings: Settings,
): Omit<OwnMeasures, 'trustRegionKl' | 'surrogateGain' | 'klWeight' | 'outOfRegion'> {
  const shown = turns.filter(({ moves }) => moves.length > 0);
  if (shown.length === 0) {
    return {};
  }
  const tails = listWeightTails(turns, settings.held_out === null);
  const largest = (of: (tail: WeightTails) => number): number => Math.max(...tails.map(of));
  const gamma = settings.certificate_gamma;
  const worths = shown.flatMap(({ moves }) => moves.map(({ worth }) => Math.abs(worth)));
  const bounds = { gamma, bound: worths.reduce((most, one) => Math.max(most, one), settings.certificate_bound) };
  const certified = (some: readonly MeasuredTurn[]): number =>
    computeCertificate(
      some.map(({ moved: kl, moves, fresh }) => ({
        ...(estimatePromise(moves, settings.clip) ?? { advantage: 0, error: 0 }),
        kl,
        fresh,
      })),
      bounds,
    );
  const whole = certified(turns);
  const cost = computeConfidenceCost(
    shown.map(({ moved: kl, moves }) => ({ kl, groups: new Set(moves.map(({ problem }) => problem)).size })),
    { ...bounds, clip: settings.clip, failure: 1 - settings.certificate_confidence },
  );
  return {
    ...(tails.length > 0 && {
      effectiveSample: Math.min(...tails.map(({ effective }) => effective)),
      largestWeight: largest((tail) => tail.largest),
      weightP95: largest(({ p95 }) => p95),
      weightP99: largest(({ p99 }) => p99),
      heavyWeights: largest(({ heavy }) => heavy),
    }),
    occupancyShift: turns.reduce((sum, { moved }) => sum + boundOccupancyShift(moved, gamma), 0),
    certificate: whole,
    confidentCertificate: whole - cost,
    vacuousCertificate: isVacuous(whole, bounds) ? 1 : 0,
    ...compareWithReturn(turns, returns, certified),
  };
}

/**
 * Returns the tails of the importance weights of the newest episodes after each turn: products over
 * the messages of all roles that were updated since the episodes were sampled (reference section 6).
 * @param whole true if all messages are measured, so that a role without a message in an episode said
 *   nothing in it; otherwise only episodes with a measured message of every such role have a known
 *   weight
 */
function listWeightTails(turns: readonly MeasuredTurn[], whole: boolean): WeightTails[] {
  let weights = new Map<number, number>();
  return turns.flatMap(({ moves, fresh }, place) => {
    const begins = fresh || place === 0;
    const own = new Map<number, number>();
    for (const { episode, logRatio } of moves) {
      own.set(episode, (own.get(episode) ?? 0) + logRatio);
    }
    const added = [...own]
      .filter(([episode]) => begins || whole || weights.has(episode))
      .map(([episode, log]) => [episode, log + (begins ? 0 : (weights.get(episode) ?? 0))] as const);
    weights = new Map([...(whole && !begins ? weights : []), ...added]);
    return measureWeightTails([...weights.values()]) ?? [];
  });
}

/**
 * Returns the certificate of the updates between the first and the last sampling of a step, and the
 * measured change of the return.
 */
function compareWithReturn(
  turns: readonly MeasuredTurn[],
  returns: readonly (number | null)[],
  certified: (turns: readonly MeasuredTurn[]) => number,
): Pick<OwnMeasures, 'comparedCertificate' | 'measuredImprovement'> {
  const samplings = turns.filter(({ fresh }) => fresh).length;
  const [first = null, last = null] = [returns[0], returns.at(-1)];
  if (samplings < 2 || returns.length !== samplings || first === null || last === null) {
    return {};
  }
  return {
    comparedCertificate: certified(
      turns.slice(
        0,
        turns.findLastIndex(({ fresh }) => fresh),
      ),
    ),
    measuredImprovement: last - first,
  };
}
