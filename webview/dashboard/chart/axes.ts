/** The horizontal axes of charts: training steps, or the cost of training so far. */

import type { ChartAxis } from '../../../src/shared/protocols/dashboardProtocol.ts';
import { count, duration } from '../../common/format.ts';

export interface AxisWords {
  /** Option in the dropdown. */
  readonly choice: string;
  /** Title under a chart. */
  readonly title: string;
  /** Title of a table column. */
  readonly column: string;
  /** Formats a value at a tick. */
  readonly tick: (value: number) => string;
  /** Formats a value in full. */
  readonly full: (value: number) => string;
}

/** Formats a number with at most three digits: 830, 12.3k, 1.2M. */
export function formatShortNumber(value: number): string {
  const [scale, unit] = value >= 999_500 ? [1e6, 'M'] : value >= 1000 ? [1e3, 'k'] : [1, ''];
  return `${Number((value / scale).toPrecision(3))}${unit}`;
}

export const AXIS_WORDS: Readonly<Record<ChartAxis, AxisWords>> = {
  step: { choice: 'Over steps', title: 'step', column: 'Step', tick: count, full: (value) => `step ${count(value)}` },
  tokens: {
    choice: 'Over tokens',
    title: 'training tokens so far',
    column: 'Tokens so far',
    tick: formatShortNumber,
    full: (value) => `${count(value)} tokens`,
  },
  calls: {
    choice: 'Over evaluator calls',
    title: 'evaluator calls in training so far',
    column: 'Calls so far',
    tick: formatShortNumber,
    full: (value) => `${count(value)} evaluator calls`,
  },
  time: {
    choice: 'Over training time',
    title: 'training time so far',
    column: 'Time so far',
    // Ticks of long times are at whole minutes or hours, so zero seconds and minutes are removed.
    tick: (value) => (value === 0 ? '0' : duration(value).replace(/(?:\.0(?= s)| 0 (?:s|min))$/u, '')),
    full: duration,
  },
};

/** True for each scale that is logarithmic. */
export interface LogScales {
  readonly x: boolean;
  readonly y: boolean;
}

export const SCALES = ['linear', 'x', 'y', 'xy'] as const;
export type Scale = (typeof SCALES)[number];
export const SCALE_WORDS: Readonly<Record<Scale, string>> = {
  linear: 'Linear axes',
  x: 'Logarithmic x',
  y: 'Logarithmic y',
  xy: 'Logarithmic x and y',
};
export const toLogScales = (scale: Scale): LogScales => ({
  x: scale === 'x' || scale === 'xy',
  y: scale === 'y' || scale === 'xy',
});
