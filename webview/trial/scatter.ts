/** The scatter plot of mean returns of problems with the change against those without it. */

import type { TrialProblem } from '../../src/domain/trial.ts';
import { svg, type Attributes } from '../common/dom.ts';
import { plural, formatReturnValue } from '../common/format.ts';

const SIZE = 240;
const PAD = { left: 48, right: 12, top: 12, bottom: 44 } as const;
/** Smallest and largest radius of a point. */
const RADIUS = { least: 3.5, most: 10 } as const;

/** A point: problems with the same two returns. */
export interface ScatterPoint {
  readonly before: number;
  readonly after: number;
  readonly problems: number;
}

/** Groups problems by their two returns, the largest points first so that none hides another. */
export function groupScatterPoints(problems: readonly TrialProblem[]): readonly ScatterPoint[] {
  const points = new Map<string, ScatterPoint>();
  for (const { before, after } of problems) {
    const key = `${before} ${after}`;
    points.set(key, { before, after, problems: (points.get(key)?.problems ?? 0) + 1 });
  }
  return [...points.values()].sort((a, b) => b.problems - a.problems);
}

/** Draws the plot. @param most the highest possible return */
export function drawScatter(problems: readonly TrialProblem[], most: number): SVGSVGElement {
  const points = groupScatterPoints(problems);
  const values = points.flatMap(({ before, after }) => [before, after]);
  const [low, high] = [Math.min(0, ...values), Math.max(most, ...values)];
  const inner = { width: SIZE - PAD.left - PAD.right, height: SIZE - PAD.top - PAD.bottom };
  const x = (value: number): number => PAD.left + (inner.width * (value - low)) / (high - low);
  const y = (value: number): number => PAD.top + (inner.height * (high - value)) / (high - low);
  const largest = Math.max(1, ...points.map((point) => point.problems));
  const drawing = svg('svg', {
    viewBox: `0 0 ${SIZE} ${SIZE}`,
    class: 'scatter',
    role: 'img',
    'aria-label': 'Mean return of each problem, with the change over without it; the table has the numbers',
  });
  drawing.append(
    svg('rect', { class: 'scatter-frame', x: PAD.left, y: PAD.top, width: inner.width, height: inner.height }),
    svg('line', { class: 'scatter-equal', x1: x(low), y1: y(low), x2: x(high), y2: y(high) }),
    ...[low, high].flatMap((value) => [
      createScatterText(formatReturnValue(value), { x: x(value), y: SIZE - PAD.bottom + 20, 'text-anchor': 'middle' }),
      createScatterText(formatReturnValue(value), { x: PAD.left - 13, y: y(value) + 4, 'text-anchor': 'end' }),
    ]),
    createScatterText('return without the change', {
      x: PAD.left + inner.width / 2,
      y: SIZE - 6,
      'text-anchor': 'middle',
    }),
    createScatterText('with it', {
      x: -(PAD.top + inner.height / 2),
      y: 14,
      'text-anchor': 'middle',
      transform: 'rotate(-90)',
    }),
    ...points.map(({ before, after, problems: many }) => {
      const tone = after > before ? 'better' : after < before ? 'worse' : 'same';
      const radius = RADIUS.least + (RADIUS.most - RADIUS.least) * Math.sqrt((many - 1) / largest);
      const circle = svg('circle', {
        class: `scatter-point scatter-${tone}`,
        cx: x(before).toFixed(1),
        cy: y(after).toFixed(1),
        r: radius.toFixed(1),
      });
      const title = svg('title', {});
      title.textContent = `${plural(many, 'problem')}: ${formatReturnValue(before)} without, ${formatReturnValue(after)} with the change`;
      circle.append(title);
      return circle;
    }),
  );
  return drawing;
}

function createScatterText(text: string, attributes: Attributes): SVGTextElement {
  const element = svg('text', { class: 'scatter-words', ...attributes });
  element.textContent = text;
  return element;
}
