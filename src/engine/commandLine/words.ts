/** Formats results for the terminal. */

import { ESTIMATE_WORDS, type MessageEstimate, type Interval } from '../../domain/credit.ts';
import type { Message } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import {
  describeOtherContinuation,
  describeOwnContinuation,
  type Alternative,
  type BucketView,
} from '../../domain/replay.ts';
import type { Ledger, RunSummary, Tokens } from '../../domain/run.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import { describeHeadline, type Headline } from '../../shared/credit/headline.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';

const formatPercent = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** Formats a share as `43.2 % [39.0, 47.5], n 512`, or `not measured`. */
export function formatProportion(interval: Interval | null): string {
  if (interval === null) {
    return 'not measured';
  }
  const bounds =
    interval.low === null || interval.high === null
      ? 'interval not measured'
      : `[${(100 * interval.low).toFixed(1)}, ${(100 * interval.high).toFixed(1)}]`;
  return `${formatPercent(interval.value)} ${bounds}, n ${interval.n}`;
}

function formatPercentagePoints(interval: Interval | null): string {
  if (interval === null) {
    return 'not measured';
  }
  const signed = (value: number | null): string =>
    value === null ? '?' : `${value >= 0 ? '+' : ''}${(100 * value).toFixed(1)}`;
  return `${signed(interval.value)} points [${signed(interval.low)}, ${signed(interval.high)}]`;
}

export function formatCredit(credit: Credit | Headline | null): string {
  if (credit === null) {
    return 'not measured';
  }
  if ('verdict' in credit && credit.verdict === 'alone') {
    return `not measured: ${describeHeadline(credit)}`;
  }
  const signed = (value: number): string => `${value >= 0 ? '+' : ''}${value.toFixed(3)}`;
  const bounds =
    credit.low === null || credit.high === null ? 'no interval' : `[${signed(credit.low)}, ${signed(credit.high)}]`;
  return `${signed(credit.value)} ${bounds}, n ${credit.n}, ${credit.evaluatorCalls} calls${'verdict' in credit ? `, ${describeHeadline(credit)}` : ''}`;
}

/** Formats calls that an interruption lost, which do not count as the run's own. */
function formatLostCalls({ lostEvaluatorCalls = 0 }: RunSummary): string {
  return lostEvaluatorCalls === 0
    ? ''
    : `, and at most ${lostEvaluatorCalls} more whose results were lost in interruptions`;
}

/** Formats the results that were reused instead of calls. */
export function formatReusedResults({ reusedEvaluations = 0 }: Pick<Ledger, 'reusedEvaluations'>): string {
  return reusedEvaluations === 0 ? '' : `, and ${reusedEvaluations} results reused from equal messages`;
}

/** Formats the completion tokens that were reused instead of computed. */
export function formatReusedTokens({ reusedCompletion = 0 }: Tokens): string {
  return reusedCompletion === 0 ? '' : `, and ${reusedCompletion} reused from equal requests`;
}

/** Returns a row only if episodes were masked. */
function listMaskedRow({ maskedEpisodes = 0 }: RunSummary): [string, string][] {
  return maskedEpisodes === 0
    ? []
    : [['not scored', `${maskedEpisodes} episodes: the evaluator failed; they are not counted`]];
}

/** Returns rows only if an evaluation took several samples. */
function listPassAtKRows({ passAtK }: RunSummary): [string, string][] {
  return passAtK === undefined
    ? []
    : [
        [`pass@${passAtK.samples}`, `${formatProportion(passAtK.before)}  ->  ${formatProportion(passAtK.after)}`],
        ['  difference', formatPercentagePoints(passAtK.difference)],
      ];
}

export function formatSummary(summary: RunSummary): string {
  const { tokens, decisions } = summary;
  const rows: [string, string][] = [
    [
      'greedy accuracy',
      `${formatProportion(summary.accuracy.before)}  ->  ${formatProportion(summary.accuracy.after)}`,
    ],
    ['  difference', formatPercentagePoints(summary.accuracy.difference)],
    [
      summary.passAtK === undefined ? 'pass@1 (sampled)' : `avg@${summary.passAtK.samples} (pass@1)`,
      `${formatProportion(summary.passAt1.before)}  ->  ${formatProportion(summary.passAt1.after)}`,
    ],
    ['  difference', formatPercentagePoints(summary.passAt1.difference)],
    ...listPassAtKRows(summary),
    ['evaluator calls', `${summary.evaluatorCalls}${formatReusedResults(summary)}${formatLostCalls(summary)}`],
    ...listMaskedRow(summary),
    [
      'tokens',
      `${tokens.prompt} prompt (${tokens.reused} reused), ${tokens.completion} completion${formatReusedTokens(tokens)}`,
    ],
    [
      'messages',
      Object.entries(decisions)
        .map(([role, count]) => `${role} ${count}`)
        .join(', '),
    ],
    ['training', `${summary.steps} steps in ${summary.seconds.toFixed(1)} s`],
    ['store', summary.store],
  ];
  return [
    `Run ${summary.run} (${summary.method}, seed ${summary.seed})`,
    ...rows.map(([name, value]) => `  ${name.padEnd(18)}${value}`),
  ].join('\n');
}

/** Formats a message's credit by each estimator, in one line each. */
export function formatEstimates(estimates: readonly MessageEstimate[]): readonly string[] {
  return estimates.map(
    ({ name, credit, bucket, reason }) =>
      `  ${ESTIMATE_WORDS[name].label.toLowerCase().padEnd(12)}${credit === null ? `not measured: ${reason ?? ''}` : `${formatCredit(credit)}${bucket === null ? '' : `, newest bucket ${bucket}`}`}`,
  );
}

/** Maximum characters of a question or a message in a finding. */
const SHOWN = 200;

type FoundAlternative = Pick<Alternative, 'text' | 'original' | 'returns' | 'credit'>;

/**
 * Formats one replayed message as a finding: the question, the message, the best alternative, and the
 * credit.
 * @param problem of the message's episode
 */
export function formatFinding(
  problem: Pick<Problem, 'question' | 'answer' | 'tests'>,
  message: Pick<Message, 'id' | 'role' | 'text'>,
  alternatives: readonly FoundAlternative[],
): string {
  const { role, text } = message;
  const original = alternatives.find((alternative) => alternative.original);
  const best = alternatives
    .filter((alternative) => alternative.text !== text && computeMeanReturn(alternative) !== null)
    .sort((a, b) => (computeMeanReturn(b) ?? 0) - (computeMeanReturn(a) ?? 0))[0];
  const returned = (alternative: FoundAlternative | undefined): string => {
    const mean = alternative === undefined ? null : computeMeanReturn(alternative);
    return mean === null
      ? 'not scored'
      : `mean return ${mean.toFixed(2)} of ${alternative?.returns.filter((value) => value !== null).length ?? 0}`;
  };
  const rows: readonly (readonly [name: string, words: string])[] = [
    ['question', toOneLine(problem.question, SHOWN)],
    ...(problem.tests === undefined ? [['expected', toOneLine(problem.answer, SHOWN)] as const] : []),
    ['message', `${toOneLine(text, SHOWN)}  (${returned(original)})`],
    [
      'instead',
      best === undefined
        ? 'all sampled alternatives are the same text'
        : `${toOneLine(best.text, SHOWN)}  (${returned(best)})`,
    ],
    ['credit', formatCredit(original?.credit ?? null)],
  ];
  const title = `What one message was worth: message ${message.id} by the ${role}, replayed in its exact context`;
  return [title, ...rows.map(([name, words]) => `  ${name.padEnd(10)}${words}`)].join('\n');
}

function computeMeanReturn({ returns }: Pick<Alternative, 'returns'>): number | null {
  const scored = returns.filter((value) => value !== null);
  return scored.length === 0 ? null : scored.reduce((total, value) => total + value, 0) / scored.length;
}

/** Formats a message's alternatives, one line for each different text, which is shortened. */
export function formatBucket(message: Message, bucket: BucketView): string {
  const line = ([first, ...equal]: readonly Alternative[]): string => {
    if (first === undefined) {
      return '';
    }
    const times = equal.length === 0 ? '' : ` x${equal.length + 1}`;
    const returns = formatEqualReturns([first, ...equal].map((one) => one.returns));
    return `  ${first.original ? '*' : ' '} ${`${toOneLine(first.text, 40)}${times}`.padEnd(42)} returns ${returns.padEnd(10)} credit ${formatCredit(first.credit)}`;
  };
  const equals = [
    ...Map.groupBy(
      bucket.alternatives,
      ({ original, text, finish }) => `${String(original)} ${finish} ${text}`,
    ).values(),
  ];
  const { continuation } = bucket;
  const other =
    continuation === null
      ? []
      : [`These are of ${describeOtherContinuation(continuation)}. ${describeOwnContinuation(continuation)}`];
  return [
    `Message ${message.id} by the ${message.role} and its alternatives from the same context (* is the message itself):`,
    ...other,
    ...equals.map(line),
  ].join('\n');
}

/** Maximum returns that are listed one by one. */
const LISTED_RETURNS = 16;

/**
 * Formats the returns of messages with equal texts: one list if all have the same returns, or else all
 * lists joined; only the mean if there are many.
 */
function formatEqualReturns(all: readonly (readonly (number | null)[])[]): string {
  const write = (returns: readonly (number | null)[]): string =>
    returns.map((value) => (value === null ? 'masked' : String(value))).join(' ');
  const same = new Set(all.map(write)).size === 1 && (all[0]?.length ?? 0) > 1;
  const returns = same ? (all[0] ?? []) : all.flat();
  if (returns.length <= LISTED_RETURNS) {
    return write(returns);
  }
  return `mean ${computeMeanReturn({ returns })?.toFixed(2) ?? 'masked'} of ${returns.length}`;
}
