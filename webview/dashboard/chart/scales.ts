/** The scales of a chart, linear and logarithmic, as chart.js takes them. */
import type { ScaleOptionsByType } from 'chart.js';
import type { ChartAxis } from '../../../src/shared/protocols/dashboardProtocol.ts';

/** The part of a scale's options that is said here. */
type Options = { type: 'linear' | 'logarithmic' } & Pick<
  Partial<ScaleOptionsByType<'linear'>>,
  'min' | 'max' | 'suggestedMin' | 'suggestedMax'
> & {
    ticks: {
      color: string;
      font: { family: string; size: number };
      maxTicksLimit: number;
      maxRotation?: number;
      precision?: number;
      includeBounds?: boolean;
      callback: (value: number | string) => string;
    };
    afterBuildTicks?: (axis: { ticks: { value: number }[] }) => void;
  };

export interface TickLook {
  readonly color: string;
  readonly font: { readonly family: string; readonly size: number };
}

interface Extent {
  readonly low: number;
  readonly high: number;
}

/** The upright scale. */
export function linear({ low, high }: Extent, format: (value: number) => string, look: TickLook): Options {
  return {
    type: 'linear',
    suggestedMin: low,
    suggestedMax: high,
    ticks: { ...look, maxTicksLimit: 5, callback: (value) => format(Number(value)) },
  };
}

/** The level scale. Steps, calls and tokens are whole: a tick between two of them would have the name of one. */
export function levelScale(
  { low, high }: Extent,
  margin: number,
  axis: ChartAxis,
  format: (value: number) => string,
  look: TickLook,
): Options {
  const named = (value: number): boolean => (axis === 'time' || Number.isInteger(value)) && value >= Math.min(0, low);
  return {
    type: 'linear',
    min: low - margin,
    max: high + margin,
    ticks: {
      ...look,
      maxTicksLimit: 8,
      maxRotation: 0,
      includeBounds: margin === 0,
      ...(axis !== 'time' && { precision: 0 }),
      callback: (value) => (named(Number(value)) ? format(Number(value)) : ''),
    },
  };
}

/** Decades, with room at the ends where points need some. */
export function logarithmic(
  { low, high }: Extent,
  roomy: boolean,
  format: (value: number) => string,
  look: TickLook,
): Options {
  const margin = low === high ? 2 : roomy ? (high / low) ** 0.06 : 1;
  const [min, max] = [low / margin, high * margin];
  return {
    type: 'logarithmic',
    min,
    max,
    ticks: { ...look, maxTicksLimit: TICKS, maxRotation: 0, callback: (value) => logTick(Number(value), format) },
    afterBuildTicks: (axis) => {
      axis.ticks = logTicks(min, max).map((value) => ({ value }));
    },
  };
}

const TICKS = 8;

/**
 * The ticks of a logarithmic scale: over more than a decade 1, 2 and 5 times powers of ten, or these powers alone; over
 * less, even steps.
 */
export function logTicks(min: number, max: number): readonly number[] {
  const [from, to] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const powers = Array.from({ length: to - from + 1 }, (_, index) => Number(`1e${String(from + index)}`));
  const inside = (values: readonly number[]): readonly number[] =>
    values.filter((value) => value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9));
  if (max / min <= 10) {
    return inside(evenSteps(min, max));
  }
  const fine = inside(powers.flatMap((power) => [power, 2 * power, 5 * power]));
  if (fine.length <= TICKS) {
    return fine;
  }
  const coarse = inside(powers);
  const every = Math.ceil(coarse.length / TICKS);
  return coarse.filter((_, index) => index % every === 0);
}

/** About five multiples of 1, 2 or 5 times a power of ten. */
function evenSteps(min: number, max: number): readonly number[] {
  const rough = (max - min) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((nice) => nice * power >= rough) ?? 10) * power;
  const first = Math.ceil(min / step - 1e-9);
  const count = Math.max(0, Math.floor(max / step + 1e-9) - first + 1);
  return Array.from({ length: count }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** A small value that its chart would write as 0 is written in powers of ten. */
export function logTick(value: number, format: (value: number) => string): string {
  const words = format(value);
  return Number.parseFloat(words) === 0 && value !== 0 ? value.toExponential(0) : words;
}
