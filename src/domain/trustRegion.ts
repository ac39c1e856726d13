/** What the steps of a run of method teamtr showed of its trust region, for pictures. Pure. */
import { MEASURED_AGENT_TURNS } from './driftMeasures.ts';
import { replacementOf, type Replacement } from './replacement.ts';
import type { StepMetrics } from './stepMetrics.ts';
import { sectionOf, storedConfig } from './storedRecipe.ts';

/** What a run's own row says beside its steps. */
export interface RegionFacts {
  /** The radius of the trust region in nats per message; null for a run of another method. */
  readonly delta: number | null;
  /** What replacing an agent came to before the run began; null where none was. */
  readonly replacement: Replacement | null;
}

/** Where a stored configuration does not say it. */
const USUAL_DELTA = 0.01;

/** @param runConfig the row's JSON */
export function regionFacts(runConfig: string): RegionFacts {
  return { delta: deltaIn(runConfig), replacement: replacementOf(runConfig) };
}

function deltaIn(runConfig: string): number | null {
  const config = storedConfig(runConfig);
  if (config['method'] !== 'teamtr') {
    return null;
  }
  const { delta } = sectionOf(config, 'teamtr');
  return typeof delta === 'number' && Number.isFinite(delta) && delta > 0 ? delta : USUAL_DELTA;
}

/** The KL of each turn of a step; of a step without diagnostics that of the turn that moved farthest. */
export function turnKls(metrics: StepMetrics): readonly number[] {
  const turns = MEASURED_AGENT_TURNS.flatMap((turn) => metrics[`klTurn${turn}`] ?? []);
  return turns.length > 0 ? turns : metrics.trustRegionKl === undefined ? [] : [metrics.trustRegionKl];
}

export interface KlBin {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** Bins from 0 to the radius, so that its end is one's border. */
export const BINS = 10;
/** Bins beyond it, at most; the last one has all that is larger. */
const BEYOND = 5;

/**
 * How many turns moved how far. An estimate below 0 is in the first bin.
 * @returns no bin without a turn
 */
export function klHistogram(kls: readonly number[], delta: number): readonly KlBin[] {
  if (kls.length === 0) {
    return [];
  }
  const width = delta / BINS;
  const placeOf = (kl: number): number => Math.max(0, Math.min(BINS + BEYOND - 1, Math.ceil(kl / width - 1e-9) - 1));
  const places = kls.map(placeOf);
  // One bin beyond the radius at least shows that it is empty.
  const last = Math.max(BINS, ...places);
  return Array.from({ length: last + 1 }, (_, place) => ({
    low: place * width,
    high: place === BINS + BEYOND - 1 ? Math.max((place + 1) * width, ...kls) : (place + 1) * width,
    count: places.filter((own) => own === place).length,
  }));
}

/** A step's certificate of the updates whose improvement was measured. */
export interface ComparedStep {
  readonly step: number;
  readonly certificate: number;
  readonly measured: number;
  /** Whether the certificate of the whole step says nothing. */
  readonly vacuous: boolean;
}

export const comparedSteps = (
  steps: readonly { readonly step: number; readonly metrics: StepMetrics }[],
): readonly ComparedStep[] =>
  steps.flatMap(({ step, metrics: { comparedCertificate, measuredImprovement, vacuousCertificate } }) =>
    comparedCertificate === undefined || measuredImprovement === undefined
      ? []
      : [{ step, certificate: comparedCertificate, measured: measuredImprovement, vacuous: vacuousCertificate === 1 }],
  );

/**
 * Stability of training (TeamTR reference section 6): the sample standard deviation over steps of what the mean return
 * gained from one step to the next, in units of the return; small is stable.
 * @param returns of the steps in order; a step without one ends no gain and begins none
 * @returns null with fewer than two gains
 */
export function stabilityOf(returns: readonly (number | null)[]): number | null {
  const gains = returns.slice(1).flatMap((value, index) => {
    const before = returns[index] ?? null;
    return value === null || before === null ? [] : [value - before];
  });
  if (gains.length < 2) {
    return null;
  }
  const middle = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
  return Math.sqrt(gains.reduce((sum, gain) => sum + (gain - middle) ** 2, 0) / (gains.length - 1));
}
