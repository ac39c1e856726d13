/** The figures of outcomes: held-out accuracy over training, and against the cost of training. */

import type { Interval } from '../../src/domain/credit.ts';
import { EVALUATION_ROUNDS, evaluationRound, type EvaluationKind } from '../../src/domain/evaluation.ts';
import type { ChartAxis, RunOutcome, RunTask } from '../../src/shared/protocols/dashboardProtocol.ts';
import { count, duration, NOT_MEASURED, percent, formatPercent1, plural } from '../common/format.ts';
import { AXIS_WORDS, type AxisWords } from './chart/axes.ts';
import type { LinePoint, Target } from './chart/lines.ts';
import {
  axisCells,
  axisColumns,
  describeAxisValue,
  INTERVAL_COLUMNS,
  intervalCells,
  numberCell,
  overTraining,
  runCells,
  runColumns,
  formatShareInterval,
  textCell,
  type FigureSpec,
} from './figures.ts';
import { placeOnAxis, type ShownRun, type View } from './view.ts';

const TITLES: Readonly<Record<EvaluationKind, string>> = {
  greedy: 'Held-out accuracy, greedy',
  sampled: 'Held-out pass@1, sampled',
};

/** Creates the figure of held-out accuracy before, during and after training, with intervals. */
export function accuracyFigure(kind: EvaluationKind): FigureSpec {
  const of = (run: ShownRun): readonly Evaluation[] => listShownEvaluations(run, kind);
  return {
    id: `accuracy ${kind}`,
    title: TITLES[kind],
    note: 'Vertical lines show the 95 % interval.',
    x: overTraining,
    yAxis: 'accuracy',
    formatY: percent,
    always: [0, 1],
    boxes: false,
    smooth: false,
    nothing: 'Nothing has been evaluated yet.',
    lines: (view, axis = 'step') =>
      view.runs.map((run, look) => ({
        label: run.tag,
        name: run.record.title,
        look,
        joined: true,
        points: of(run).flatMap(({ moment, step, result, target }): LinePoint[] => {
          const x = placeOnAxis(run, step, axis);
          if (result === null || x === null) {
            return [];
          }
          return [
            {
              x,
              y: result.value,
              low: result.low,
              high: result.high,
              box: null,
              target,
              words: () => [moment, ...describeAxisValue(axis, x), formatShareInterval(result)],
            },
          ];
        }),
      })),
    table: (view, axis = 'step') => ({
      columns: [
        ...runColumns(view),
        { name: 'Evaluation', numeric: false },
        { name: 'Step', numeric: true },
        ...axisColumns(axis),
        ...INTERVAL_COLUMNS,
      ],
      rows: view.runs.flatMap((run) =>
        of(run).map(({ stage, step, result, target }) => ({
          cells: [
            ...runCells(view, run),
            textCell(stage),
            numberCell(step, count),
            ...axisCells(axis, placeOnAxis(run, step, axis)),
            ...intervalCells(result),
          ],
          target,
        })),
      ),
    }),
    latest: (view) => {
      const newest =
        view.runs
          .slice(0, 1)
          .flatMap(of)
          .findLast(({ result }) => result !== null)?.result ?? null;
      return newest === null ? NOT_MEASURED : formatPercent1(newest.value);
    },
  };
}

interface Evaluation {
  /** `before`, `after step 6`, `after`. */
  readonly stage: string;
  /** The stage as a part of a sentence. */
  readonly moment: string;
  readonly step: number;
  readonly result: Interval | null;
  readonly target: Target;
}

/** Returns the evaluations of one kind by step; null results before and after until measured. */
function listShownEvaluations({ record, evaluations }: ShownRun, kind: EvaluationKind): readonly Evaluation[] {
  const known = evaluations.filter((one) => one.kind === kind);
  const awaited = EVALUATION_ROUNDS.filter(
    (round) => round.kind === kind && known.every(({ iteration }) => iteration !== round.iteration),
  )
    // A run without steps has no evaluation after training.
    .filter(({ stage }) => stage === 'before' || record.plannedSteps > 0)
    .map(({ iteration, stage }) => ({ iteration, step: stage === 'before' ? 0 : record.plannedSteps, result: null }));
  return [...known, ...awaited]
    .sort((a, b) => a.step - b.step)
    .map(({ iteration, step, result }) => {
      const stage = evaluationRound(iteration)?.stage ?? 'during';
      const named = stage === 'during' ? `after step ${count(step)}` : stage;
      const target: Target = { kind: 'round', run: record.id, phase: 'evaluate', iteration };
      return { stage: named, moment: stage === 'during' ? named : `${stage} training`, step, result, target };
    });
}

/** The cost of training on each axis. For steps, the cost is in tokens. */
const COSTS: Readonly<
  Record<ChartAxis, { readonly of: (outcome: RunOutcome) => number; readonly title: string; readonly words: AxisWords }>
> = {
  step: { of: ({ tokens }) => tokens, title: 'training tokens', words: AXIS_WORDS.tokens },
  tokens: { of: ({ tokens }) => tokens, title: 'training tokens', words: AXIS_WORDS.tokens },
  calls: { of: ({ calls }) => calls, title: 'evaluator calls in training', words: AXIS_WORDS.calls },
  time: { of: ({ seconds }) => seconds, title: 'training time', words: AXIS_WORDS.time },
};

/**
 * Returns the Pareto front in order of cost: the outcomes for which no other one costs at most as
 * much, is at least as accurate, and is better in one of the two.
 */
export function findParetoFront(outcomes: readonly RunOutcome[], axis: ChartAxis = 'step'): readonly RunOutcome[] {
  const cost = COSTS[axis].of;
  const beats = (a: RunOutcome, b: RunOutcome): boolean =>
    cost(a) <= cost(b) &&
    a.accuracy.value >= b.accuracy.value &&
    (cost(a) < cost(b) || a.accuracy.value > b.accuracy.value);
  return outcomes.filter((one) => !outcomes.some((other) => beats(other, one))).sort((a, b) => cost(a) - cost(b));
}

/**
 * Returns the tasks of the outcomes, those of the shown runs first. Outcomes of different tasks cannot
 * be compared, so each task has a chart of its own.
 */
export function listTasks({ snapshot: { outcomes }, runs }: View): readonly RunTask[] {
  const shown = runs.flatMap(({ record }) => outcomes.filter(({ run }) => run === record.id));
  const tasks = [...new Map([...shown, ...outcomes].map(({ task }) => [task.key, task])).values()].slice(
    0,
    TASKS_SHOWN,
  );
  // Labels can be the same: for files of the same name in two folders, or levels of one task.
  return tasks.map(({ key, label }, index) => {
    const same = tasks.slice(0, index).filter((other) => other.label === label).length;
    return { key, label: same === 0 ? label : `${label} (${same + 1})` };
  });
}

/** Largest number of tasks with a chart. */
const TASKS_SHOWN = 8;

/**
 * Creates the figure of accuracy against cost, with every finished run of a task.
 * @param task null if there is no task
 */
export function paretoFigure(task: RunTask | null): FigureSpec {
  const of = (view: View, axis: ChartAxis): readonly RunOutcome[] =>
    view.snapshot.outcomes
      .filter((outcome) => outcome.task.key === task?.key)
      .sort((a, b) => COSTS[axis].of(a) - COSTS[axis].of(b));
  return {
    id: `pareto ${task?.key ?? ''}`,
    title: `Accuracy against cost${task === null ? '' : `: ${task.label}`}`,
    yAxis: 'greedy accuracy',
    x: (axis) => ({ title: COSTS[axis].title, format: COSTS[axis].words.tick }),
    formatY: percent,
    always: [0, 1],
    boxes: false,
    smooth: false,
    note: 'Finished runs of this task; letters mark the runs in the charts. The stepped line is the Pareto front: no other run is more accurate at the same cost or less.',
    nothing: 'No finished run in this store has been evaluated.',
    lines: (view, axis = 'step') => {
      const outcomes = of(view, axis);
      const front = findParetoFront(outcomes, axis);
      const { of: cost, words } = COSTS[axis];
      const points = outcomes.map((outcome): LinePoint => {
        const shown = view.runs.findIndex(({ record }) => record.id === outcome.run);
        const { accuracy, method, seed, title, run } = outcome;
        const label =
          shown >= 0 ? (view.runs[shown]?.tag ?? '') : front.includes(outcome) ? `${method}, seed ${seed}` : '';
        return {
          x: cost(outcome),
          y: accuracy.value,
          low: accuracy.low,
          high: accuracy.high,
          box: null,
          target: { kind: 'run', run },
          look: shown,
          label,
          words: () => [
            title,
            `${method}, seed ${seed}`,
            formatShareInterval(accuracy),
            words.full(cost(outcome)),
            ...(front.includes(outcome) ? ['on the Pareto front'] : []),
          ],
        };
      });
      return [
        {
          label: '',
          name: 'runs',
          look: -1,
          joined: false,
          points,
          front: front.map((outcome) => ({ x: cost(outcome), y: outcome.accuracy.value })),
        },
      ];
    },
    table: (view, axis = 'step') => {
      const outcomes = of(view, axis);
      const front = findParetoFront(outcomes, axis);
      return {
        columns: [
          { name: 'Run', numeric: false },
          { name: 'Method', numeric: false },
          ...['Seed', 'Tokens', 'Calls', 'Time'].map((name) => ({ name, numeric: true })),
          ...INTERVAL_COLUMNS,
          { name: 'On the front', numeric: false },
        ],
        rows: outcomes.map((outcome) => {
          const tag = view.runs.find(({ record }) => record.id === outcome.run)?.tag;
          return {
            cells: [
              textCell(tag === undefined ? outcome.title : `${tag}: ${outcome.title}`),
              textCell(outcome.method),
              numberCell(outcome.seed, String),
              numberCell(outcome.tokens, count),
              numberCell(outcome.calls, count),
              numberCell(outcome.seconds, duration),
              ...intervalCells(outcome.accuracy),
              textCell(front.includes(outcome) ? 'yes' : 'no'),
            ],
            target: { kind: 'run', run: outcome.run },
          };
        }),
      };
    },
    latest: (view) => {
      const found = of(view, 'step').length;
      return plural(found, 'run');
    },
  };
}
