/** The outcomes of a problem over a run, as a small line: rings for evaluations, points for training steps. */
import { roundTitle } from '../../src/domain/evaluation.ts';
import type { ProblemRound } from '../../src/domain/problem.ts';
import { outcomeOf, type ReturnScale } from '../../src/shared/credit/returns.ts';
import { setAttributes, type Attributes } from '../common/dom.ts';
import { count, returnText } from '../common/format.ts';

const SVG = 'http://www.w3.org/2000/svg';
/** Pixels of a line, and of its column. */
export const SPARK_WIDTH = 64;
const HEIGHT = 16;
const PAD = 4;
/** Rounds named in the words of a line; of more, the first and the last. */
const NAMED = 12;

const SPARK_CLASSES = { won: 'spark-high', between: '', failed: 'spark-low' } as const;

export interface SparkPoint {
  readonly x: number;
  readonly y: number;
  readonly phase: ProblemRound['phase'];
  readonly mean: number;
}

/**
 * Where the rounds with a score are, from left to right in the order of time, from the least to the highest return;
 * 0 to 1 where these are not known, and wider where returns leave it.
 */
export function sparkPoints(rounds: readonly ProblemRound[], scale: ReturnScale | null): readonly SparkPoint[] {
  const known = rounds.flatMap(({ phase, mean }) => (mean === null ? [] : [{ phase, mean }]));
  const low = known.reduce((least, { mean }) => Math.min(least, mean), scale?.low ?? 0);
  const high = known.reduce((most, { mean }) => Math.max(most, mean), scale?.high ?? 1);
  const step = known.length < 2 ? 0 : (SPARK_WIDTH - 2 * PAD) / (known.length - 1);
  return known.map(({ phase, mean }, index) => ({
    phase,
    mean,
    x: known.length === 1 ? SPARK_WIDTH / 2 : PAD + index * step,
    y: PAD + ((HEIGHT - 2 * PAD) * (high - mean)) / (high - low),
  }));
}

/** The line as an image without words; `sparklineText` says the same. */
export function sparkline(rounds: readonly ProblemRound[], scale: ReturnScale | null): SVGSVGElement {
  const points = sparkPoints(rounds, scale);
  const svg = shape('svg', {
    viewBox: `0 0 ${SPARK_WIDTH} ${HEIGHT}`,
    width: SPARK_WIDTH,
    height: HEIGHT,
    class: 'sparkline',
    'aria-hidden': 'true',
    focusable: 'false',
  });
  svg.append(
    shape('line', { class: 'spark-floor', x1: 0, x2: SPARK_WIDTH, y1: HEIGHT - PAD + 0.5, y2: HEIGHT - PAD + 0.5 }),
  );
  if (points.length > 1) {
    svg.append(
      shape('polyline', {
        class: 'spark-line',
        points: points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' '),
        fill: 'none',
      }),
    );
  }
  const dense = points.length > 24;
  points.forEach(({ x, y, phase, mean }, index) => {
    if (dense && phase === 'train' && index !== points.length - 1) {
      return;
    }
    svg.append(
      shape('circle', {
        class: `spark-${phase === 'evaluate' ? 'ring' : 'point'} ${SPARK_CLASSES[outcomeOf(mean, scale)]}`,
        cx: x.toFixed(1),
        cy: y.toFixed(1),
        r: phase === 'evaluate' ? 2.6 : 1.8,
      }),
    );
  });
  return svg;
}

/** The rounds in words. */
export function sparklineText(rounds: readonly ProblemRound[]): string {
  if (rounds.length === 0) {
    return 'no outcome yet';
  }
  const words = rounds.map(
    ({ phase, iteration, mean, episodes }) =>
      `${roundTitle(phase, iteration)}: ${mean === null ? 'masked' : returnText(mean)}${episodes > 1 ? ` (${count(episodes)})` : ''}`,
  );
  if (words.length <= NAMED) {
    return words.join('\n');
  }
  return [...words.slice(0, NAMED / 2), `and ${count(words.length - NAMED)} more`, ...words.slice(-NAMED / 2)].join(
    '\n',
  );
}

function shape<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  return element;
}
