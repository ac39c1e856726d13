/** The options of linear and logarithmic scales for chart.js. */

import type { ScaleOptionsByType } from 'chart.js';
import type { ChartAxis } from '../../../src/shared/protocols/dashboardProtocol.ts';

/** The options of a scale that are set here. */
type Options = { type: 'linear' | 'logarithmic' } & Pick<
  Partial<ScaleOptionsByType<'linear'>>,
  'min' | 'max' | 'suggestedMin' | 'suggestedMax'
> & {
    ticks: {
      color: string;
      font: { family: string; size: number };
      maxTicksLimit: number;
      maxRotation?: number;
      callback: (value: number | string, index: number, ticks: readonly { value: number }[]) => string;
    };
    afterBuildTicks?: (axis: { ticks: { value: number }[]; width: number }) => void;
  };

export interface TickLook {
  readonly color: string;
  readonly font: { readonly family: string; readonly size: number };
}

interface Extent {
  readonly low: number;
  readonly high: number;
}

/** Returns a linear vertical scale. */
export function makeLinearScale({ low, high }: Extent, format: (value: number) => string, look: TickLook): Options {
  return {
    type: 'linear',
    suggestedMin: low,
    suggestedMax: high,
    ticks: {
      ...look,
      maxTicksLimit: 5,
      callback: (_, index, ticks) => trimTickZeros(ticks.map(({ value }) => value).map(format))[index] ?? '',
    },
  };
}

/** Removes the trailing zeros that all labels share: 0.0, 0.1 and 0.2 for 0.0000, 0.1000 and 0.2000. */
export function trimTickZeros(written: readonly string[]): readonly string[] {
  const parts = written.map((words) => /^([^.]*)\.(\d+)(\D*)$/u.exec(words));
  if (parts.includes(null)) {
    return written;
  }
  const kept = Math.max(...parts.map((part) => (part?.[2] ?? '').replace(/0+$/u, '').length));
  return parts.map((part) => {
    const [, whole = '', digits = '', unit = ''] = part ?? [];
    return `${whole}${kept === 0 ? '' : `.${digits.slice(0, kept)}`}${unit}`;
  });
}

/** Returns a linear horizontal scale with ticks between the outer points or around a single one. */
export function makeHorizontalScale(
  { low, high }: Extent,
  margin: number,
  axis: ChartAxis,
  format: (value: number) => string,
  look: TickLook,
): Options {
  const [min, max] = [low - margin, high + margin];
  const [from, to] = low === high ? [min, max] : [low, high];
  return {
    type: 'linear',
    min,
    max,
    ticks: { ...look, maxTicksLimit: TICKS, maxRotation: 0, callback: (value) => format(Number(value)) },
    afterBuildTicks: (scale) => {
      scale.ticks = computeTicks(from, to, axis, scale.width).map((value) => ({ value }));
    },
  };
}

/** Approximate width of a tick label with the space beside it, in pixels. */
const TICK_ROOM = { number: 40, time: 64 };

/**
 * Returns the ticks of a horizontal scale, as many as there is room for. Ticks of steps, calls and
 * tokens are whole numbers, because labels are. Ticks of long times are at whole minutes or hours.
 */
export function computeTicks(low: number, high: number, axis: ChartAxis, width: number): readonly number[] {
  const room = axis === 'time' ? TICK_ROOM.time : TICK_ROOM.number;
  const most = Math.max(2, Math.min(TICKS, Math.floor(width / room)));
  const rough = (high - low) / (most - 1);
  const clock = axis === 'time' && rough > 1 ? CLOCK.find((step) => step >= rough) : undefined;
  const step = clock ?? roundStep(rough);
  return listMultiples(low, high, axis === 'time' ? step : Math.max(1, step));
}

/** Distances of ticks in seconds: round numbers of seconds, minutes and hours. */
const CLOCK: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => 60 * minutes),
  ...[1, 2, 4, 6, 12, 24].map((hours) => 3600 * hours),
];

/** Returns a logarithmic scale. @param roomy true to leave room at the ends */
export function makeLogScale(
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
    ticks: { ...look, maxTicksLimit: TICKS, maxRotation: 0, callback: (value) => formatLogTick(Number(value), format) },
    afterBuildTicks: (axis) => {
      axis.ticks = computeLogTicks(min, max).map((value) => ({ value }));
    },
  };
}

const TICKS = 8;

/**
 * Returns the ticks of a logarithmic scale: 1, 2 and 5 times powers of ten, or only powers of ten if
 * those are too many. Ticks within a decade are evenly spaced.
 */
export function computeLogTicks(min: number, max: number): readonly number[] {
  const [from, to] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const powers = Array.from({ length: to - from + 1 }, (_, index) => Number(`1e${from + index}`));
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

/** Returns about five multiples of a round step. */
const evenSteps = (min: number, max: number): readonly number[] => listMultiples(min, max, roundStep((max - min) / 4));

/** Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `rough`. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((nice) => nice * power >= rough) ?? 10) * power;
}

function listMultiples(min: number, max: number, step: number): readonly number[] {
  const first = Math.ceil(min / step - 1e-9);
  const count = Math.max(0, Math.floor(max / step + 1e-9) - first + 1);
  return Array.from({ length: count }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Formats a tick. A small value that the format would show as 0 is in scientific notation. */
export function formatLogTick(value: number, format: (value: number) => string): string {
  const words = format(value);
  return Number.parseFloat(words) === 0 && value !== 0 ? value.toExponential(0) : words;
}
