/** The summary of a run: its outcome and its cost. */

import type { Interval } from '../../src/domain/credit.ts';
import { EVALUATION_ROUNDS, type EvaluationKind } from '../../src/domain/evaluation.ts';
import type { Ledger, RunSummary } from '../../src/domain/run.ts';
import type { DashboardSnapshot } from '../../src/shared/protocols/dashboardProtocol.ts';
import { formatRemaining } from '../../src/shared/text/times.ts';
import { h } from '../common/dom.ts';
import { count, duration, NOT_MEASURED, formatPercent1, formatPercentBounds, points } from '../common/format.ts';
import type { ShownRun, View } from './view.ts';

const STAGES = {
  load: 'loading',
  'evaluate-before': 'evaluation before',
  train: 'training',
  'evaluate-after': 'evaluation after',
} as const;

/** Describes the progress of a run in a few words. */
export function describeRunProgress({ run, live }: DashboardSnapshot): string {
  const steps = `step ${count(run.steps)} of ${count(run.plannedSteps)}`;
  if (live === null) {
    return `${run.method}, seed ${run.seed}, ${steps}`;
  }
  const place = live.stage === 'train' ? steps : `${count(live.done)} of ${count(live.total)}`;
  const remaining = formatRemaining(live.remainingSeconds);
  return `${run.method}, seed ${run.seed}, ${STAGES[live.stage]}, ${place}${remaining === '' ? '' : `, ${remaining}`}`;
}

/**
 * Creates the table of accuracy and pass@1 before and after training, with intervals. It reads the
 * evaluations, so it also has those of runs that are in progress or were canceled.
 */
export function outcomeTable({ runs: [shown] }: View): HTMLElement {
  return h(
    'table',
    { class: 'outcome stacked' },
    h('caption', {}, 'Outcome'),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, 'Measure'),
        h('th', { scope: 'col' }, 'Before'),
        h('th', { scope: 'col' }, 'After'),
        h('th', { scope: 'col' }, 'Difference'),
      ),
    ),
    h('tbody', {}, ...(['greedy', 'sampled'] as const).map((kind) => outcomeRow(kind, shown))),
  );
}

const MEASURES = { greedy: 'Accuracy, greedy', sampled: 'pass@1, sampled' } as const;

function outcomeRow(kind: EvaluationKind, shown: ShownRun | undefined): HTMLElement {
  const at = (stage: 'before' | 'after'): Interval | null => {
    const number = EVALUATION_ROUNDS.find((round) => round.kind === kind && round.stage === stage)?.iteration;
    return shown?.evaluations.find(({ iteration }) => iteration === number)?.result ?? null;
  };
  const before = intervalCell(at('before'), formatPercent1);
  const after = intervalCell(at('after'), formatPercent1);
  const summary = shown?.record.summary;
  const difference = intervalCell(
    (kind === 'greedy' ? summary?.accuracy : summary?.passAt1)?.difference ?? null,
    points,
  );
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, MEASURES[kind]),
    ...[before, after, difference].map((cell) => h('td', {}, cell)),
  );
}

function intervalCell(interval: Interval | null, write: (share: number) => string): HTMLElement {
  if (interval === null) {
    return h('span', { class: 'muted' }, NOT_MEASURED);
  }
  return h(
    'span',
    {},
    h('strong', {}, write(interval.value)),
    h('span', { class: 'muted interval' }, formatPercentBounds(interval)),
  );
}

/** Creates the note on how reliable the run's model judge is. Returns null if no model judges the run. */
export const judgeNote = ({ judge }: DashboardSnapshot): HTMLElement | null =>
  judge === null ? null : h('p', { class: 'judge' }, judge);

/** Creates the table of costs: evaluator calls, tokens, messages by role, and training time. */
export function ledgerTable({ run, ledger: latest }: DashboardSnapshot): HTMLElement {
  const ledger = chooseLedger(run.summary, latest);
  const rows: readonly (readonly [string, string])[] =
    ledger === null
      ? [
          ['Evaluator calls', NOT_MEASURED],
          ['Tokens', NOT_MEASURED],
          ['Messages', NOT_MEASURED],
          ['Training time', NOT_MEASURED],
        ]
      : [
          [
            'Evaluator calls',
            `${count(ledger.evaluatorCalls)}${describeReusedCalls(ledger)}${describeLostCalls(run.summary)}`,
          ],
          [
            'Tokens',
            `${count(ledger.tokens.prompt)} prompt, ${count(ledger.tokens.reused)} of them reused; ${count(ledger.tokens.completion)} completion${(ledger.tokens.reusedCompletion ?? 0) === 0 ? '' : `, ${count(ledger.tokens.reusedCompletion ?? 0)} more reused from equal requests`}`,
          ],
          [
            'Messages',
            Object.entries(ledger.decisions)
              .map(([role, number]) => `${role} ${count(number)}`)
              .join(', '),
          ],
          ['Training time', duration(ledger.seconds)],
        ];
  return h(
    'table',
    { class: 'ledger' },
    h('caption', {}, 'Cost'),
    h('tbody', {}, ...rows.map(([name, value]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, value)))),
  );
}

/** Describes the evaluations that needed no call because equal messages were evaluated before. */
function describeReusedCalls({ reusedEvaluations = 0 }: Ledger): string {
  return reusedEvaluations === 0 ? '' : `, ${count(reusedEvaluations)} more reused from equal messages`;
}

/** Describes the calls whose results were lost in interruptions. They are not counted as the run's own. */
function describeLostCalls(summary: RunSummary | null): string {
  const lost = summary?.lostEvaluatorCalls ?? 0;
  return lost === 0 ? '' : `; at most ${count(lost)} more whose results were lost in interruptions`;
}

function chooseLedger(summary: RunSummary | null, latest: Ledger | null): Ledger | null {
  if (summary === null) {
    return latest;
  }
  return {
    evaluatorCalls: summary.evaluatorCalls,
    reusedEvaluations: summary.reusedEvaluations ?? 0,
    tokens: summary.tokens,
    decisions: summary.decisions,
    seconds: summary.seconds,
  };
}
