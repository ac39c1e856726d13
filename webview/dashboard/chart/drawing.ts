/** Draws what chart.js does not: boxes, whiskers, the front, labels, and the active point. */

import type { Chart } from 'chart.js';
import { readThemeValue } from '../../common/theme.ts';
import type { Line, LinePoint } from './lines.ts';
import { chooseLook } from './looks.ts';

/** A line with its drawn points. */
export interface DrawnLine {
  readonly line: Line;
  readonly points: readonly LinePoint[];
  /** Means over steps, which replace the points; null to draw the points themselves. */
  readonly means: readonly { readonly x: number; readonly y: number }[] | null;
  /** Shift of the points to the side, in units of x. It separates points of several lines at the same x. */
  readonly shift: number;
}

export interface Scene {
  readonly lines: readonly DrawnLine[];
  readonly boxes: boolean;
}

type LineCanvas = Chart<'line', { x: number; y: number }[]>;

const LABEL_HEIGHT = 12;
/** Pixels between the end of a line and its label. */
export const LABEL_GAP = 8;
/** Pixels by which a label is above its point if the front runs to the right of it. */
const ABOVE_FRONT = 8;
const BOX_WIDEST = 14;

/** Draws everything behind the points. */
export function drawBehind(chart: LineCanvas, { lines, boxes }: Scene): void {
  const { ctx } = chart;
  ctx.save();
  clip(chart);
  for (const drawn of lines) {
    if (drawn.line.front !== undefined) {
      drawFront(chart, drawn.line.front);
    }
    if (boxes) {
      drawBoxes(chart, drawn);
    } else {
      for (const point of drawn.points) {
        drawWhisker(chart, drawn, point);
      }
    }
  }
  ctx.restore();
}

/** Draws everything in front of the points. */
export function drawBefore(
  chart: LineCanvas,
  { lines }: Scene,
  active: { readonly point: LinePoint; readonly shift: number } | null,
): void {
  const { ctx, chartArea } = chart;
  ctx.save();
  if (active !== null) {
    const { left, top } = findPixel(chart, active.point, active.shift);
    ctx.strokeStyle = readThemeValue('--vscode-foreground');
    ctx.lineWidth = 1;
    ctx.globalAlpha = 0.5;
    stroke(ctx, [
      [Math.round(left) + 0.5, chartArea.top],
      [Math.round(left) + 0.5, chartArea.bottom],
    ]);
    ctx.globalAlpha = 1;
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.arc(left, top, 5, 0, 2 * Math.PI);
    ctx.stroke();
  }
  drawLabels(chart, lines);
  ctx.restore();
}

/** Returns the position of a point on the canvas in pixels. */
export function findPixel(
  chart: LineCanvas,
  point: Pick<LinePoint, 'x' | 'y'>,
  shift = 0,
): { readonly left: number; readonly top: number } {
  return { left: toPixelX(chart, point.x + shift), top: toPixelY(chart, point.y) };
}

const toPixelX = (chart: LineCanvas, value: number): number => chart.scales['x']?.getPixelForValue(value) ?? 0;
const toPixelY = (chart: LineCanvas, value: number): number => chart.scales['y']?.getPixelForValue(value) ?? 0;

function clip({ ctx, chartArea: { left, top, width, height } }: LineCanvas): void {
  ctx.beginPath();
  ctx.rect(left - 8, top - 8, width + 16, height + 16);
  ctx.clip();
}

function stroke(ctx: CanvasRenderingContext2D, path: readonly (readonly [number, number])[]): void {
  ctx.beginPath();
  path.forEach(([x, y], index) => {
    if (index === 0) {
      ctx.moveTo(x, y);
    } else {
      ctx.lineTo(x, y);
    }
  });
  ctx.stroke();
}

function drawFront(chart: LineCanvas, front: readonly { readonly x: number; readonly y: number }[]): void {
  const { ctx, chartArea } = chart;
  const path: [number, number][] = [];
  for (const { x, y } of front) {
    const before = path.at(-1);
    if (before !== undefined) {
      path.push([toPixelX(chart, x), before[1]]);
    }
    path.push([toPixelX(chart, x), toPixelY(chart, y)]);
  }
  const last = path.at(-1);
  if (last === undefined) {
    return;
  }
  path.push([chartArea.right, last[1]]);
  ctx.strokeStyle = readThemeValue('--vscode-foreground');
  ctx.lineWidth = 1;
  ctx.setLineDash([1, 3]);
  stroke(ctx, path);
  ctx.setLineDash([]);
}

function drawWhisker(chart: LineCanvas, { line, shift }: DrawnLine, point: LinePoint): void {
  if (point.low === null || point.high === null) {
    return;
  }
  const { ctx } = chart;
  const x = toPixelX(chart, point.x + shift);
  const [low, high] = [toPixelY(chart, point.low), toPixelY(chart, point.high)];
  ctx.strokeStyle = readThemeValue(chooseLook(point.look ?? line.look).colour);
  ctx.lineWidth = 1;
  stroke(ctx, [
    [x, low],
    [x, high],
  ]);
  for (const end of [low, high]) {
    stroke(ctx, [
      [x - 3, end],
      [x + 3, end],
    ]);
  }
}

function drawBoxes(chart: LineCanvas, { line, points }: DrawnLine): void {
  const { ctx } = chart;
  const [first, second] = [points[0], points[1]];
  const apart =
    first === undefined || second === undefined ? BOX_WIDEST * 2 : toPixelX(chart, second.x) - toPixelX(chart, first.x);
  const half = Math.max(1, Math.min(BOX_WIDEST, 0.6 * apart) / 2);
  ctx.lineWidth = 1;
  for (const { x: value, box, look } of points) {
    if (box === null) {
      continue;
    }
    const colour = readThemeValue(chooseLook(look ?? line.look).colour);
    ctx.strokeStyle = colour;
    const x = toPixelX(chart, value);
    const [low, lower, middle, upper, high] = [box.low, box.lower, box.middle, box.upper, box.high].map((each) =>
      toPixelY(chart, each),
    );
    if (low === undefined || lower === undefined || middle === undefined || upper === undefined || high === undefined) {
      continue;
    }
    stroke(ctx, [
      [x, low],
      [x, lower],
    ]);
    stroke(ctx, [
      [x, upper],
      [x, high],
    ]);
    ctx.globalAlpha = 0.25;
    ctx.fillStyle = colour;
    ctx.fillRect(x - half, upper, 2 * half, lower - upper);
    ctx.globalAlpha = 1;
    ctx.strokeRect(x - half, upper, 2 * half, lower - upper);
    ctx.lineWidth = 2;
    stroke(ctx, [
      [x - half, middle],
      [x + half, middle],
    ]);
    ctx.lineWidth = 1;
  }
}

/** Draws labels at the ends of lines. Moves them apart if they would overlap. */
function drawLabels(chart: LineCanvas, lines: readonly DrawnLine[]): void {
  const { ctx, chartArea } = chart;
  ctx.font = `600 11px ${readThemeValue('--vscode-font-family')}`;
  ctx.textBaseline = 'middle';
  const ends = lines
    .flatMap(({ line, points, means, shift }) => {
      const last = (means ?? points).at(-1);
      return last === undefined || !line.joined || line.label === ''
        ? []
        : [{ text: line.label, look: line.look, ...findPixel(chart, last, shift) }];
    })
    .sort((a, b) => a.top - b.top);
  const written: { readonly x: number; readonly y: number }[] = [];
  for (const { text, look, left, top } of ends.length < 2 ? [] : ends) {
    const x = Math.min(left + LABEL_GAP, chartArea.right + LABEL_GAP);
    const y = Math.max(
      top,
      ...written.filter((other) => Math.abs(other.x - x) < LABEL_HEIGHT).map((other) => other.y + LABEL_HEIGHT),
    );
    written.push({ x, y });
    writeLabel(chart, text, look, x, y);
  }
  drawPointLabels(chart, lines);
}

/**
 * Draws labels beside single points. Labels of shown runs are moved down if they would overlap others.
 * Other labels are left out if there is no room.
 */
function drawPointLabels(chart: LineCanvas, lines: readonly DrawnLine[]): void {
  const { ctx } = chart;
  const labelled = lines.flatMap(({ line, points }) =>
    points.flatMap((point) => {
      if (point.label === undefined || point.label === '') {
        return [];
      }
      const { left, top } = findPixel(chart, point);
      const above = line.front === undefined ? 0 : ABOVE_FRONT;
      return [{ look: point.look ?? line.look, text: point.label, left, top: Math.max(LABEL_HEIGHT / 2, top - above) }];
    }),
  );
  const shown = labelled.filter(({ look }) => look >= 0).sort((a, b) => a.top - b.top);
  const taken: { readonly start: number; readonly end: number; readonly y: number }[] = [];
  for (const { look, text, left, top } of [...shown, ...labelled.filter((label) => label.look < 0)]) {
    const width = ctx.measureText(text).width;
    const start = left + 9 + width <= chart.width ? left + 9 : left - 9 - width;
    const met = taken.filter(
      (other) => other.start < start + width && start < other.end && Math.abs(other.y - top) < LABEL_HEIGHT,
    );
    if (met.length > 0 && look < 0) {
      continue;
    }
    const y = Math.max(top, ...met.map((other) => other.y + LABEL_HEIGHT));
    taken.push({ start, end: start + width, y });
    writeLabel(chart, text, look, start, y);
  }
}

/** Draws a label in the color of its line, outlined so that no line strikes it out. */
function writeLabel({ ctx }: LineCanvas, text: string, look: number, x: number, y: number): void {
  ctx.save();
  ctx.textAlign = 'left';
  ctx.lineJoin = 'round';
  ctx.lineWidth = 4;
  ctx.setLineDash([]);
  ctx.strokeStyle = readThemeValue('--vscode-editor-background');
  ctx.strokeText(text, x, y);
  ctx.fillStyle = readThemeValue(chooseLook(look).colour);
  ctx.fillText(text, x, y);
  ctx.restore();
}
