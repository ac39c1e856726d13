/** Markup that the pages of findings and runs share. */

import { findEstimator } from '../credit/estimators.ts';
import { REMOVAL } from '../credit/sideBySide.ts';
import type { Interval } from '../domain/credit.ts';
import type { VerificationMark } from '../domain/verification.ts';
import type { Credit } from '../shared/credit/credit.ts';
import { formatBounds, formatTime } from './page.ts';
import type { Cost, Excerpt, LeftOut, ReportedRun, Verified } from './types.ts';
import { formatCompact, count, escapeText, NOT_MEASURED, signed, escapeVerbatim } from './words.ts';

/** Writes a text in full, followed by the number of characters that are left out. */
export function textBlock({ text, leftOut }: Excerpt): string {
  const block =
    text === ''
      ? leftOut === 0
        ? '<p class="none">empty</p>'
        : ''
      : `<pre dir="auto"><code>${escapeVerbatim(text)}</code></pre>`;
  return leftOut === 0
    ? block
    : `${block}<p class="note">${text === '' ? `${count(leftOut)} characters are` : `${count(leftOut)} more characters are`} left out.</p>`;
}

/** Writes the beginning of a text, for a cell. */
export const beginning = ({ text }: Excerpt, limit = 100): string =>
  text.trim() === '' ? '<span class="none">empty</span>' : `<span dir="auto">${escapeText(text, limit)}</span>`;

/** Writes an interval as `[−0.10, +0.52]`, or says that there is none. */
export const creditBounds = (credit: Pick<Interval, 'low' | 'high'>): string =>
  formatBounds(credit, (value) => signed(value)) ?? 'no interval';

/** Returns the label of an estimator, or its own name if this version does not know it. */
export const estimatorName = ({ estimator }: Pick<Credit, 'estimator'>): string =>
  estimator === REMOVAL.name ? REMOVAL.label : (findEstimator(estimator)?.label ?? escapeText(estimator, 40));

/** Writes a verification mark as a sign and words, so that its meaning does not need color. */
export function verificationCell(mark: VerificationMark | null): string {
  if (mark === null) {
    return '<span class="none">no replay</span>';
  }
  const sign = { identical: '\u2713', different: '\u2717', notComparable: '~', unverified: '\u2013' }[mark.state];
  return `<span title="${escapeText(mark.detail, 400)}"><span aria-hidden="true">${sign}</span> ${escapeText(mark.label, 80)}</span>`;
}

/** Writes counts as `12 identical, 1 different`, in the order of their importance. */
export function formatVerified(verified: Verified): string {
  const all = [
    [verified.different, 'different'],
    [verified.identical, 'identical'],
    [verified.notComparable, 'not comparable'],
    [verified.unverified, 'not re-executed'],
  ] as const;
  const some = all.filter(([number]) => number > 0).map(([number, words]) => `${count(number)} ${words}`);
  return some.length === 0 ? 'no replay' : some.join(', ');
}

export function costWords({ evaluatorCalls, reusedEvaluations = 0, tokens, decisions }: Cost): string {
  const said =
    decisions === null
      ? null
      : Object.entries(decisions)
          .map(([role, number]) => `${escapeText(role, 40)} ${count(number)}`)
          .join(', ');
  const read =
    tokens === null
      ? `tokens ${NOT_MEASURED}`
      : `${formatCompact(tokens.prompt)} prompt tokens (${formatCompact(tokens.reused)} of them reused), ${formatCompact(tokens.completion)} completion tokens`;
  return `${count(evaluatorCalls)} evaluator ${evaluatorCalls === 1 ? 'call' : 'calls'}${reusedEvaluations === 0 ? '' : `, ${count(reusedEvaluations)} more reused from equal messages`}; ${read}${said === null || said === '' ? '' : `; messages: ${said}`}`;
}

export function runFacts({
  run,
  title,
  method,
  seed,
  status,
  createdAt,
  finishedAt,
  steps,
  plannedSteps,
  protocol,
  judge,
}: ReportedRun): readonly (readonly [string, string])[] {
  return [
    ['Run', `${escapeText(title, 200)} <code>${escapeText(run)}</code>`],
    ['Method', `${escapeText(method, 40)}, seed ${seed}`],
    [
      'Steps',
      `${count(steps)} of ${count(plannedSteps)}, ${status === 'running' ? 'not ended' : escapeText(status, 40)}`,
    ],
    ['Protocol', protocol === null ? 'unknown' : escapeText(protocol)],
    ['Started', formatTime(createdAt)],
    ['Ended', finishedAt === null ? 'unknown' : formatTime(finishedAt)],
    ...(judge === undefined ? [] : [['Judge', escapeText(judge, 1000)] as const]),
  ];
}

export function leftOutPart(leftOut: readonly LeftOut[]): string {
  if (leftOut.length === 0) {
    return '';
  }
  return `<section class="left-out"><h2>Left out</h2><p>A report is bounded. The store holds more of this: ${leftOut.map(({ what, count: number }) => `${escapeText(what, 80)} (${count(number)})`).join('; ')}.</p></section>`;
}

export const REPORT_STYLE = `
main { max-width: 1120px; }
.lead { font-size: 15px; }
pre { max-height: 60vh; overflow: auto; }
.code-point { padding: 0 2px; border: 1px solid var(--rule); color: var(--soft); font-size: 0.85em; font-style: normal; }
details { margin: 6px 0; }
summary { padding: 2px 0; font-size: 13px; }
details.branch, details.alternative { padding-left: 12px; border-left: 2px solid var(--rule); }
.who { margin: 10px 0 -6px; font-size: 12px; color: var(--soft); }
.words th:first-child, .words td:first-child { padding-right: 10px; }
td.text { min-width: 200px; text-align: left; overflow-wrap: anywhere; }
td.left, .second-left th:nth-child(2), .last-left th:last-child { text-align: left; }
.last-left td:last-child { white-space: nowrap; }
td.whole { white-space: nowrap; }
small.question { white-space: normal; }
.numbers { width: auto; min-width: 50%; }
figure { margin: 12px 0; }
tr.original td, tr.original th { background: var(--wash); }
@media print {
  pre { max-height: none; overflow: visible; }
  details::details-content { display: block; content-visibility: visible; height: auto; }
}
`;
