/** Measures of steps of method teamtr with `teamtr.diagnostics`: drift, the zeta proxy, how reliable the KL is. */
import type { StepMeasure } from './stepMeasure.ts';

interface DriftMeasure extends StepMeasure {
  readonly everyStep: false;
}

/** Agents that have their turn in a step of method teamtr, of which the measures of single turns are kept. */
const AGENT_TURNS = [1, 2, 3, 4, 5, 6, 7, 8] as const;
export type AgentTurn = (typeof AGENT_TURNS)[number];
export const MEASURED_AGENT_TURNS: readonly AgentTurn[] = AGENT_TURNS;

const byTurn = <Name extends string>(
  name: Name,
  title: string,
  beside: string,
): Readonly<Record<`${Name}${AgentTurn}`, DriftMeasure>> =>
  Object.fromEntries(
    AGENT_TURNS.map((turn) => [
      `${name}${turn}`,
      { title: `${title}, turn ${String(turn)}`, written: 5, everyStep: false, figure: { beside } },
    ]),
  ) as Readonly<Record<`${Name}${AgentTurn}`, DriftMeasure>>;

/** The KL of each turn's agent, listed with the largest one. */
export const KL_TURN_MEASURES = byTurn('klTurn', 'KL', 'trustRegionKl');

/** In the order in which they are drawn. */
export const DRIFT_MEASURES = {
  /**
   * Of method teamtr with `teamtr.diagnostics`, as those below: what the surrogate of each turn says on the episodes
   * with which the step began less what it says on those of the team of then, the sum over turns.
   */
  staleGap: {
    title: 'Stale gap',
    written: 5,
    everyStep: false,
    figure: { id: 'stale-gap', title: 'Stale gap of the surrogate', unit: 'return', always: [0], digits: 4 },
  },
  staleGapBound: { title: 'Bound on the stale gap', written: 4, everyStep: false, figure: { beside: 'staleGap' } },
  ...byTurn('staleGapTurn', 'Stale gap', 'staleGap'),
  /** Total variation of the contexts of each turn from those with which the step began, the sum over turns. */
  occupancyDrift: {
    title: 'Occupancy drift',
    written: 5,
    everyStep: false,
    figure: {
      id: 'occupancy-drift',
      title: 'Occupancy drift within a step',
      unit: 'total variation, sum over turns',
      always: [0],
      digits: 4,
    },
  },
  /** The proxy of how far advantage estimates are off, the mean over turns: the sum of the three below. */
  zetaProxy: {
    title: 'Zeta proxy',
    written: 4,
    everyStep: false,
    figure: { id: 'zeta', title: 'Zeta proxy of an update', unit: 'standard deviations', always: [0], digits: 3 },
  },
  zetaClip: { title: 'By clipped advantages', written: 4, everyStep: false, figure: { beside: 'zetaProxy' } },
  zetaRatio: { title: 'By clipped ratios', written: 4, everyStep: false, figure: { beside: 'zetaProxy' } },
  zetaNorm: { title: 'By group statistics', written: 4, everyStep: false, figure: { beside: 'zetaProxy' } },
  /** How far the KL on a part of the token positions is off, as a share of the bound. */
  monitorError25: {
    title: 'Error of the KL on 25 % of tokens',
    written: 4,
    everyStep: false,
    figure: { id: 'monitor', title: 'Error of a subsampled KL', unit: 'share of delta', always: [0], digits: 3 },
  },
  monitorError25P90: {
    title: '90th percentile on 25 %',
    written: 4,
    everyStep: false,
    figure: { beside: 'monitorError25' },
  },
  monitorError50: { title: 'On 50 % of tokens', written: 4, everyStep: false, figure: { beside: 'monitorError25' } },
  monitorError50P90: {
    title: '90th percentile on 50 %',
    written: 4,
    everyStep: false,
    figure: { beside: 'monitorError25' },
  },
  /** Of turns whose KL is near the bound: how often the part of the tokens decides otherwise. */
  monitorFlips25: { title: 'Flips on 25 %', written: 3, everyStep: false, figure: { beside: 'monitorError25' } },
  monitorFlips50: { title: 'Flips on 50 %', written: 3, everyStep: false, figure: { beside: 'monitorError25' } },
} as const satisfies Readonly<Record<string, StepMeasure>>;

export type DriftMeasureName = keyof typeof DRIFT_MEASURES | keyof typeof KL_TURN_MEASURES;
