/**
 * Draws lines with chart.js, reduced to as many points as can be distinguished. Lookups by position
 * use all points.
 */

import {
  Chart,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  type ChartConfiguration,
  type ChartDataset,
} from 'chart.js';
import type { ChartAxis } from '../../../src/shared/protocols/dashboardProtocol.ts';
import { h } from '../../common/dom.ts';
import { readThemeValue } from '../../common/theme.ts';
import type { FigureSpec } from '../figures.ts';
import type { LogScales } from './axes.ts';
import { drawBefore, drawBehind, LABEL_GAP, findPixel, type Scene } from './drawing.ts';
import { findExtent, nearestIndex, pointAt, type Line, type LinePoint, type Place } from './lines.ts';
import { chooseLook } from './looks.ts';
import { makeHorizontalScale, makeLinearScale, makeLogScale } from './scales.ts';
import { computeTrailingMeans, chooseWindow, type Smoothing } from './smoothing.ts';

Chart.register(LinearScale, LineController, LineElement, LogarithmicScale, PointElement);

type Data = { x: number; y: number }[];

/** Largest numbers of points drawn of a line, of boxes of a chart, and of markers on a long line. */
const POINTS_DRAWN = 240;
const BOXES_DRAWN = 40;
const MARKERS_DRAWN = 12;
/** Approximate width of a character of a label in pixels. */
const LETTER = 7.5;
/** Largest distance in pixels between the pointer and a point that it activates. */
const REACH = 60;

/** Settings of the drawing, the same for all figures. */
export interface Drawn {
  readonly smoothing: Smoothing;
  readonly axis: ChartAxis;
  readonly scales: LogScales;
}

export class Plot {
  readonly element: HTMLElement;
  private readonly spec: FigureSpec;
  private readonly chart: Chart<'line', Data>;
  private lines: readonly Line[] = [];
  private scene: Scene = { lines: [], boxes: false };
  private drawn: Pick<Drawn, 'axis' | 'scales'> = { axis: 'step', scales: { x: false, y: false } };
  private active: Place | null = null;

  constructor(spec: FigureSpec) {
    this.spec = spec;
    const canvas = h('canvas', { 'aria-hidden': 'true' });
    this.element = h('div', { class: 'chart-canvas' }, canvas);
    this.chart = new Chart<'line', Data>(canvas, this.configuration());
  }

  /** Returns the number of steps over which means are drawn, or null if every step is drawn as it is. */
  smoothed(lines: readonly Line[], smoothing: Smoothing): number | null {
    return this.spec.smooth ? chooseWindow(smoothing, Math.max(0, ...lines.map(({ points }) => points.length))) : null;
  }

  draw(lines: readonly Line[], drawn: Drawn): void {
    this.lines = lines;
    this.drawn = drawn;
    if (pointAt(lines, this.active) === null) {
      this.active = null;
    }
    this.scene = buildScene(this.spec, lines, this.smoothed(lines, drawn.smoothing), drawn.scales.x);
    const fresh = this.configuration();
    this.chart.data = fresh.data;
    this.chart.options = fresh.options ?? {};
    this.chart.update('none');
  }

  /** Marks a point, or no point. */
  look(place: Place | null): void {
    this.active = place;
    this.chart.draw();
  }

  /** Returns the point nearest to a position on the canvas, even if not drawn, or null. */
  nearest(left: number, top: number): Place | null {
    const value = this.chart.scales['x']?.getValueForPixel(left) ?? 0;
    let best: Place | null = null;
    let least = REACH;
    for (const [line, { points, joined }] of this.lines.entries()) {
      // Points that are not joined can be above each other, so each of them is checked.
      for (const index of joined ? [nearestIndex(points, value)] : points.keys()) {
        const at = this.placeOf({ line, index });
        if (at === null) {
          continue;
        }
        // On joined lines, horizontal distance counts more than vertical distance.
        const distance = Math.hypot(at.left - left, (at.top - top) * (joined ? 0.25 : 1));
        if (distance >= least) {
          continue;
        }
        best = { line, index };
        least = distance;
      }
    }
    return best;
  }

  /** Returns the position of a point on the canvas. */
  placeOf(place: Place): { readonly left: number; readonly top: number } | null {
    const point = pointAt(this.lines, place);
    return point === null ? null : findPixel(this.chart, point, this.scene.lines[place.line]?.shift ?? 0);
  }

  /** Calls `take` with the canvas, drawn larger and without the mark of the active point. */
  picture(scale: number, take: (canvas: HTMLCanvasElement, width: number, height: number) => void): void {
    const { active } = this;
    this.active = null;
    this.resize(scale);
    take(this.chart.canvas, this.chart.width, this.chart.height);
    this.active = active;
    this.resize(window.devicePixelRatio);
  }

  private resize(ratio: number): void {
    this.chart.options.devicePixelRatio = ratio;
    this.chart.resize();
    this.chart.draw();
  }

  /** Returns the length of the longest label at the end of a line. */
  private longestLabel(): number {
    return Math.max(0, ...this.lines.map(({ label, joined }) => (joined ? label.length : 0)));
  }

  private activePoint(): { readonly point: LinePoint; readonly shift: number } | null {
    const point = pointAt(this.lines, this.active);
    return point === null || this.active === null
      ? null
      : { point, shift: this.scene.lines[this.active.line]?.shift ?? 0 };
  }

  private configuration(): ChartConfiguration<'line', Data> {
    const {
      spec,
      scene,
      drawn: { axis, scales },
    } = this;
    const level = spec.x(axis);
    const text = readThemeValue('--vscode-descriptionForeground');
    const grid = readThemeValue('--vscode-editorIndentGuide-background1');
    const font = { family: readThemeValue('--vscode-font-family'), size: 11 };
    const xs = findExtent(this.lines, ({ x }) => [x]) ?? { low: 0, high: 1 };
    const always = scales.y ? spec.always.filter((value) => value > 0) : spec.always;
    const ys = findExtent(
      this.lines,
      ({ y, low, high, box }) => [
        y,
        low,
        high,
        ...(box === null ? [] : scene.boxes ? [box.low, box.high] : [box.lower, box.upper]),
      ],
      always,
    ) ?? { low: 0, high: 1 };
    // Boxes, shifted points and points that are not joined need room at the sides.
    const roomy = scene.lines.some(({ line, shift }) => shift !== 0 || !line.joined);
    const apart = this.lines.flatMap(({ points }) => points).length;
    const half = scene.boxes ? (axis === 'step' ? 0.6 : (0.6 * (xs.high - xs.low)) / Math.max(1, apart)) : 0;
    const alone = xs.low === xs.high;
    const margin = alone ? Math.max(0.6, 0.2 * xs.low) : scene.boxes ? half : roomy ? 0.06 * (xs.high - xs.low) : 0;
    const look = { color: text, font };
    const labelled = this.lines.length > 1;
    return {
      type: 'line',
      data: { datasets: scene.lines.flatMap((drawn) => buildDatasets(drawn, scene)) },
      options: {
        animation: false,
        maintainAspectRatio: false,
        events: [],
        layout: { padding: { top: 6, right: labelled ? Math.max(18, LABEL_GAP + LETTER * this.longestLabel()) : 6 } },
        scales: {
          x: {
            ...(scales.x
              ? makeLogScale(xs, roomy || scene.boxes, level.format, look)
              : makeHorizontalScale(xs, margin, axis, level.format, look)),
            title: { display: true, text: level.title, color: text, font },
            grid: { display: false },
            border: { color: grid },
          },
          y: {
            ...(scales.y ? makeLogScale(ys, false, spec.formatY, look) : makeLinearScale(ys, spec.formatY, look)),
            title: { display: true, text: spec.yAxis, color: text, font },
            grid: { color: grid, lineWidth: 0.5 },
            border: { display: false },
          },
        },
      },
      plugins: [
        {
          id: 'c3',
          beforeDatasetsDraw: (chart) => drawBehind(chart as Chart<'line', Data>, this.scene),
          afterDatasetsDraw: (chart) => drawBefore(chart as Chart<'line', Data>, this.scene, this.activePoint()),
        },
      ],
    };
  }
}

function buildScene(spec: FigureSpec, lines: readonly Line[], size: number | null, logX: boolean): Scene {
  const drawn = lines.filter(({ points }) => points.length > 0);
  const boxes = spec.boxes && drawn.length === 1;
  const xs = findExtent(lines, ({ x }) => [x]);
  const width = xs === null ? 0 : xs.high - xs.low;
  return {
    boxes,
    lines: lines.map((line, index) => {
      const { points, joined } = line;
      const kept = boxes
        ? spaceEvenly(points.length, BOXES_DRAWN)
        : joined
          ? decimate(
              points.map(({ y }) => y),
              POINTS_DRAWN,
            )
          : points.map((_, place) => place);
      const intervals = joined && points.some(({ low }) => low !== null);
      // Medians of several runs have their quartiles as whiskers, on as many points as there are markers.
      const whiskers = spec.boxes && !boxes ? new Set(spaceEvenly(kept.length, MARKERS_DRAWN)) : null;
      return {
        line,
        means: size === null ? null : computeMeans(points, size),
        // On a logarithmic axis, the same shift would be too small or too large at most points.
        shift: intervals && drawn.length > 1 && !logX ? (index - (lines.length - 1) / 2) * 0.014 * width : 0,
        points: kept.flatMap((place, order) => {
          const point = points[place];
          if (point === undefined) {
            return [];
          }
          return whiskers?.has(order) === true && point.box !== null
            ? [{ ...point, low: point.box.lower, high: point.box.upper }]
            : [point];
        }),
      };
    }),
  };
}

function computeMeans(points: readonly LinePoint[], size: number): Data {
  const means = computeTrailingMeans(
    points.map(({ y }) => y),
    size,
  );
  return decimate(means, POINTS_DRAWN).map((index) => ({ x: points[index]?.x ?? 0, y: means[index] ?? 0 }));
}

/**
 * Returns the datasets of a line: its points, or its means. The faint points behind means are left out
 * if there are other lines, which they would hide.
 */
function buildDatasets(drawn: Scene['lines'][number], { boxes, lines }: Scene): ChartDataset<'line', Data>[] {
  const { line, points, means, shift } = drawn;
  const look = chooseLook(line.look);
  const colour = readThemeValue(look.colour);
  const alone = lines.filter((other) => other.points.length > 0).length < 2;
  const markers = (length: number): ReadonlySet<number> =>
    new Set(spaceEvenly(length, length > 60 ? (alone ? 1 : MARKERS_DRAWN) : Math.max(1, length)));
  const common = {
    borderColor: colour,
    borderWidth: 1.5,
    borderDash: [...look.dashes],
    borderJoinStyle: 'round' as const,
    tension: 0,
    clip: 8,
    showLine: line.joined && !boxes,
    ...(line.stepped === true && { stepped: 'middle' as const }),
  };
  if (means !== null) {
    const marked = markers(means.length);
    const mean = {
      ...common,
      data: [...means],
      pointStyle: look.marker,
      pointBackgroundColor: colour,
      pointBorderColor: colour,
      pointRadius: means.map((_, index) => (marked.has(index) ? 2.5 : 0)),
    };
    const faint = `color-mix(in srgb, ${colour} 28%, transparent)`;
    return alone
      ? [
          { ...common, borderWidth: 1, borderColor: faint, data: points.map(({ x, y }) => ({ x, y })), pointRadius: 0 },
          mean,
        ]
      : [mean];
  }
  const marked = markers(points.length);
  const own = points.map((point) => chooseLook(point.look ?? line.look));
  const colours = own.map((each) => (each === look ? colour : readThemeValue(each.colour)));
  return [
    {
      ...common,
      data: points.map(({ x, y }) => ({ x: x + shift, y })),
      pointRadius: points.map((point, index) =>
        boxes || (line.joined && !marked.has(index)) ? 0 : point.look !== undefined && point.look >= 0 ? 5 : 2.5,
      ),
      pointStyle: own.map(({ marker }) => marker),
      pointBackgroundColor: colours,
      pointBorderColor: colours,
    },
  ];
}

/**
 * Returns the indices of at most `most` values, in order: the first, the last, and the lowest and the
 * highest of each stretch between, so that no peak is lost. Returns all indices if they are few
 * enough. For drawings only, never for tables or copies.
 */
export function decimate(values: readonly number[], most: number): readonly number[] {
  if (values.length <= most || most < 4) {
    return values.map((_, index) => index).slice(0, values.length <= most ? undefined : Math.max(0, most));
  }
  const stretches = Math.floor((most - 2) / 2);
  const kept = new Set([0, values.length - 1]);
  const inner = values.length - 2;
  for (let stretch = 0; stretch < stretches; stretch++) {
    const from = 1 + Math.floor((stretch * inner) / stretches);
    const to = 1 + Math.floor(((stretch + 1) * inner) / stretches);
    let low = from;
    let high = from;
    for (let index = from; index < to; index++) {
      if ((values[index] ?? 0) < (values[low] ?? 0)) {
        low = index;
      }
      if ((values[index] ?? 0) > (values[high] ?? 0)) {
        high = index;
      }
    }
    kept.add(low).add(high);
  }
  return [...kept].sort((a, b) => a - b);
}

/** Returns at most `most` of the indices below `length`, evenly spaced, including the last. */
export function spaceEvenly(length: number, most: number): readonly number[] {
  const stride = Math.max(1, Math.ceil(length / most));
  return Array.from({ length: Math.ceil(length / stride) }, (_, index) => length - 1 - index * stride).reverse();
}
