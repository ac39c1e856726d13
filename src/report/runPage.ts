/**
 * Writes a run as a page: its progress, its cost, and the messages that made the difference. Pure:
 * a report in, text out.
 */

import type { Interval } from '../domain/credit.ts';
import { barsPicture, BARS_STYLE, type BarRow } from './bars.ts';
import { curvePicture, type Curve } from './curves.ts';
import type { EmptiedEffect } from './emptied.ts';
import { formatBounds, facts, figure, writePage, table, row } from './page.ts';
import {
  beginning,
  costWords,
  creditBounds,
  leftOutPart,
  REPORT_STYLE,
  runFacts,
  textBlock,
  verificationCell,
  formatVerified,
} from './parts.ts';
import { removalSection } from './removalPage.ts';
import { trustRegionSection } from './trustRegionPage.ts';
import type { CreditedMessage, RunReport } from './types.ts';
import { formatCompact, count, decimal, escapeText, NOT_MEASURED, percentage, formatReturn, signed } from './words.ts';

const formatPoints = (value: number): string => `${value > 0 ? '+' : ''}${percentage(value)}`;

/** Writes the whole page. All texts are shown as plain text, whatever they contain. */
export function writeRunPage(report: RunReport): string {
  const { run, cost, replays, configuration } = report;
  const lost = report.summary?.lostEvaluatorCalls ?? 0;
  const content = `<header><h1>${escapeText(run.title, 200)}</h1>
<p class="lead">${writeRunLead(report)}</p>
${facts([...runFacts(run), ['Cost', costWords(cost)], ['Training', cost.seconds === null ? `time ${NOT_MEASURED}` : `${decimal(cost.seconds, 1)} s`], ...(lost === 0 ? [] : [['Lost', `at most ${count(lost)} further evaluator calls, in interruptions`] as const]), ['Replays', `${replays.replays === 0 ? 'none' : formatVerified(replays.verified)}${replays.requests === 0 ? '' : `; from ${count(replays.requests)} ${replays.requests === 1 ? 'request' : 'requests'}`}`]])}</header>
<section><h2>What it learned</h2><div class="figures">${curveFigure(report)}${evaluationFigure(report)}${accuracyFigure(report)}</div></section>
<section><h2>Which messages made the difference</h2>${creditSection(report)}</section>
${emptiedSection(report.emptied)}${removalSection(report.removal)}${trustRegionSection(report.region, report.steps)}<section><h2>Configuration</h2>${configuration.text === '' && configuration.leftOut === 0 ? `<p class="none">not recorded</p>` : `<details><summary>As it was stored</summary>${textBlock(configuration)}</details>`}</section>
${leftOutPart(report.leftOut)}
${READING}`;
  return writePage(run.title, content, BARS_STYLE + REPORT_STYLE);
}

function writeRunLead(report: RunReport): string {
  const { summary, run } = report;
  const difference = summary?.accuracy.difference ?? null;
  const [before, after] = [measuredAt(report, 'accuracy', 'before'), measuredAt(report, 'accuracy', 'after')];
  const steps = `${count(run.steps)} of ${count(run.plannedSteps)} steps`;
  if (before === null && after === null) {
    return `${steps}; accuracy before and after was ${NOT_MEASURED}.`;
  }
  const one = (value: Interval | null): string =>
    value === null ? NOT_MEASURED : `${percentage(value.value)} %, n ${count(value.n)}`;
  if (before === null || after === null) {
    return `${steps}. Greedy accuracy on held-out problems before training: ${one(before)}; after it: ${one(after)}.`;
  }
  const gain =
    difference === null
      ? ''
      : ` (<strong>${formatPoints(difference.value)} points</strong>${formatBounds(difference, formatPoints) === null ? '' : ` ${formatBounds(difference, formatPoints) ?? ''}`})`;
  return `Greedy accuracy on held-out problems: ${percentage(before.value)} % before, ${percentage(after.value)} % after${gain}, n ${count(after.n)}.`;
}

function curveFigure({ steps }: RunReport): string {
  const measured = steps.flatMap(({ step, meanReturn }) => (meanReturn === null ? [] : [{ x: step, y: meanReturn }]));
  const drawn = curvePicture('curve', 'Learning curve', [{ label: 'return', place: 0, points: measured }], {
    x: 'step',
    y: 'mean return of the training episodes',
    unit: 'steps',
  });
  const write = (value: number): string => decimal(value, 3);
  const lines = steps.map(
    ({ step, meanReturn, episodes, evaluatorCalls, tokens, metrics }) =>
      `<tr><th scope="row">${step}</th><td>${meanReturn === null ? NOT_MEASURED : write(meanReturn.value)}</td><td>${meanReturn === null ? '' : (formatBounds(meanReturn, write) ?? 'no interval')}</td><td>${count(meanReturn?.n ?? 0)}</td><td>${count(episodes)}</td><td>${count(evaluatorCalls)}</td><td>${formatCompact(tokens.prompt + tokens.completion)}</td><td>${metrics === null ? NOT_MEASURED : decimal(metrics.kl, 4)}</td></tr>`,
  );
  const numbers = table(
    'Learning curve in numbers',
    ['step', 'mean return', '95 % interval', 'problems', 'episodes', 'evaluator calls', 'tokens', 'KL'],
    lines,
    'numbers',
  );
  return figure(
    'Learning curve',
    drawn,
    'Mean return of each step\u2019s training episodes; band: its 95 % interval over problems. Evaluator calls and tokens in the table add up.',
    numbers,
  );
}

/** Returns a measure from the summary, or from the evaluations if there is none yet. */
function measuredAt(
  { summary, evaluations, run }: RunReport,
  measure: 'accuracy' | 'passAt1',
  stage: 'before' | 'after',
): Interval | null {
  const step = stage === 'before' ? 0 : run.plannedSteps;
  if (stage === 'after' && step === 0) {
    return null;
  }
  return summary?.[measure][stage] ?? evaluations.find((point) => point.step === step)?.[measure] ?? null;
}

/** Draws held-out accuracy over training, if it was measured more than before and after. */
function evaluationFigure({ evaluations, run }: RunReport): string {
  if (evaluations.every(({ step }) => step === 0 || step === run.plannedSteps)) {
    return '';
  }
  const pointsOf = (measure: 'accuracy' | 'passAt1'): Curve['points'] =>
    evaluations.flatMap(({ step, [measure]: value }) => (value === null ? [] : [{ x: step, y: value }]));
  const curves = [
    { label: 'greedy', place: 0, points: pointsOf('accuracy') },
    { label: 'sampled', place: 1, points: pointsOf('passAt1') },
  ];
  const drawn = curvePicture('evaluations', 'Accuracy over training', curves, {
    x: 'step',
    y: 'accuracy on held-out problems',
    unit: 'steps',
  });
  const write = (value: number): string => decimal(value, 3);
  const cells = (value: Interval | null): string =>
    value === null
      ? `<td>${NOT_MEASURED}</td><td></td>`
      : `<td>${write(value.value)}</td><td>${formatBounds(value, write) ?? 'no interval'}</td>`;
  const lines = evaluations.map(
    ({ step, accuracy, passAt1 }) =>
      `<tr><th scope="row">${step}</th>${cells(accuracy)}${cells(passAt1)}<td>${count((accuracy ?? passAt1)?.n ?? 0)}</td></tr>`,
  );
  const numbers = table(
    'Accuracy over training in numbers',
    ['step', 'greedy', '95 % interval', 'sampled', '95 % interval', 'n'],
    lines,
    'numbers',
  );
  return figure(
    'Accuracy over training',
    drawn,
    'On held-out problems: before training, at regular intervals, and after it; bands: 95 % intervals.',
    numbers,
  );
}

function accuracyFigure(report: RunReport): string {
  const { summary } = report;
  const rows: readonly BarRow[] = (['accuracy', 'passAt1'] as const).flatMap((measure) =>
    (['before', 'after'] as const).map((stage) => ({
      label: `${measure === 'accuracy' ? 'greedy' : 'sampled'}, ${stage}`,
      value: inPercent(measuredAt(report, measure, stage)),
    })),
  );
  const write = (value: number): string => `${decimal(value, 1)} %`;
  const lines = rows.map(
    ({ label, value }) =>
      `<tr><th scope="row">${label}</th>${value === null ? `<td colspan="3" class="none">${NOT_MEASURED}</td>` : `<td>${write(value.value)}</td><td>${formatBounds(value, (bound) => decimal(bound, 1)) ?? 'no interval'}</td><td>${count(value.n)}</td>`}</tr>`,
  );
  const gains = (['accuracy', 'passAt1'] as const).map((measure) => {
    const difference = summary?.[measure].difference ?? null;
    return `<tr><th scope="row">${measure === 'accuracy' ? 'greedy' : 'sampled'}, difference</th>${difference === null ? `<td colspan="3" class="none">${NOT_MEASURED}</td>` : `<td>${formatPoints(difference.value)} points</td><td>${formatBounds(difference, formatPoints) ?? 'no interval'}</td><td>${count(difference.n)}</td>`}</tr>`;
  });
  const numbers = table('Accuracy in numbers', ['', 'accuracy', '95 % interval', 'n'], [...lines, ...gains], 'numbers');
  return figure(
    'Accuracy on held-out problems',
    barsPicture('accuracy', 'Accuracy on held-out problems', rows, write, 'accuracy, %'),
    '95 % interval across. The difference is one of pairs, so its interval is narrower than these.',
    numbers,
  );
}

function inPercent(interval: Interval | null): Interval | null {
  if (interval === null) {
    return null;
  }
  const { value, low, high, n } = interval;
  return { value: 100 * value, low: low === null ? null : 100 * low, high: high === null ? null : 100 * high, n };
}

function creditSection({ credited, creditByRole }: RunReport): string {
  if (credited.length === 0) {
    return `<p class="none">Credit was ${NOT_MEASURED}.</p>`;
  }
  const drawn = barsPicture(
    'credit',
    'Messages with the clearest credit',
    credited.map((one) => ({
      label: `${one.message} ${one.role}: ${one.text.text.trim() === '' ? 'empty' : one.text.text}`,
      value: one.credit,
    })),
    (value) => signed(value),
    'credit',
  );
  const write = (value: number): string => signed(value);
  const roles = creditByRole.map(
    ({ role, n, low, lowerQuartile, median, upperQuartile, high }) =>
      `<tr><th scope="row">${escapeText(role, 60)}</th><td>${count(n)}</td>${[low, lowerQuartile, median, upperQuartile, high].map((value) => `<td>${write(value)}</td>`).join('')}</tr>`,
  );
  return `${figure('The clearest credits', drawn, '95 % interval across; first those whose interval leaves 0, then the others, each by how large the credit is for the width of its interval. They were picked out of all messages, so they look larger than further replays of them will.', '')}
${table('Messages with the clearest credit', ['message', 'what was said', 'credit', 'returns', 'where', 're-executed'], credited.map(creditedLine), 'second-left last-left')}
<h3>Credits by role</h3>${roles.length === 0 ? `<p class="none">${NOT_MEASURED}</p>` : `${table('Credits by role', ['role', 'messages', 'lowest', 'lower quartile', 'median', 'upper quartile', 'highest'], roles, 'numbers')}<p class="note">Of the training messages, as training recorded them by its own estimator.</p>`}`;
}

function creditedLine({
  message,
  role,
  text,
  question,
  credit,
  returns,
  origin,
  iteration,
  bucket,
  verification,
}: CreditedMessage): string {
  const place =
    origin === 'training' ? `step ${iteration}` : origin === 'request' ? `replay ${iteration}` : `sample ${iteration}`;
  const listed = returns.length <= 8 ? returns.map(formatReturn).join(' ') : `${count(returns.length)} returns`;
  return `<tr><th scope="row">${message}<small>${escapeText(role, 40)}</small></th><td class="text">${beginning(text, 160)}<small class="question">${escapeText(question.text, 120)}</small></td><td>${signed(credit.value)}<small>${creditBounds(credit)}, n ${count(credit.n)}</small><small>${escapeText(credit.sentence, 200)}</small></td><td>${listed}</td><td>${place}<small>bucket ${bucket}</small></td><td class="left">${verificationCell(verification)}</td></tr>`;
}

const READING = `<section class="reading"><h2>How to read this page</h2><dl>
<dt>Accuracy</dt><dd>Greedy: the most likely message at every turn. Sampled: at the temperature of training. Both on problems that were not trained on.</dd>
<dt>Credit</dt><dd>The expected return of a message less that of the policy\u2019s own messages in exactly the same context, pooled over everything that was replayed there. The interval is a 95 % confidence sequence by betting, valid however often one looks. n counts distinct results behind it.</dd>
<dt>Re-executed</dt><dd>A replay that is executed again must give the same tokens and the same return. <code>c3 report --message</code> with the number of a message shows it with its alternatives.</dd>
</dl></section>`;

// The part of a run's page about held-out questions without a role's message. Pure: numbers in,
// text out.

/** Returns an empty text if no message of an evaluation was emptied. */
export function emptiedSection(effects: readonly EmptiedEffect[] | undefined): string {
  return effects === undefined || effects.length === 0
    ? ''
    : `<section><h2>Held-out questions without a message</h2><div class="figures">${effects.map(effectFigure).join('')}</div></section>`;
}

function effectFigure(effect: EmptiedEffect, index: number): string {
  const { role, evaluation, replays } = effect;
  const title = `With and without what ${role.slice(0, 60)} says`;
  const rows = [
    ['with its message', effect.team],
    ['with an empty message', effect.without],
    ['difference', effect.difference],
  ] as const;
  const write = (value: number): string => signed(value);
  return figure(
    escapeText(title),
    barsPicture(
      `emptied-${index}`,
      title,
      rows.map(([label, value]) => ({ label, value })),
      (value) => decimal(value, 3),
      'mean return',
    ),
    `${escapeText(evaluation)}: ${count(effect.difference.n)} held-out questions, ${count(replays)} replays with the message and as many with an empty one in its place, whose heading stays; both draw the same random numbers. 95 % intervals over questions.`,
    table(
      `${title} in numbers`,
      ['', 'mean return', '95 % interval', 'questions'],
      rows.map(([label, value]) =>
        row(label, [
          label === 'difference' ? signed(value.value) : decimal(value.value, 3),
          formatBounds(value, write) ?? 'no interval',
          count(value.n),
        ]),
      ),
      'numbers',
    ),
  );
}
