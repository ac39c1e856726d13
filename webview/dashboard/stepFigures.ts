/** The figures over training steps. */

import {
  findFigureWords,
  listMeasuresBeside,
  STEP_MEASURE_NAMES,
  STEP_MEASURES,
  type StepMeasureName,
} from '../../src/domain/step.ts';
import type { StepMeasure } from '../../src/domain/stepMeasure.ts';
import type { Spread, StepRow } from '../../src/domain/stepRows.ts';
import { count, decimal, duration, NOT_MEASURED, formatPercent1 } from '../common/format.ts';
import type { LinePoint } from './chart/lines.ts';
import {
  axisCells,
  axisColumns,
  describeAxisValue,
  numberCell,
  overTraining,
  runCells,
  runColumns,
  type FigureSpec,
} from './figures.ts';
import { placeOnAxis, type View } from './view.ts';

interface Measure {
  readonly name: string;
  readonly value: (row: StepRow) => number | null | undefined;
  readonly write: (value: number) => string;
}

interface StepFigure {
  readonly id: string;
  readonly title: string;
  readonly note?: string;
  readonly yAxis: string;
  readonly formatY?: (value: number) => string;
  readonly always?: readonly number[];
  /** The measures in the table. The first one is drawn, unless there is a box. */
  readonly measures: readonly [Measure, ...Measure[]];
  readonly box?: (row: StepRow) => Spread | null;
}

const divideOrNull = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
const decimalFormatter =
  (digits: number) =>
  (value: number): string =>
    decimal(value, digits);
const measure = (name: string, value: Measure['value'], write: Measure['write'] = decimalFormatter(4)): Measure => ({
  name,
  value,
  write,
});

const chooseFormatter = ({ written }: StepMeasure): Measure['write'] =>
  written === 'duration' ? duration : decimalFormatter(written);
/** Returns a measure of the steps with its declared title and format. */
const stepMeasure = (name: StepMeasureName): Measure =>
  measure(STEP_MEASURES[name].title, (row) => row.metrics[name], chooseFormatter(STEP_MEASURES[name]));

/**
 * Returns the figure that a measure of the steps declares, or null if it declares none. Its table also
 * has the measures that it lists.
 * @param shown returns true for the measures to include in the table
 */
function declaredFigure(
  name: StepMeasureName,
  shown: (name: StepMeasureName) => boolean = () => true,
): StepFigure | null {
  const figure = findFigureWords(name);
  if (figure === null) {
    return null;
  }
  const { id, title, unit, always, digits } = figure;
  return {
    id,
    title,
    yAxis: unit,
    always,
    formatY: decimalFormatter(digits),
    measures: [stepMeasure(name), ...listMeasuresBeside(name).filter(shown).map(stepMeasure)],
  };
}

const VARIANCE: StepFigure = {
  id: 'variance',
  title: 'Variance of training credit within a context',
  yAxis: 'variance',
  always: [0],
  measures: [
    measure('Variance', (row) => row.credits.variance?.value),
    measure('Contexts', (row) => row.credits.variance?.contexts, count),
  ],
};
const COST: readonly StepFigure[] = [
  {
    id: 'calls',
    title: 'Evaluator calls per step',
    yAxis: 'calls',
    formatY: count,
    always: [0],
    measures: [measure('Evaluator calls', (row) => row.cost.evaluatorCalls, count)],
  },
  {
    id: 'tokens',
    title: 'Tokens per step',
    note: 'Prompt and completion tokens of sampling; reused prompt tokens are included.',
    yAxis: 'tokens',
    formatY: count,
    always: [0],
    measures: [
      measure('Tokens', ({ cost: { tokens } }) => tokens.prompt + tokens.completion, count),
      measure('Prompt', ({ cost }) => cost.tokens.prompt, count),
      measure('Reused', ({ cost }) => cost.tokens.reused, count),
      measure('Completion', ({ cost }) => cost.tokens.completion, count),
    ],
  },
  {
    id: 'reuse',
    title: 'Prefix reuse',
    note: 'Share of prompt tokens that were reused, not computed.',
    yAxis: 'share of prompt tokens',
    formatY: formatPercent1,
    always: [0],
    measures: [
      measure('Reused share', ({ cost: { tokens } }) => divideOrNull(tokens.reused, tokens.prompt), formatPercent1),
      measure('Reused', ({ cost }) => cost.tokens.reused, count),
      measure('Prompt', ({ cost }) => cost.tokens.prompt, count),
    ],
  },
  {
    id: 'throughput',
    title: 'Throughput',
    note: 'Completion tokens per second of sampling, including evaluators.',
    yAxis: 'tokens per second',
    formatY: count,
    always: [0],
    measures: [
      measure(
        'Tokens per second',
        ({ cost, metrics }) => divideOrNull(cost.tokens.completion, metrics.generateSeconds),
        count,
      ),
      stepMeasure('generateSeconds'),
      stepMeasure('trainSeconds'),
    ],
  },
];

/** The measure of the outcome. All others are about the course of training. */
const OUTCOME: StepMeasureName = 'meanReturn';

/** Returns the figure of the mean return, with the number of episodes. */
export function returnFigure(): FigureSpec {
  const figure = declaredFigure(OUTCOME);
  if (figure === null) {
    throw new Error('The mean return has no figure.');
  }
  return buildStepFigure({
    ...figure,
    measures: [...figure.measures, measure('Episodes', (row) => row.episodes, count)],
  });
}

/** Returns the figures of the other measures. Leaves out measures that no shown run has. */
export function optimizationFigures(view: View): readonly FigureSpec[] {
  const shown = (name: StepMeasureName): boolean =>
    STEP_MEASURES[name].everyStep ||
    view.runs.some(({ rows }) => rows.some(({ metrics }) => metrics[name] !== undefined));
  const names = STEP_MEASURE_NAMES.filter((name) => name !== OUTCOME && shown(name));
  return names.flatMap((name) => {
    const figure = declaredFigure(name, shown);
    return figure === null ? [] : [buildStepFigure(figure)];
  });
}

export const varianceFigure = (): FigureSpec => buildStepFigure(VARIANCE);
export const costFigures = (): readonly FigureSpec[] => COST.map(buildStepFigure);

/** Returns the roles that any shown run credited, in the order in which they first spoke. */
export function listCreditedRoles(view: View): readonly string[] {
  return [
    ...new Set(
      view.runs.flatMap(({ rows }) =>
        [rows[0], rows.at(-1)].flatMap((row) => row?.credits.roles.map(({ role }) => role) ?? []),
      ),
    ),
  ];
}

/** Creates the figure of the spread of a role's credits at each step. */
export function creditFigure(role: string): FigureSpec {
  const of = (row: StepRow): Spread | null => row.credits.roles.find((found) => found.role === role)?.spread ?? null;
  return buildStepFigure({
    id: `credit ${role}`,
    title: `Training credit of ${role}`,
    yAxis: 'training credit',
    formatY: decimalFormatter(2),
    always: [0],
    note: 'The credits from which each step learned, by the method of the run. Boxes span the lower to the upper quartile, with the median; whiskers reach the lowest and the highest credit.',
    measures: [
      measure('Median', (row) => of(row)?.middle, decimalFormatter(3)),
      measure('Lower quartile', (row) => of(row)?.lower, decimalFormatter(3)),
      measure('Upper quartile', (row) => of(row)?.upper, decimalFormatter(3)),
      measure('Lowest', (row) => of(row)?.low, decimalFormatter(3)),
      measure('Highest', (row) => of(row)?.high, decimalFormatter(3)),
      measure('Messages', (row) => of(row)?.n, count),
    ],
    box: of,
  });
}

/** Lowers the first letter of a name, unless it begins an abbreviation. */
const lowerFirstLetter = (name: string): string =>
  /^\p{Lu}{2}/u.test(name) ? name : name.charAt(0).toLowerCase() + name.slice(1);

function buildStepFigure(figure: StepFigure): FigureSpec {
  const { measures, box = null } = figure;
  const [drawn] = measures;
  const wordsOf = (row: StepRow, place: readonly string[]): readonly string[] => [
    `step ${count(row.iteration)}`,
    ...place,
    ...measures.map((each) => `${lowerFirstLetter(each.name)} ${numberCell(each.value(row), each.write).text}`),
  ];
  return {
    id: figure.id,
    title: figure.title,
    note: figure.note ?? null,
    x: overTraining,
    yAxis: figure.yAxis,
    formatY: figure.formatY ?? decimalFormatter(4),
    always: figure.always ?? [],
    boxes: box !== null,
    smooth: box === null,
    nothing: 'No step has measured this yet.',
    lines: (view, axis = 'step') =>
      view.runs.map(({ tag, record, rows, totals }, look) => ({
        label: tag,
        name: record.title,
        look,
        joined: true,
        points: rows.flatMap((row): LinePoint[] => {
          const y = drawn.value(row);
          const x = placeOnAxis({ rows, totals }, row.iteration, axis);
          if (x === null || y === null || y === undefined || !Number.isFinite(y)) {
            return [];
          }
          const target = { kind: 'round', run: record.id, phase: 'train', iteration: row.iteration } as const;
          return [
            {
              x,
              y,
              low: null,
              high: null,
              box: box?.(row) ?? null,
              target,
              words: () => wordsOf(row, describeAxisValue(axis, x)),
            },
          ];
        }),
      })),
    table: (view, axis = 'step') => ({
      columns: [
        ...runColumns(view),
        { name: 'Step', numeric: true },
        ...axisColumns(axis),
        ...measures.map(({ name }) => ({ name, numeric: true })),
      ],
      rows: view.runs.flatMap((run) =>
        run.rows.map((row) => ({
          cells: [
            ...runCells(view, run),
            numberCell(row.iteration, count),
            ...axisCells(axis, placeOnAxis(run, row.iteration, axis)),
            ...measures.map((each) => numberCell(each.value(row), each.write)),
          ],
          target: { kind: 'round', run: run.record.id, phase: 'train', iteration: row.iteration },
        })),
      ),
    }),
    latest: (view) => {
      const row = view.runs[0]?.rows.at(-1);
      return row === undefined ? NOT_MEASURED : numberCell(drawn.value(row), drawn.write).text;
    },
  };
}
