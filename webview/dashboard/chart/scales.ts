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

/** The upright scale. */
export function linear({ low, high }: Extent, format: (value: number) => string, look: TickLook): Options {
  return {
    type: 'linear',
    suggestedMin: low,
    suggestedMax: high,
    ticks: {
      ...look,
      maxTicksLimit: 5,
      callback: (_, index, ticks) => tickWords(ticks.map(({ value }) => value).map(format))[index] ?? '',
    },
  };
}

/** The words of ticks without the last zeros that all of them have: 0.0, 0.1 and 0.2 for 0.0000, 0.1000 and 0.2000. */
export function tickWords(written: readonly string[]): readonly string[] {
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

/** The level scale, with ticks between the first point and the last, or about a point that is alone. */
export function levelScale(
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
      scale.ticks = levelTicks(from, to, axis, scale.width).map((value) => ({ value }));
    },
  };
}

/** About what the words of a tick take with the room beside them, in pixels. */
const TICK_ROOM = { number: 40, time: 64 };

/**
 * The ticks of a level scale, as many as have room. Steps, calls and tokens are whole: a tick between two of them would
 * have the name of one. Times are at whole minutes or hours where they are that long.
 */
export function levelTicks(low: number, high: number, axis: ChartAxis, width: number): readonly number[] {
  const room = axis === 'time' ? TICK_ROOM.time : TICK_ROOM.number;
  const most = Math.max(2, Math.min(TICKS, Math.floor(width / room)));
  const rough = (high - low) / (most - 1);
  const clock = axis === 'time' && rough > 1 ? CLOCK.find((step) => step >= rough) : undefined;
  const step = clock ?? roundStep(rough);
  return multiples(low, high, axis === 'time' ? step : Math.max(1, step));
}

/** Steps of seconds, minutes and hours. */
const CLOCK: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => 60 * minutes),
  ...[1, 2, 4, 6, 12, 24].map((hours) => 3600 * hours),
];

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

/** About five multiples of a round step. */
const evenSteps = (min: number, max: number): readonly number[] => multiples(min, max, roundStep((max - min) / 4));

/** The least step of 1, 2 or 5 times a power of ten that is not below another. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((nice) => nice * power >= rough) ?? 10) * power;
}

function multiples(min: number, max: number, step: number): readonly number[] {
  const first = Math.ceil(min / step - 1e-9);
  const count = Math.max(0, Math.floor(max / step + 1e-9) - first + 1);
  return Array.from({ length: count }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** A small value that its chart would write as 0 is written in powers of ten. */
export function logTick(value: number, format: (value: number) => string): string {
  const words = format(value);
  return Number.parseFloat(words) === 0 && value !== 0 ? value.toExponential(0) : words;
}
