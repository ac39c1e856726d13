/** The figures of what runs reached: held-out accuracy before and after training, and against what training took. */
import type { RunOutcome } from '../../src/shared/dashboardProtocol.ts';
import { EVALUATION_ROUNDS } from '../../src/shared/evaluationRounds.ts';
import type { EvaluationKind, Interval, RunRecord } from '../../src/shared/records.ts';
import { count, NOT_MEASURED, percent, percent1 } from '../common/format.ts';
import { INTERVAL_COLUMNS, intervalCells, numberCell, runCells, runColumns, shareWords, textCell, type FigureSpec } from './figures.ts';
import type { LinePoint, Target } from './lines.ts';
import type { View } from './view.ts';

interface Evaluation {
  readonly stage: 'before' | 'after';
  /** Steps taken when it was made. */
  readonly step: number;
  readonly interval: Interval | null;
  readonly target: Target;
}

const TITLES: Readonly<Record<EvaluationKind, string>> = { greedy: 'Held-out accuracy, greedy', sampled: 'Held-out pass@1, sampled' };

/** Accuracy on the instances that were held out, before and after training, each with its interval. */
export function accuracyFigure(kind: EvaluationKind): FigureSpec {
  return {
    id: `accuracy ${kind}`, title: TITLES[kind], note: 'Lines reach over the 95 % interval.', xAxis: 'step', yAxis: 'accuracy', formatX: count, formatY: percent, always: [0, 1], boxes: false, smooth: false,
    nothing: 'Known when the run has ended.',
    lines: (view) => view.runs.map(({ tag, record }, look) => ({
      label: tag,
      name: record.title,
      look,
      joined: true,
      points: evaluationsOf(record, kind).flatMap(({ stage, step, interval, target }): LinePoint[] =>
        interval === null ? [] : [{ x: step, y: interval.value, low: interval.low, high: interval.high, box: null, target, words: () => [`${stage} training`, shareWords(interval)] }]),
    })),
    table: (view) => ({
      columns: [...runColumns(view), { name: 'Evaluation', numeric: false }, { name: 'Step', numeric: true }, ...INTERVAL_COLUMNS],
      rows: view.runs.flatMap((run) => evaluationsOf(run.record, kind).map(({ stage, step, interval, target }) => ({
        cells: [...runCells(view, run), textCell(stage), numberCell(step, count), ...intervalCells(interval)],
        target,
      }))),
    }),
    latest: (view) => {
      const newest = evaluationsOf(view.runs[0]?.record ?? null, kind).findLast(({ interval }) => interval !== null)?.interval ?? null;
      return newest === null ? NOT_MEASURED : percent1(newest.value);
    },
  };
}

function evaluationsOf(record: RunRecord | null, kind: EvaluationKind): readonly Evaluation[] {
  if (record === null) return [];
  const measured = kind === 'greedy' ? record.summary?.accuracy : record.summary?.passAt1;
  return EVALUATION_ROUNDS.filter((round) => round.kind === kind).flatMap(({ stage, iteration }): Evaluation[] => {
    // Without steps there is nothing after.
    if (stage === 'after' && record.plannedSteps === 0) return [];
    return [{ stage, step: stage === 'before' ? 0 : record.plannedSteps, interval: measured?.[stage] ?? null, target: { kind: 'round', run: record.id, phase: 'evaluate', iteration } }];
  });
}

/** The outcomes that no other one beats: none has as few tokens and as much accuracy, and more of either. In the order of tokens. */
export function paretoFront(outcomes: readonly RunOutcome[]): readonly RunOutcome[] {
  const beats = (a: RunOutcome, b: RunOutcome): boolean =>
    a.tokens <= b.tokens && a.accuracy.value >= b.accuracy.value && (a.tokens < b.tokens || a.accuracy.value > b.accuracy.value);
  return outcomes.filter((one) => !outcomes.some((other) => beats(other, one))).sort((a, b) => a.tokens - b.tokens);
}

/** Every finished run of the store: what it reached against what its training took. */
export function paretoFigure(): FigureSpec {
  return {
    id: 'pareto', title: 'Accuracy against training tokens', xAxis: 'tokens of training', yAxis: 'greedy accuracy', formatX: compact, formatY: percent, always: [0, 1], boxes: false, smooth: false,
    note: 'The finished runs of this store, the shown ones by their letters. The stepped line is the Pareto front: no run has more accuracy for as few tokens.',
    nothing: 'No finished run of this store was evaluated.',
    lines: (view) => {
      const front = paretoFront(view.snapshot.outcomes);
      const points = sorted(view).map((outcome): LinePoint => {
        const shown = view.runs.findIndex(({ record }) => record.id === outcome.run);
        const { tokens, accuracy, method, seed, title, run } = outcome;
        const label = shown >= 0 ? view.runs[shown]?.tag ?? '' : front.includes(outcome) ? `${method}, seed ${String(seed)}` : '';
        return {
          x: tokens, y: accuracy.value, low: accuracy.low, high: accuracy.high, box: null, target: { kind: 'run', run }, look: shown, label,
          words: () => [title, `${method}, seed ${String(seed)}`, shareWords(accuracy), `${count(tokens)} tokens`, ...(front.includes(outcome) ? ['on the Pareto front'] : [])],
        };
      });
      return [{ label: '', name: 'runs', look: -1, joined: false, points, front: front.map(({ tokens, accuracy }) => ({ x: tokens, y: accuracy.value })) }];
    },
    table: (view) => {
      const front = paretoFront(view.snapshot.outcomes);
      return {
        columns: [{ name: 'Run', numeric: false }, { name: 'Method', numeric: false }, { name: 'Seed', numeric: true }, { name: 'Tokens', numeric: true }, ...INTERVAL_COLUMNS, { name: 'On the front', numeric: false }],
        rows: sorted(view).map((outcome) => {
          const tag = view.runs.find(({ record }) => record.id === outcome.run)?.tag;
          return {
            cells: [
              textCell(tag === undefined ? outcome.title : `${tag}: ${outcome.title}`), textCell(outcome.method), numberCell(outcome.seed, String), numberCell(outcome.tokens, count),
              ...intervalCells(outcome.accuracy), textCell(front.includes(outcome) ? 'yes' : 'no'),
            ],
            target: { kind: 'run', run: outcome.run },
          };
        }),
      };
    },
    latest: (view) => {
      const found = view.snapshot.outcomes.length;
      return `${count(found)} ${found === 1 ? 'run' : 'runs'}`;
    },
  };
}

const sorted = (view: View): readonly RunOutcome[] => [...view.snapshot.outcomes].sort((a, b) => a.tokens - b.tokens);

/** A number of tokens in at most three digits: 830, 12.3k, 1.2M. */
export function compact(value: number): string {
  const [scale, unit] = value >= 999_500 ? [1e6, 'M'] : value >= 1000 ? [1e3, 'k'] : [1, ''];
  return `${String(Number((value / scale).toPrecision(3)))}${unit}`;
}
